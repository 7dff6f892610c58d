"""Likelihoods of fragments, on a GPU (`cuda/genotyping/evidence/likelihoods.cu`)."""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import offsets_of
from hapgpu.genotyping.device_batches import DeviceClippedReads, DeviceEvidence
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads

_THREADS: Final = 128

COMBINE_FRAGMENTS: Final = Kernel(
    "genotyping/evidence/likelihoods.cu",
    "combine_fragments",
    (
        Array("fragment_offsets", np.int64, "fragments", 1),
        Array("likelihood_offsets", np.int64, "parts", 1),
        Array("base_starts", np.int64, "parts"),
        Array("base_ends", np.int64, "parts"),
        Array("likelihoods", np.float64, "pairs"),
        Array("lowest", np.float64, "parts"),
        Array("is_explained", np.uint8, "fragments"),
        Scalar("fragments", np.int32),
        Scalar("parts", np.int32),
        Scalar("pairs", np.int64),
    ),
)


def device_evidence_of(
    clipped: DeviceClippedReads, likelihoods: Any, haplotype_counts: Any
) -> DeviceEvidence:
    """Cap the likelihoods of clipped reads, and multiply those of a fragment, as `evidence_of`.

    Parameters
    ----------
    clipped
        w clipped reads.
    likelihoods
        float64 on the current GPU, as in `evidence_of`; changed.
    haplotype_counts
        int64[l] on the GPU, at least 1.
    """
    fragments, parts = clipped.fragments, len(clipped)
    offsets = offsets_of(haplotype_counts[clipped.loci])
    is_explained = cupy.empty(fragments, dtype=np.uint8)
    if fragments:
        arguments = (
            clipped.fragment_offsets,
            offsets,
            clipped.parts.starts,
            clipped.parts.ends,
            likelihoods,
            cupy.empty(parts, dtype=np.float64),
            is_explained,
            fragments,
            parts,
            likelihoods.size,
        )
        launch_threads(COMBINE_FRAGMENTS, _THREADS, fragments, arguments)
    return DeviceEvidence(clipped, likelihoods, offsets, is_explained.view(np.bool_))
