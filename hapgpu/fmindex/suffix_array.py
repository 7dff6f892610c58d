"""The sorted suffixes of a text, by libdivsufsort."""

from __future__ import annotations

import numpy as np
import pydivsufsort
from numpy.typing import NDArray


def sort_suffixes(text: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Sort the suffixes of a text, the empty one included; a shorter one comes first.

    Parameters
    ----------
    text
        uint8[n], n at least 1.

    Returns
    -------
    uint32[n + 1]: the place in the text where the suffix of each row begins; row 0 has n.
    """
    suffixes = np.empty(text.size + 1, dtype=np.uint32)
    suffixes[0] = text.size
    suffixes[1:] = pydivsufsort.divsufsort(text)
    return suffixes
