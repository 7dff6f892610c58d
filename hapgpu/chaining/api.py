"""The part of the Python API that chains ready-made anchors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.chaining.anchors.checks import checked_anchors
from hapgpu.chaining.batches import Anchors
from hapgpu.chaining.chains import cpu as chains_cpu
from hapgpu.chaining.options import LONGEST_KMER, WIDEST_BAND, ChainOptions
from hapgpu.chaining.parameters import ChainParameters, chain_parameters
from hapgpu.chaining.run.anchor_chains import AnchorChains, concatenated, pieces_of
from hapgpu.chaining.scores import cpu
from hapgpu.errors import UsageError
from hapgpu.runtime.devices import CudaDevice, Device, resolve_devices
from hapgpu.runtime.pool import Pool

_ANCHORS_ON_CPU: Final = 1 << 18
_LARGEST: Final = 2**31 - 1
_DEFAULTS: Final = ChainOptions()
_LARGEST_NUMBERS: Final = {
    "max_gap": _LARGEST,
    "bandwidth": WIDEST_BAND,
    "min_count": _LARGEST,
    "min_score": _LARGEST,
    "max_skip": _LARGEST,
    "max_iterations": _LARGEST,
}


def chain(
    anchors: Anchors | tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64]],
    options: ChainOptions = _DEFAULTS,
    *,
    k: int = 15,
    device: str = "auto",
) -> AnchorChains:
    """Chain ready-made anchors as minimap2 2.30 does (Li 2018 and 2021, Bioinformatics).

    Chains are not joined over long gaps: `joins` and `long_bandwidth` of the options change
    nothing here.

    Parameters
    ----------
    anchors
        Of n reads, as `Anchors` or as its arrays x, y and offsets: x and y uint64[a], in each
        read ascending by x; offsets int64[n + 1].
    options
        `max_skip=UNLIMITED_SKIP` visits every predecessor, as Sadasivan et al. (2023) do.
    k
        Bases of the k-mers, by which gaps are priced.
    device
        `auto`, `cpu`, `cuda` or `cuda:N`; the chains do not depend on it. The first of several is
        used.

    Raises
    ------
    InputError
        The numbers are not those of anchors: offsets, order, positions or spans.
    UsageError
        An argument is of the wrong kind or out of range.
    DeviceError
        A named device cannot be used, has too little memory for one read, or fails.
    """
    _check_numbers(options, k)
    given = checked_anchors(*_columns(anchors))
    devices, _ = resolve_devices(device)
    return chain_anchors(given, chain_parameters(options, k), devices[0])


def _columns(anchors: object) -> Sequence[Any]:
    if isinstance(anchors, Anchors):
        return anchors.x, anchors.y, anchors.offsets
    if isinstance(anchors, Sequence) and len(anchors) == 3:
        return anchors
    raise UsageError("anchors: give Anchors, or the three arrays (x, y, offsets)")


def _check_numbers(options: ChainOptions, k: int) -> None:
    for name, largest in _LARGEST_NUMBERS.items():
        _check_number(name, getattr(options, name), 0, largest)
    _check_number("k", k, 1, LONGEST_KMER)


def _check_number(name: str, value: object, least: int, largest: int) -> None:
    if not isinstance(value, int) or not least <= value <= largest:
        raise UsageError(f"{name}={value!r}: give a whole number from {least} to {largest:,}")


def chain_anchors(anchors: Anchors, parameters: ChainParameters, device: Device) -> AnchorChains:
    """Chain checked anchors on a device, whose threads it uses if it is the CPU."""
    if isinstance(device, CudaDevice):
        from hapgpu.chaining.run.anchors_cuda import chain_on_gpu  # noqa: PLC0415  (imports CuPy)

        return chain_on_gpu(anchors, parameters, device)
    with Pool(device.threads) as pool:
        pieces = pieces_of(anchors, _ANCHORS_ON_CPU)
        tasks = [pool.submit(_chain_piece, piece, parameters) for piece in pieces]
        return concatenated(pool.results(tasks))


def _chain_piece(anchors: Anchors, parameters: ChainParameters) -> AnchorChains:
    scores = cpu.chain_scores(anchors, parameters)
    chains = chains_cpu.trace_chains(anchors, scores, parameters)
    return AnchorChains(scores.scores, scores.predecessors, chains)
