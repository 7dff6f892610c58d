"""Clipped reads on the GPU, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from hapgpu.genotyping.batches import ClippedReads

if TYPE_CHECKING:
    from hapgpu.genotyping.reads.cuda.evidence import DeviceClippedReads  # imports CuPy


def on_device(
    clipped: ClippedReads, as_device: Callable[[Any], Any] | None = None
) -> DeviceClippedReads:
    """Copy clipped reads to the current GPU, array by array by `as_device`."""
    cupy = pytest.importorskip("cupy")
    from hapgpu.cigar.cuda import DeviceReadParts  # noqa: PLC0415  (needs CuPy)
    from hapgpu.genotyping.reads.cuda.evidence import DeviceClippedReads  # noqa: PLC0415  (as above)

    parts = (clipped.reads, clipped.base_starts, clipped.base_ends)
    rest = (
        clipped.loci, clipped.samples, clipped.starts, clipped.ends, clipped.fragment_offsets
    )  # fmt: skip
    copied = as_device or cupy.asarray
    return DeviceClippedReads(DeviceReadParts(*map(copied, parts)), *map(copied, rest))


def on_host(clipped: DeviceClippedReads) -> ClippedReads:
    """Copy clipped reads to host memory."""
    parts = clipped.parts
    return ClippedReads(
        parts.reads.get(),
        clipped.loci.get(),
        clipped.samples.get(),
        parts.starts.get(),
        parts.ends.get(),
        clipped.starts.get(),
        clipped.ends.get(),
        clipped.fragment_offsets.get(),
    )
