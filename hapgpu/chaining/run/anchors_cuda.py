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

_ANCHORS_PER_PIECE: Final = 1 << 27


def chain_on_gpu(anchors: Anchors, parameters: ChainParameters, device: CudaDevice) -> AnchorChains:
    """Chain anchors in host memory, in pieces that fit the memory of the device.

    Parameters
    ----------
    anchors
        Result of `checked_anchors`.
    parameters
        Parameters of chaining.
    device
        GPU to use.

    Raises
    ------
    DeviceError
        A single read does not fit the device, or the device failed.
    """
    with device_errors(device):
        pieces = pieces_of(anchors, _ANCHORS_PER_PIECE)
        return concatenated(
            [
                chains
                for piece in pieces
                for chains in _chain_in_pieces(piece, parameters, device.index)
            ]
        )


def _chain_in_pieces(
    anchors: Anchors, parameters: ChainParameters, device: int
) -> list[AnchorChains]:
    try:
        return [_chain_piece(anchors, parameters, device)]
    except OUT_OF_MEMORY:
        if len(anchors) < 2:  # CuPy has emptied its pool already
            raise
    middle = len(anchors) // 2
    halved = (reads_of(anchors, 0, middle), reads_of(anchors, middle, len(anchors)))
    return [chains for half in halved for chains in _chain_in_pieces(half, parameters, device)]


def _chain_piece(anchors: Anchors, parameters: ChainParameters, device: int) -> AnchorChains:
    with cupy.cuda.Device(device), thread_streams(device, 1)[0] as stream:
        on_device = Anchors(
            *(cupy.asarray(array) for array in (anchors.x, anchors.y, anchors.offsets))
        )
        scores = cuda.chain_scores(on_device, parameters)
        chains = chains_cuda.trace_chains(on_device, scores, parameters)
        columns = (chains.x, chains.y, chains.anchor_offsets, chains.scores, chains.offsets)
        result = AnchorChains(
            cupy.asnumpy(scores.scores),
            cupy.asnumpy(scores.predecessors),
            Chains(*(cupy.asnumpy(column) for column in columns)),
        )
        stream.synchronize()
        return result
