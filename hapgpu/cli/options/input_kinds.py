"""Kinds of files that inputs must have, and advice where another kind is given.

Only the first bytes are looked at, before anything is compiled or built. A file of unknown kind,
and a pipe, is left to its reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hapgpu.errors import UsageError
from hapgpu.io.files.file_kind import kind_of_file

_REGION: Final = re.compile(r"[^/]+:[0-9][0-9,]*(-[0-9,]*)?|(chr)?([0-9]{1,2}|X|Y|M|MT)")
_BED_SUFFIXES: Final = (".bed", ".bed.gz", ".bed.bgz")


@dataclass(frozen=True, slots=True)
class Expected:
    """Kinds that an input may have.

    Attributes
    ----------
    words
        The kinds, for messages.
    kinds
        Kinds of `kind_of_file`. A kind that the reader refuses better is among them.
    """

    words: str
    kinds: frozenset[str]

    def other_kind(self, path: str) -> str | None:
        """Return the kind of a file if it is known and not among these."""
        kind = kind_of_file(path)
        return None if kind in self.kinds else kind


def _expected(words: str, kinds: str) -> Expected:
    return Expected(words, frozenset(kinds.split(",")))


_ALIGNED: Final = "BAM,CRAM,SAM"
REFERENCE: Final = _expected("a reference (FASTA)", "FASTA")
MAP_REFERENCE: Final = _expected("a reference (FASTA) or its index", "FASTA,hgx")
CHAIN_REFERENCE: Final = _expected("a reference (FASTA) or its index", "FASTA,hgm")
HAPLOTYPES: Final = _expected("haplotypes (FASTA)", "FASTA")
# The readers explain what FASTQ lacks.
ALIGNED_READS: Final = _expected("aligned reads (BAM, CRAM or SAM)", f"{_ALIGNED},FASTQ")
FASTQ_OR_ALIGNED: Final = _expected("reads (BAM, CRAM, SAM or FASTQ)", f"{_ALIGNED},FASTQ")
READS: Final = _expected("reads (FASTQ, FASTA, BAM, CRAM or SAM)", f"{_ALIGNED},FASTQ,FASTA")
VARIANT_SITES: Final = _expected("sites (VCF or BCF)", "VCF,BCF")
TARGETS: Final = _expected("regions (BED)", "BED")
BATCHES: Final = _expected("text batches", "text batches")
ANCHORS: Final = _expected("anchors (.npz)", "npz")


def missing_argument(expected: Mapping[str, Expected], given: Sequence[str]) -> str | None:
    """Return the first argument that none of the given files fits; None if that is unknown.

    Parameters
    ----------
    expected
        The kinds of each argument, by its name in the command line, in order.
    given
        The files, fewer than arguments.
    """
    kinds = [kind_of_file(path) for path in given]
    if None in kinds:
        return None
    missing = (name for name, kind in expected.items() if not kind.kinds.intersection(kinds))
    return next(missing, None)


def check_region_options(values: Mapping[str, Any]) -> None:
    """Refuse a region where a BED file is expected, and a BED file where a region is.

    Parameters
    ----------
    values
        The parameters of a command, by name.

    Raises
    ------
    UsageError
        One of the two is given for the other; the message names the option to use.
    """
    targets = values.get("targets_file")
    if targets is not None and not Path(targets).exists() and _REGION.fullmatch(str(targets)):
        raise UsageError(f"-L {targets}: is a region, expected a BED file; give -r {targets}")
    for region in values.get("regions") or ():
        if region.lower().endswith(_BED_SUFFIXES):
            raise UsageError(f"-r {region}: is a file, expected a region; give -L {region}")
