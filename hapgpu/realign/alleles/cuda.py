"""Numbers of reads per sample and haplotype on a GPU: the CUDA counterpart of `counts`."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from hapgpu.realign.alleles.counts import AlleleCounts


def count_device_alleles(
    samples: Any, reads: Any, haplotypes: Any, are_tied: Any, count: int
) -> AlleleCounts:
    """Count the reads of a batch, as `count_alleles`, on the current GPU; return host memory."""
    if not samples.size:
        none = np.empty(0, dtype=np.int64)
        return AlleleCounts(none, none)
    chosen = cupy.full(samples.size, 2 * count, dtype=np.int64)
    chosen[reads] = 2 * haplotypes.astype(np.int64) + are_tied[reads]
    found = samples.astype(np.int64) * (2 * count + 1) + chosen
    cells, numbers = cupy.unique(found, return_counts=True)
    return AlleleCounts(cells.get(), numbers.get().astype(np.int64))
