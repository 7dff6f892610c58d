"""Words of messages that several rows have."""

from __future__ import annotations

from typing import Final

from tests.faults.made.odd_files import CONTIG

IS_INPUT: Final = "is also an input"
IS_OUTPUT: Final = "is also an output"
NOT_WRITTEN: Final = "{about}: cannot be written"
NO_DIRECTORY: Final = "no such directory"
NO_FILE: Final = "no such file"
UNKNOWN_KIND: Final = "unknown kind of file; give"
FOUND_INSTEAD: Final = f"found '{CONTIG}' instead"
NO_QUALITIES: Final = "no base qualities"
RECORD_51: Final = "record 51"

STDIN_ONCE: Final = "standard input (-): can be read only once"
NO_STDIN: Final = "cannot be standard input (-); give a file"
MISSING_ARGUMENT: Final = "missing; usage: hapgpu"
NO_ARGUMENTS: Final = "no arguments; usage: hapgpu"
READS_NEEDED: Final = "REF.fa, READS: missing"
GIVEN_TWICE: Final = "given twice"

FAIDX: Final = "samtools faidx"
SAMTOOLS_INDEX: Final = "samtools index"
SAMTOOLS_SORT: Final = "samtools sort"
BCFTOOLS_SORT: Final = "bcftools sort"
MAKE_INDEX: Final = "hapgpu index"
MAKE_MINIMIZERS: Final = "hapgpu index --minimizers"
