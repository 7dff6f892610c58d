"""Formats that names of outputs stand for, and the refusal of a name of another format.

An extension that no format has says nothing: any format may have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Final, TypeAlias

from hapgpu.errors import UsageError
from hapgpu.io.files.text_output import extension_of, is_bgzf_name

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
