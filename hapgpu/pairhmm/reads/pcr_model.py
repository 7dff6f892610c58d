"""GATK's model of PCR indel errors in tandem repeats."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.pairhmm.options import PcrModel
from hapgpu.pairhmm.reads.tandem_repeats import MAX_COPIES

_QUALITY_WITHOUT_REPEAT: Final = 40.0
_MIN_QUALITY: Final = 10
_NO_LIMIT: Final = 255
_LAST_BASE: Final = 0  # count that `count_row` gives the last base of a read, and no other


_RATE_FACTORS: Final = {PcrModel.CONSERVATIVE: 3, PcrModel.AGGRESSIVE: 2, PcrModel.HOSTILE: 1}


def gap_open_limits(model: PcrModel) -> NDArray[np.uint8]:
    """Return uint8[MAX_COPIES + 1]: the highest gap-open quality per number of repeat copies."""
    if model is PcrModel.NONE:
        return np.full(MAX_COPIES + 1, _NO_LIMIT, dtype=np.uint8)
    copies = np.arange(MAX_COPIES + 1)
    lost = np.exp(copies / (_RATE_FACTORS[model] * np.pi)) - 1.0
    rounded = np.floor(_QUALITY_WITHOUT_REPEAT - lost + 0.5)
    return np.maximum(rounded, _MIN_QUALITY).astype(np.uint8)


def gap_open_limits_of_bases(model: PcrModel) -> NDArray[np.uint8]:
    """Return uint8[MAX_COPIES + 1]: the limits by the counts of `count_row`.

    The last base of a read has none.
    """
    limits = gap_open_limits(model)
    limits[_LAST_BASE] = _NO_LIMIT
    return limits
