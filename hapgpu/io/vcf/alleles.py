"""Alleles in the ALT column of VCF records."""

from __future__ import annotations

from typing import Final

from hapgpu.io.text.excerpt import excerpt

BASES: Final = "ACGTNRYSWKMBDHVacgtnryswkmbdhv"
"""Characters of sequences in REF and ALT."""


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
