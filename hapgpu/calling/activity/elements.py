"""Likelihoods of single pileup elements: a base, or a deletion, at a locus."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

FRACTION_BITS: Final = 40
"""Sums of log10 likelihoods are integers in units of 2**-40: they do not depend on their order. An
element is rounded by less than 1e-12; a sum of 500,000 elements of any quality fits into int64."""

DELETION_QUALITY: Final = 30
"""Phred quality of a deletion at a locus."""

_TABLE_STEP: Final = 1e-4
_TABLE_END: Final = 8.0


def log10_sum(first: float, second: float) -> float:
    """Return log10(10**first + 10**second) as GATK's table does, in steps of 1e-4."""
    larger, difference = max(first, second), abs(first - second)
    if difference >= _TABLE_END:
        return larger
    step = np.floor(difference / _TABLE_STEP + 0.5)
    return float(larger + np.log10(1.0 + 10.0 ** (-step * _TABLE_STEP)))


def element_likelihoods(quality: int) -> tuple[float, float, float]:
    """Return the log10 likelihoods of 0/0, 0/1 and 1/1 given one reference base.

    An error makes each of the three other bases with a third of its probability. For an alternate
    element, the order is 1/1, 0/1, 0/0.
    """
    correct = float(np.log10(1.0 - 10.0 ** (-quality / 10.0)))
    error = -quality / 10.0 - float(np.log10(3.0))
    return correct, log10_sum(correct, error) - float(np.log10(2.0)), error


@cache
def element_table(min_quality: int) -> NDArray[np.int64]:
    """Return int64[512, 2]: log10 ratios of 0/1 and 1/1 to 0/0, in units of 2**-`FRACTION_BITS`.

    Row `quality` is of a base equal to the reference, row `256 + quality` of an alternate element;
    both are 0 for qualities at most `min_quality`, which do not count.
    """
    table = np.zeros((512, 2), dtype=np.int64)
    for quality in range(max(min_quality, 0) + 1, 256):
        same, heterozygous, other = element_likelihoods(quality)
        ratios = np.array([heterozygous - same, other - same])
        table[quality] = np.rint(np.ldexp(ratios, FRACTION_BITS))
        ratios = np.array([heterozygous - other, same - other])
        table[256 + quality] = np.rint(np.ldexp(ratios, FRACTION_BITS))
    table.flags.writeable = False
    return table
