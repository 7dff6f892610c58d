"""Kinds that inputs must have, formats that names of outputs stand for, and their refusal.

Of an input, only the first bytes are looked at, before anything is compiled or built. A file of
unknown kind, and a pipe, is left to its reader. An extension that no format has says nothing: any
format may have it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final, TypeAlias

from hapgpu.errors import UsageError
from hapgpu.io.files.file_kind import kind_of_file
from hapgpu.io.files.names import extension_of, is_bgzf_name

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


Formats: TypeAlias = tuple[str, ...]
"""Formats that an output may have, by the names in `_EXTENSIONS`."""

ALIGNMENTS: Final[Formats] = ("SAM", "BAM", "CRAM")
VARIANTS: Final[Formats] = ("VCF",)
MAPPINGS: Final[Formats] = ("PAF",)
TABLE: Final[Formats] = ("TSV",)
SEQUENCES: Final[Formats] = ("FASTA",)
ANY_FORMAT: Final[Formats] = ()
"""An option names the format, or another check refuses the command line."""

_EXTENSIONS: Final = {
    "SAM": "sam",
    "BAM": "bam",
    "CRAM": "cram",
    "VCF": "vcf gvcf",
    "BCF": "bcf",
    "PAF": "paf",
    "TSV": "tsv",
    "FASTA": "fa fasta fna",
    "FASTQ": "fq fastq",
    "BED": "bed",
    "JSON": "json",
    "HTML": "html htm",
    "SVG": "svg",
    "npz": "npz",
    "hgx": "hgx",
    "hgm": "hgm",
}
_FORMAT_OF: Final = {
    extension: name for name, text in _EXTENSIONS.items() for extension in text.split()
}
_TEXTS: Final = frozenset([*MAPPINGS, *VARIANTS, *TABLE, *SEQUENCES, "SAM", "JSON"])
"""Formats that are compressed if the name ends in .gz or .bgz."""


def check_name(path: str, formats: Formats) -> None:
    """Refuse the name of an output that stands for a format which it does not have.

    Parameters
    ----------
    path
        The name; case does not matter.
    formats
        The formats that the output may have, `ANY_FORMAT` for no check.

    Raises
    ------
    UsageError
        The extension, without .gz or .bgz, is of another format, or the format is not compressed.
    """
    if not formats:
        return
    named = _FORMAT_OF.get(extension_of(path))
    if named == "BCF" and formats == VARIANTS:
        raise UsageError(f"{path}: BCF cannot be written; write .vcf.gz and run: bcftools view -Ob")
    if named is not None and named not in formats:
        raise UsageError(
            f"{path}: a name of {named}, but the output is {_listed(formats)}; give"
            f" {_listed([f'.{_EXTENSIONS[name].split()[0]}' for name in formats])}"
        )
    possible = {named} if named else set(formats)
    if is_bgzf_name(path) and not possible & _TEXTS:
        suffix = PurePath(path).suffix
        what = named or _listed(formats)
        raise UsageError(f"{path}: {what} is not written as {suffix}; drop {suffix}")


def _listed(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
