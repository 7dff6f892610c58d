"""Chains of checked anchors, on any device."""

from __future__ import annotations

from typing import Final

from hapgpu.longread.batches import AnchorChains, Anchors
from hapgpu.longread.chain import chains as chains_cpu
from hapgpu.longread.chain import scores as cpu
from hapgpu.longread.parameters import ChainParameters
from hapgpu.runtime.devices import CudaDevice, Device
from hapgpu.runtime.pool import Pool

_ANCHORS_ON_CPU: Final = 1 << 18


def chains_of_anchors(
    anchors: Anchors, parameters: ChainParameters, device: Device
) -> AnchorChains:
    """Chain checked anchors on a GPU, or on all threads of a CPU device.

    Raises
    ------
    DeviceError
        The device has too little memory for one read, or failed.
    """
    if isinstance(device, CudaDevice):
        from hapgpu.longread.cuda.stages import chain_on_gpu  # noqa: PLC0415  (imports CuPy)

        return chain_on_gpu(anchors, parameters, device)
    with Pool(device.threads) as pool:
        pieces = anchors.pieces(_ANCHORS_ON_CPU)
        tasks = [pool.submit(_chain_piece, piece, parameters) for piece in pieces]
        return AnchorChains.concatenated(pool.results(tasks))


def _chain_piece(anchors: Anchors, parameters: ChainParameters) -> AnchorChains:
    scores = cpu.chain_scores(anchors, parameters)
    chains = chains_cpu.trace_chains(anchors, scores, parameters)
    return AnchorChains(scores.scores, scores.predecessors, chains)
