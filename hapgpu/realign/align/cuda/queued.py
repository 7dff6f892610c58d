"""Batches of queued calls on a GPU, which also checks their text."""

from __future__ import annotations

from functools import partial
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.realign.align.cuda.aligner import align_device_pairs
from hapgpu.realign.align.cuda.batches import DevicePairs
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import active_on, device_errors, pinned_array
from hapgpu.runtime.gpu.memory_turns import memory_turns

_LAST_ASCII: Final = 127


def pinned_memory(size: int, device: CudaDevice) -> NDArray[np.uint8]:
    """Return uninitialised pinned memory, uint8[size].

    Raises
    ------
    DeviceError
        The memory is too small, or the GPU failed.
    """
    with device_errors(device), cupy.cuda.Device(device.index):
        return pinned_array(size, np.uint8)


def align_unchecked(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CudaDevice
) -> AlignmentBatch | None:
    """Align pairs as `align_pairs` of `dispatch` does, of any text; return None if it is not ASCII.

    A pass of the CPU over the text takes as long as to align the pairs.

    Parameters
    ----------
    pairs
        n pairs, at least one.
    scoring, overhang
        Weights, and the treatment of query bases outside the reference.
    device
        The GPU.

    Raises
    ------
    InputError
        A sequence is empty, or scores would not fit 32 bits.
    DeviceError
        The memory of the device is too small, or it failed.
    """
    with active_on(device):
        compute = partial(_aligned, pairs, scoring, overhang, device)
        return memory_turns(device).compute(compute)


def _aligned(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CudaDevice
) -> AlignmentBatch | None:
    uploaded = DevicePairs.upload(pairs)
    last = cupy.maximum(uploaded.references.data.max(), uploaded.queries.data.max())
    found = align_device_pairs(uploaded, scoring, overhang, device).download()
    return found if int(last.get()) <= _LAST_ASCII else None
