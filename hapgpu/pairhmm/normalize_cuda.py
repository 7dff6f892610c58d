"""GATK's limits on likelihoods, on a GPU (`cuda/pairhmm/normalize.cu`); same as `normalize`."""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np

from hapgpu.pairhmm.normalize import (
    ERRORS_PER_BASE,
    LOG10_OF_ERROR,
    MAX_ERRORS,
    WORST_DIFFERENCE,
)
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads

_THREADS: Final = 128

NORMALIZE_LIKELIHOODS: Final = Kernel(
    "pairhmm/normalize.cu",
    "normalize_likelihoods",
    (
        Array("likelihoods", np.float64, "count"),
        Array("offsets", np.int64, "rows", 1),
        Array("lengths", np.int64, "rows"),
        Array("is_explained", np.uint8, "rows"),
        Scalar("count", np.int64),
        Scalar("rows", np.int32),
        Scalar("worst_difference", np.float64),
        Scalar("errors_per_base", np.float64),
        Scalar("max_errors", np.float64),
        Scalar("log10_of_error", np.float64),
    ),
)


def normalize(likelihoods: Any, offsets: Any, lengths: Any) -> Any:
    """Raise likelihoods in place that are far below the best likelihood of the read.

    Parameters
    ----------
    likelihoods
        float64[offsets[-1]], log10, on the current GPU, read by read.
    offsets
        int64[n + 1]: the likelihoods of each read, at least one.
    lengths
        int64[n], bases of each read.

    Returns
    -------
    cupy.ndarray
        bool[n]: which reads have a haplotype that explains them.
    """
    rows = int(lengths.size)
    is_explained = cupy.empty(rows, dtype=np.bool_)
    arguments = (likelihoods, offsets, lengths, is_explained.view(np.uint8), likelihoods.size, rows)
    limits = (WORST_DIFFERENCE, ERRORS_PER_BASE, MAX_ERRORS, LOG10_OF_ERROR)
    launch_threads(NORMALIZE_LIKELIHOODS, _THREADS, rows, (*arguments, *limits))
    return is_explained
