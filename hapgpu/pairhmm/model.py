"""Constants of the pair-HMM that its kernels share.

The fast kernels divide the probabilities of a row by the probability that all bases up to the row
match (`coefficients.py`), so that a matching base multiplies by exactly 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ERROR_PROBABILITIES = 10.0 ** (np.arange(256) / -10.0)
"""float64[256]: the probability that a Phred quality stands for."""

ANY_BASE = ord("N")
"""Matches every base, in reads and in haplotypes."""

FLOAT_SCALE = 2.0**120
"""Start value of the float32 kernels, in place of 1.

Normalised probabilities grow where gaps are likely, and where an insertion quality follows a
better one; they may grow by a factor of 2**8 n before they exceed float32. Then the sum is
infinite or not a number, because no term is negative and none is lost.
"""

TRUSTED_GROWTH = 100.0
"""Largest growth of a normalised probability, up to the final sum, that the threshold allows.

The threshold of a read whose probabilities may grow more is raised in proportion.
"""

FLOAT_THRESHOLD = 1e-25
"""Smallest scaled float32 sum that is accurate; a pair below it is recomputed in float64.

A kernel may treat probabilities below 2**-126 = 1.2e-38 as 0. If all 200,000 cells of a usual
pair were just below and grew by `TRUSTED_GROWTH`, the sum would lack 2.4e-31: 1e-6 in log10.
"""

FLOAT_LONGEST_READ = 512
"""Longest read for float32; rounding errors add up to about 1e-8 per base, 5e-6 in log10 here.

They are far smaller when qualities differ from row to row. With equal qualities, all have the
same sign: a read of 3,000 bases with the same qualities throughout is off by up to 2e-5.
"""


class Precision(NamedTuple):
    """A floating-point type, its start value, and the smallest sum that is accurate in it."""

    dtype: type[np.float32 | np.float64]
    scale: float
    threshold: float


FLOAT = Precision(np.float32, FLOAT_SCALE, FLOAT_THRESHOLD)

DOUBLE = Precision(np.float64, 2.0**960, 1e-288)
"""The sum lacks a relative 2e-9 if a billion probabilities just below 2**-1022 are lost."""
