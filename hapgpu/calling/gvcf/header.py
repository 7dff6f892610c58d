"""Header of a genomic VCF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from hapgpu.calling.annotations.fields import INFO_FIELDS
from hapgpu.calling.gvcf.blocks import BANDS, MAX_QUALITY
from hapgpu.calling.output.header import FORMAT
from hapgpu.io.vcf.header_lines import (
    check_samples,
    column_line,
    contig_lines,
    definition_line,
    header_text,
    run_lines,
)

_ALLELE: Final = (
    '##ALT=<ID=NON_REF,Description="Represents any possible alternative allele at this location">'
)
_FORMAT: Final = (
    *FORMAT,
    ("MIN_DP", "1", "Integer", "Lowest DP of the positions of a block"),
    ("PGT", "1", "String", "Phase of the ALT allele in its phase group"),
    ("PID", "1", "String", "Phase group: position, REF and ALT of its first record"),
    ("PS", "1", "Integer", "Phase group: position of its first record"),
    ("SB", "4", "Integer", "Reads of REF forward, REF reverse, ALT forward, ALT reverse"),
)
_OTHER: Final = ("AC", "AF", "AN", "FS", "MQ", "QD", "SOR")
_INFO: Final = (
    *((f.name, f.number, f.type, f.description) for f in INFO_FIELDS if f.name not in _OTHER),
    ("END", "1", "Integer", "Last position of a block"),
    ("RAW_MQandDP", "2", "Integer", "Sum of squared mapping qualities, and number of reads"),
)


def gvcf_header(
    contigs: Mapping[str, int], samples: Sequence[str], command_line: str, version: str
) -> bytes:
    """Return the header of a genomic VCF; parameters and errors as `calls_header`."""
    check_samples(samples)
    bands = pairwise((0, *BANDS, MAX_QUALITY + 1))
    return header_text(
        [
            "##fileformat=VCFv4.3",
            _ALLELE,
            *(definition_line("FORMAT", *definition) for definition in sorted(_FORMAT)),
            *(
                f"##GVCFBlock{low}-{high}=minGQ={low}(inclusive),maxGQ={high}(exclusive)"
                for low, high in bands
            ),
            *(definition_line("INFO", *definition) for definition in sorted(_INFO)),
            *contig_lines(contigs),
            *run_lines("call", command_line, version),
            column_line(samples),
        ]
    )
