"""`haplotype_cigars` and `realign_to_reference` of one pair, for tests of single cases."""

from __future__ import annotations

from typing import Any

from hapgpu.realign.api import haplotype_cigars, realign_to_reference


def haplotype_cigar(reference: str | bytes, haplotype: str | bytes, **options: Any) -> str | None:
    return haplotype_cigars([reference], [haplotype], device="cpu", threads=1, **options)[0]


def realigned(*arguments: Any) -> tuple[int, str] | None:
    """Return position and CIGAR of a read; None if it is not changed."""
    found = realign_to_reference(*([argument] for argument in arguments), device="cpu", threads=1)
    position, cigar = int(found.positions[0]), found.cigar_strings()[0]
    assert (position == -1) == (cigar == "*")
    return None if position == -1 else (position, cigar)
