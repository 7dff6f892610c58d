"""Alleles of VCF records, as ALT lists them."""

from __future__ import annotations

from typing import Final

from hapgpu.io.text.excerpt import shown

BASES: Final = "ACGTNRYSWKMBDHVacgtnryswkmbdhv"
"""What sequences of REF and ALT are made of."""


class MalformedError(Exception):
    """What is wrong with a line of VCF, and the remedy; its reader tells which line."""


def alternative_alleles(alternatives: str) -> tuple[str, ...]:
    """Return the alleles that ALT lists.

    Parameters
    ----------
    alternatives
        The column as it is in the file.

    Returns
    -------
    tuple of str
        Sequences in upper case, `*`, symbolic alleles and breakends as they are; none for `.`.

    Raises
    ------
    MalformedError
        An allele is empty or none of these.
    """
    if not alternatives.strip(BASES):
        return (alternatives.upper(),)
    if alternatives == ".":
        return ()
    return tuple(map(_allele, alternatives.split(",")))


def quoted(text: str) -> str:
    """Return a part of a line as messages show it."""
    return f"'{shown(text)}'"


def _allele(text: str) -> str:
    if not text:
        raise MalformedError("an allele in ALT is empty")
    if not text.strip(BASES):
        return text.upper()
    if not _has_no_sequence(text):
        raise MalformedError(
            f"ALT {quoted(text)} is neither made of bases nor *, a symbolic allele or a breakend"
        )
    return text


def _has_no_sequence(allele: str) -> bool:
    """Tell whether an allele is `*`, a symbol, a breakend or missing (VCF 4.3, 1.6.1 and 5.4)."""
    if allele == "*" or "[" in allele or "]" in allele:
        return True
    if allele.startswith("<"):
        return allele.endswith(">") and len(allele) > len("<>")
    return allele.startswith(".") or allele.endswith(".")
