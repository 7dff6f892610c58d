"""Ready-made anchors chained on a GPU."""

from __future__ import annotations

from typing import Final

import cupy

from hapgpu.chaining.batches import Anchors, Chains
from hapgpu.chaining.chains import cuda as chains_cuda
from hapgpu.chaining.parameters import ChainParameters
from hapgpu.chaining.run.anchor_chains import (
    AnchorChains,
    concatenated,
    pieces_of,
    reads_of,
)
from hapgpu.chaining.scores import cuda
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import OUT_OF_MEMORY, device_errors, thread_streams

_ANCHORS_AT_A_TIME: Final = 1 << 27


def chain_on_gpu(anchors: Anchors, parameters: ChainParameters, device: CudaDevice) -> AnchorChains:
    """Chain anchors in host memory, in parts where the memory of the device does not hold them.

    Parameters
    ----------
    anchors
        As `ready_anchors.checked_anchors` returns them.
    parameters
        Of chaining.
    device
        Where to compute.

    Raises
    ------
    DeviceError
        A single read does not fit, or the device failed.
    """
    with device_errors(device):
        pieces = pieces_of(anchors, _ANCHORS_AT_A_TIME)
        return concatenated(
            [part for piece in pieces for part in _chain_in_parts(piece, parameters, device.index)]
        )


def _chain_in_parts(
    anchors: Anchors, parameters: ChainParameters, device: int
) -> list[AnchorChains]:
    try:
        return [_chain_piece(anchors, parameters, device)]
    except OUT_OF_MEMORY:
        if len(anchors) < 2:  # CuPy has emptied its pool already
            raise
    middle = len(anchors) // 2
    halves = (reads_of(anchors, 0, middle), reads_of(anchors, middle, len(anchors)))
    return [part for half in halves for part in _chain_in_parts(half, parameters, device)]


def _chain_piece(anchors: Anchors, parameters: ChainParameters, device: int) -> AnchorChains:
    with cupy.cuda.Device(device), thread_streams(device, 1)[0] as stream:
        there = Anchors(*(cupy.asarray(array) for array in (anchors.x, anchors.y, anchors.offsets)))
        scores = cuda.chain_scores(there, parameters)
        chains = chains_cuda.trace_chains(there, scores, parameters)
        columns = (chains.x, chains.y, chains.anchor_offsets, chains.scores, chains.offsets)
        result = AnchorChains(
            cupy.asnumpy(scores.scores),
            cupy.asnumpy(scores.predecessors),
            Chains(*(cupy.asnumpy(column) for column in columns)),
        )
        stream.synchronize()
        return result
