"""Constants of the pair-HMM that its kernels share.

The fast kernels divide the probabilities of a row by those of matching all the way
(`coefficients.py`), so that a matching base multiplies by exactly 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

ERROR_PROBABILITIES = 10.0 ** (np.arange(256) / -10.0)
"""float64[256]: the probability that a Phred quality stands for."""

ANY_BASE = ord("N")
"""Matches every base, in a read as in a haplotype."""

FLOAT_SCALE = 2.0**120
"""What float32 kernels start with in place of 1.

Normalised probabilities grow where gaps are likely, and where an insertion follows a better
insertion quality; they have a factor of 2**8 n up to the largest float32. Past that the sum is
infinite or not a number, for no term is negative and none is lost.
"""

TRUSTED_GROWTH = 100.0
"""Most by which a normalised probability may grow on its way to the sum at the threshold.

If the growth of a read may be larger, its threshold is so by as much.
"""

FLOAT_THRESHOLD = 1e-25
"""Least scaled float32 sum to be trusted; a pair below it is computed once more in float64.

Below 2**-126 = 1.2e-38 a kernel may take probabilities for 0. If all 200,000 of a usual pair were
just below and grew by `TRUSTED_GROWTH`, the sum would lack 2.4e-31: 1e-6 in log10.
"""

FLOAT_LONGEST_READ = 512
"""Longest read for float32; rounding errors add up to some 1e-8 a base, or 5e-6 in log10 here.

They are far smaller when qualities differ from row to row. Where they do not, all point the same
way: a read of 3,000 bases with the same qualities throughout is off by up to 2e-5.
"""


class Precision(NamedTuple):
    """A type to compute in, what it starts with, and the least sum to be trusted."""

    dtype: Any
    scale: float
    threshold: float


FLOAT = Precision(np.float32, FLOAT_SCALE, FLOAT_THRESHOLD)

DOUBLE = Precision(np.float64, 2.0**960, 1e-288)
"""The sum lacks a relative 2e-9 if a billion probabilities just below 2**-1022 are lost."""
