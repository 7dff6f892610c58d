"""Records of VCF, one at a time, for messages and for callers in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hapgpu.io.text.values import LAST_POSITION, MAX_DIGITS, excerpt, parse_position

BASES: Final = "ACGTNRYSWKMBDHVacgtnryswkmbdhv"
"""Characters of sequences in REF and ALT."""

FIXED_COLUMNS: Final = 8
"""Columns CHROM to INFO."""


class MalformedError(Exception):
    """Fault of a line of VCF, and the remedy; the reader adds the line."""


def alternative_alleles(alternatives: str) -> tuple[str, ...]:
    """Return the alleles of an ALT column.

    Parameters
    ----------
    alternatives
        The column as written.

    Returns
    -------
    tuple of str
        Sequences in upper case; `*`, symbolic alleles and breakends as written; empty for `.`.

    Raises
    ------
    MalformedError
        An allele is empty or malformed.
    """
    if not alternatives.strip(BASES):
        return (alternatives.upper(),)
    if alternatives == ".":
        return ()
    return tuple(map(_allele, alternatives.split(",")))


def quoted(text: str) -> str:
    """Return an excerpt of a text in quotes, for messages."""
    return f"'{excerpt(text)}'"


def _allele(text: str) -> str:
    if not text:
        raise MalformedError("ALT has an empty allele; correct it")
    if not text.strip(BASES):
        return text.upper()
    if not _has_no_sequence(text):
        raise MalformedError(
            f"ALT {quoted(text)} is not a sequence of bases, *, a symbolic allele or a breakend;"
            " correct it"
        )
    return text


def _has_no_sequence(allele: str) -> bool:
    """Tell whether an allele is `*`, symbolic, a breakend or missing (VCF 4.3, 1.6.1 and 5.4)."""
    if allele == "*" or "[" in allele or "]" in allele:
        return True
    if allele.startswith("<"):
        return allele.endswith(">") and len(allele) > len("<>")
    return allele.startswith(".") or allele.endswith(".")


@dataclass(frozen=True, slots=True)
class VcfRecord:
    """Record of a VCF.

    Attributes
    ----------
    label
        Number in its file, for messages: `line 12`, or `record 3` of BCF; from 1.
    contig
        CHROM.
    start
        0-based position of the first base of REF; -1 for POS 0, the telomere.
    reference
        REF, upper case.
    alternatives
        ALT: sequences in upper case; `*`, symbolic alleles and breakends as written; empty for `.`.
    columns
        The eight fixed columns as written, CHROM to INFO.
    genotypes
        FORMAT and the columns of the samples, as written; empty without samples.
    """

    label: str
    contig: str
    start: int
    reference: str
    alternatives: tuple[str, ...]
    columns: tuple[str, ...]
    genotypes: str


def record_of(label: str, line: str, samples: int) -> VcfRecord:
    """Parse a line.

    Parameters
    ----------
    label
        Number in its file, for messages.
    line
        The line, with or without its end.
    samples
        Number of samples that the header names.

    Raises
    ------
    MalformedError
        The line is not a record of VCF.
    """
    fields = line.rstrip("\r\n").split("\t", FIXED_COLUMNS)
    columns = tuple(fields[:FIXED_COLUMNS])
    if len(columns) < FIXED_COLUMNS or "" in columns:
        raise MalformedError(
            "expected the columns CHROM to INFO, separated by tabs, none empty; correct the line"
        )
    # As in htslib, columns that the header does not name are skipped.
    genotypes = fields[FIXED_COLUMNS] if samples and len(fields) > FIXED_COLUMNS else ""
    if genotypes.count("\t") != samples:
        count = len(line.split("\t"))
        raise MalformedError(
            f"found {count} columns, expected {FIXED_COLUMNS + 1 + samples} by the header;"
            " correct it"
        )
    contig, position, _, reference, alternatives = columns[:5]
    start = _start(position)
    if reference.strip(BASES):
        raise MalformedError(f"REF {quoted(reference)} is not a sequence of bases; correct it")
    return VcfRecord(
        label,
        contig,
        start,
        reference.upper(),
        alternative_alleles(alternatives),
        columns,
        genotypes,
    )


def _start(position: str) -> int:
    # Most positions are short, which this faster test accepts.
    is_short = len(position) < MAX_DIGITS and position.isascii() and position.isdecimal()
    number = int(position) if is_short else parse_position(position)
    if number is None:
        raise MalformedError(
            f"POS is {quoted(position)}, expected a whole number from 0 to {LAST_POSITION};"
            " correct it"
        )
    return number - 1
