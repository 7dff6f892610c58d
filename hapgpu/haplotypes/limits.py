"""Limits of candidate haplotypes."""

from __future__ import annotations

from typing import Final

MAX_COMBINATIONS: Final = 64
"""Combinations of alleles of a locus, at most; a locus with more is split or capped."""
