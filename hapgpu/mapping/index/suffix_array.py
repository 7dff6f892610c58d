"""Suffix sorting with libdivsufsort."""

from __future__ import annotations

import os
from typing import Final

import numpy as np
import pydivsufsort
from numpy.typing import NDArray
from pydivsufsort.dll import libdivsufsort

_OMP_PAUSE_SOFT: Final = 1  # as in omp.h


def sort_suffixes(text: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Sort the suffixes of a text, the empty suffix included; a prefix of a suffix comes first.

    Parameters
    ----------
    text
        uint8[n], n at least 1.

    Returns
    -------
    uint32[n + 1]: the text position of the suffix in each row; row 0 has n.
    """
    suffixes = np.empty(text.size + 1, dtype=np.uint32)
    suffixes[0] = text.size
    suffixes[1:] = pydivsufsort.divsufsort(text)
    return suffixes


def _end_threads() -> None:
    """End the threads that OpenMP keeps for the next sort in this thread.

    A forked process does not have these threads, and its first sort would wait for them for ever.
    """
    pause = getattr(libdivsufsort, "omp_pause_resource_all", None)  # missing without OpenMP
    if pause is not None:
        pause(_OMP_PAUSE_SOFT)


os.register_at_fork(before=_end_threads)
