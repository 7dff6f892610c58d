"""Kinds that inputs must have, formats that names of outputs stand for, and their refusal.

Of an input, only the first bytes are looked at, before anything is compiled or built; see
`input_checks`. An extension that no format has says nothing: any format may have it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final, TypeAlias

from hapgpu.errors import UsageError
from hapgpu.io.files.file_kind import FileHead, kind_of_file
from hapgpu.io.files.names import extension_of, is_bgzf_name

_REGION: Final = re.compile(r"[^/]+:[0-9][0-9,]*(-[0-9,]*)?|(chr)?([0-9]{1,2}|X|Y|M|MT)")
_BED_SUFFIXES: Final = (".bed", ".bed.gz", ".bed.bgz")


@dataclass(frozen=True, slots=True)
class Expected:
    """Kinds that an input may have.

    Attributes
    ----------
    words
        The kinds and, in brackets, what the input is, for messages.
    kinds
        Kinds of `FileHead`.
    takes_empty
        Whether the file may have no bytes, at least in some runs.
    takes_text
        Whether the reader names the line that is wrong in text of unknown kind.
    """

    words: str
    kinds: frozenset[str]
    takes_empty: bool = False
    takes_text: bool = False

    def fault(self, head: FileHead) -> str | None:
        """Return what is wrong with a file that starts with `head`, or None."""
        if not head.text:
            return None if self.takes_empty else "empty"
        kind = head.kind
        if kind in self.kinds or (kind is None and self.takes_text and b"\0" not in head.text):
            return None
        return f"looks like {_SHOWN.get(kind, kind)}" if kind else "unknown kind of file"


def _expected(
    words: str, kinds: str, *, takes_empty: bool = False, takes_text: bool = False
) -> Expected:
    return Expected(words, frozenset(kinds.split(",")), takes_empty, takes_text)


_SHOWN: Final = {
    "hgx": "the index of hapgpu map",
    "hgm": "the index of hapgpu chain",
    "npz": "NumPy arrays",
    ".fai": "the index of a FASTA file",
}
"""Words for the kinds that have no name in messages."""
_ALIGNED: Final = "BAM,CRAM,SAM"
REFERENCE: Final = _expected("FASTA (the reference)", "FASTA")
MAP_REFERENCE: Final = _expected("FASTA (the reference) or its index (.hgx)", "FASTA,hgx")
CHAIN_REFERENCE: Final = _expected("FASTA (the reference) or its index (.hgm)", "FASTA,hgm")
MAP_INDEX: Final = _expected(_SHOWN["hgx"], "hgx")
CHAIN_INDEX: Final = _expected(_SHOWN["hgm"], "hgm")
HAPLOTYPES: Final = _expected("FASTA (the haplotypes)", "FASTA")
ALIGNED_READS: Final = _expected("BAM, CRAM or SAM (aligned reads)", _ALIGNED)
FASTQ_OR_ALIGNED: Final = _expected(
    "BAM, CRAM, SAM or FASTQ (the reads)", f"{_ALIGNED},FASTQ", takes_empty=True
)
READS: Final = _expected(
    "FASTQ, FASTA, BAM, CRAM or SAM (the reads)", f"{_ALIGNED},FASTQ,FASTA", takes_empty=True
)
FASTQ_OR_FASTA: Final = _expected("FASTQ or FASTA (the reads)", "FASTQ,FASTA")
VARIANT_SITES: Final = _expected("VCF or BCF (the sites)", "VCF,BCF")
# A line of five whole numbers after a contig may also be BED.
TARGETS: Final = _expected("BED (the regions)", "BED,.fai", takes_empty=True, takes_text=True)
PLOIDIES: Final = _expected(
    "BED or interval_list (regions named by their ploidy)",
    "BED,.fai,SAM",  # the header of interval_list is one of SAM
    takes_empty=True,
    takes_text=True,
)
INTERVALS: Final = _expected(
    "BED, interval_list, VCF or a list of intervals",
    "BED,.fai,VCF,BCF,SAM",  # the header of interval_list is one of SAM
    takes_empty=True,
    takes_text=True,
)
KNOWN_VARIANTS: Final = _expected("VCF (known variants)", "VCF")
FRACTIONS: Final = _expected(
    "lines of SAMPLE, tab, FRACTION", "", takes_empty=True, takes_text=True
)
DRAGSTR: Final = _expected("text (DRAGstr parameters)", "", takes_empty=True, takes_text=True)
BATCHES: Final = _expected("text batches", "text batches", takes_text=True)
ANCHORS: Final = _expected("NumPy arrays (.npz, the anchors)", "npz")
RESULTS: Final = _expected(
    "VCF, BCF, PAF, BAM, SAM, CRAM, likelihoods or --json statistics of hapgpu",
    f"{_ALIGNED},VCF,BCF,PAF,likelihoods,JSON",
    takes_empty=True,
)


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
