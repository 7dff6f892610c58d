"""Mapping qualities from the numbers of best and second-best hits, as in `bwa aln`."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

MAX_COUNTED: Final = 255
"""Number of second-best hits above which the mapping quality does not change."""

UNIQUE: Final = 60
TWO_BEST: Final = 3
_FEW: Final = 23
_PHRED: Final = 4.343  # 10 / ln(10)


def mapping_qualities() -> NDArray[np.uint8]:
    """Tabulate the mapping qualities of reads with one best hit.

    The mapping quality of two best hits is `TWO_BEST`; of more, 0.

    Returns
    -------
    numpy.ndarray
        uint8[MAX_COUNTED + 1], by the number of second-best hits.
    """
    fewer = [max(1, _FEW - int(_PHRED * math.log(n) + 0.5)) for n in range(1, MAX_COUNTED + 1)]
    return np.array([UNIQUE, *fewer], dtype=np.uint8)
