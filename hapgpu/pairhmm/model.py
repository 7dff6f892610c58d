"""Constants of the pair-HMM that its kernels share.

The fast kernels divide the probabilities of a row by the probability that all bases up to the row
match (`coefficients.py`), so that a matching base multiplies by exactly 1.
"""

from __future__ import annotations

import numpy as np

ERROR_PROBABILITIES = 10.0 ** (np.arange(256) / -10.0)
"""float64[256]: the probability that a Phred quality stands for."""

ANY_BASE = ord("N")
"""Matches every base, in reads and in haplotypes."""

FLOAT_SCALE_EXPONENT = 120
FLOAT_SCALE = 2.0**FLOAT_SCALE_EXPONENT
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

Probabilities below 2**-126 = 1.2e-38 are treated as 0. If all 200,000 cells of a usual
pair were just below and grew by `TRUSTED_GROWTH`, the sum would lack 2.4e-31: 1e-6 in log10.
"""

FLOAT_LONGEST_READ = 512
"""Longest read for float32; rounding errors add up to about 1e-8 per base, 5e-6 in log10 here.

They are far smaller when qualities differ from row to row. With equal qualities, all have the
same sign: a read of 3,000 bases with the same qualities throughout is off by up to 2e-5.
"""


FLOAT_LONGEST_HAPLOTYPE = 2048
"""Longest haplotype for float32, as on a GPU, where a warp holds it in registers."""

DOUBLE_SCALE_EXPONENT = 900
DOUBLE_SCALE = 2.0**DOUBLE_SCALE_EXPONENT
"""Start value of the float64 lanes; scaled probabilities grow by at most 2**84 / n."""

DOUBLE_THRESHOLD = 1e-200
"""Smallest scaled float64 sum that is accurate to the last bit.

All probabilities below 2**-1022 = 2.2e-308 that are lost do not change it.
"""
