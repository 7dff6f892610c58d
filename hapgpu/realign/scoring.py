"""Scores, presets and overhang strategies of the semi-global aligner."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from math import gcd

from hapgpu.errors import InputError, UsageError

LARGEST_WEIGHT = 100_000_000
"""Largest weight allowed, as a magnitude: above it the 32-bit scores of GATK overflow."""

LOWEST_SCORE = -100_000_000
"""GATK's lowest score of a cell of the matrix."""

UNREACHABLE = -(2**30)
"""GATK's gap score before any gap is opened (INT_MIN / 2)."""

_INT32_MAX = 2**31 - 1


class Overhang(enum.IntEnum):
    """Treatment of query bases outside the reference.

    The values are the same in the kernels.
    """

    SOFTCLIP = 0
    """Overhanging bases are soft-clipped."""
    INDEL = 1
    """Both sequences are aligned end to end; overhangs are insertions or deletions."""
    LEADING_INDEL = 2
    """Both sequences start together; the end of the reference may remain unaligned."""
    IGNORE = 3
    """Overhanging bases count as aligned."""

    @property
    def has_free_ends(self) -> bool:
        """Whether a query may start and end anywhere without a penalty."""
        return self in {Overhang.SOFTCLIP, Overhang.IGNORE}


@dataclass(frozen=True, slots=True)
class Scoring:
    """Signed weights of an affine alignment.

    A gap of k bases costs `gap_open + (k - 1) * gap_extend`.

    Attributes
    ----------
    match, mismatch
        Score of two equal bases, and of two different bases, -100,000,000 to 100,000,000.
    gap_open, gap_extend
        Score of the first base of a gap, and of each further base, in the same range.

    Raises
    ------
    UsageError
        A weight is out of range.
    """

    match: int
    mismatch: int
    gap_open: int
    gap_extend: int

    def __post_init__(self) -> None:
        if self.largest > LARGEST_WEIGHT:
            message = f"scoring {self}: weight above {LARGEST_WEIGHT:,}; use smaller weights"
            raise UsageError(message)

    def __str__(self) -> str:
        return ",".join(map(str, self.weights))

    @property
    def weights(self) -> tuple[int, int, int, int]:
        """Match, mismatch, gap open, gap extend."""
        return self.match, self.mismatch, self.gap_open, self.gap_extend

    @property
    def largest(self) -> int:
        """Magnitude of the largest weight: no step changes a score by more."""
        return max(map(abs, self.weights))

    @property
    def divisor(self) -> int:
        """Largest common divisor of the weights; dividing by it changes no comparison."""
        return gcd(*self.weights) or 1

    def divided(self) -> Scoring:
        """Return the smallest weights with the same alignments."""
        return Scoring(*(weight // self.divisor for weight in self.weights))

    @property
    def prefers_exact_match(self) -> bool:
        """Whether an exact substring is always the best alignment of the recurrences.

        GATK returns exact substrings without aligning. With these weights, as with all usual
        weights, the alignment is the same.
        """
        return (
            self.match > 0
            and self.mismatch < self.match
            and self.gap_open < 0
            and self.gap_extend <= 0
        )

    def check_range(self, reference_length: int, query_length: int, overhang: Overhang) -> None:
        """Raise `InputError` if scores of sequences of these lengths may not fit 32 bits."""
        best = max(0, *self.weights) * (reference_length + query_length)
        border = 0
        if not overhang.has_free_ends:
            longest = max(reference_length, query_length)
            border = abs(self.gap_open) + (longest - 1) * abs(self.gap_extend) + self.largest
        exact = abs(self.match) * min(reference_length, query_length)  # of either sign
        if max(best, border, exact) > _INT32_MAX:
            message = (
                f"scoring {self}: scores of sequences of {reference_length:,} and"
                f" {query_length:,} bases do not fit 32 bits; use smaller weights"
            )
            raise InputError(message)


PRESETS = {
    "read-to-haplotype": Scoring(10, -15, -30, -5),
    "haplotype-to-reference": Scoring(200, -150, -260, -11),
    "standard-ngs": Scoring(25, -50, -110, -6),
    "original": Scoring(3, -1, -4, -3),
}
"""GATK's ALIGNMENT_TO_BEST_HAPLOTYPE_SW_PARAMETERS, NEW_SW_PARAMETERS, STANDARD_NGS and
ORIGINAL_DEFAULT."""


def resolve_scoring(scoring: str | Scoring) -> Scoring:
    """Return the weights of a preset's name, or of `MATCH,MISMATCH,OPEN,EXTEND`.

    Raises
    ------
    UsageError
        It is neither a name nor four integers.
    """
    if isinstance(scoring, Scoring):
        return scoring
    if isinstance(scoring, str) and scoring in PRESETS:
        return PRESETS[scoring]
    try:
        match, mismatch, gap_open, gap_extend = map(int, str(scoring).split(","))
    except ValueError:
        message = (
            f"scoring '{scoring}': unknown; give one of {', '.join(PRESETS)},"
            " or MATCH,MISMATCH,OPEN,EXTEND as in 10,-15,-30,-5"
        )
        raise UsageError(message) from None
    return Scoring(match, mismatch, gap_open, gap_extend)


def resolve_overhang(overhang: str | Overhang) -> Overhang:
    """Return the strategy of a name: `softclip`, `indel`, `leading-indel` or `ignore`.

    Raises
    ------
    UsageError
        There is no strategy of this name.
    """
    if isinstance(overhang, Overhang):
        return overhang
    names = {strategy.name.lower().replace("_", "-"): strategy for strategy in Overhang}
    if not isinstance(overhang, str) or overhang not in names:
        message = f"overhang '{overhang}': unknown; give one of {', '.join(names)}"
        raise UsageError(message)
    return names[overhang]
