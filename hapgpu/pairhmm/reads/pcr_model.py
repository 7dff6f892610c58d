"""GATK's model of PCR indel errors in tandem repeats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.pairhmm.options import PcrModel
from hapgpu.pairhmm.reads.tandem_repeats import MAX_COPIES, repeat_counts
from hapgpu.runtime.jit import njit

_QUALITY_WITHOUT_REPEAT: Final = 40.0
_MIN_QUALITY: Final = 10
_NO_LIMIT: Final = 255
_LAST_BASE: Final = 0  # count that `repeat_counts` gives the last base of a read, and no other


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
    """Return uint8[MAX_COPIES + 1]: the limits by the counts of `repeat_counts`.

    The last base of a read has none.
    """
    limits = gap_open_limits(model)
    limits[_LAST_BASE] = _NO_LIMIT
    return limits


def limit_gap_opens(qualities: Iterable[NDArray[np.uint8]], bases: Ragged, model: PcrModel) -> None:
    """Lower gap-open qualities to the limits of the model, except at the last base of a read.

    Parameters
    ----------
    qualities
        uint8[bases.data.size] Phred each: columns of gap-open qualities, changed in place.
    bases
        uint8 text of the reads.
    model
        The model.
    """
    if model is PcrModel.NONE:
        return
    limits = gap_open_limits_of_bases(model)
    counts = repeat_counts(bases)
    for column in qualities:
        _lower(column, read_only(counts), read_only(limits))


@njit
def _lower(
    qualities: NDArray[np.uint8], counts: NDArray[np.uint8], limits: NDArray[np.uint8]
) -> None:
    for k in range(qualities.size):
        qualities[k] = min(qualities[k], limits[counts[k]])
