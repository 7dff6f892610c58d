"""Python API for chaining ready-made anchors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import UsageError
from hapgpu.longread.batches import AnchorChains, Anchors
from hapgpu.longread.chain import chains as chains_cpu
from hapgpu.longread.chain import scores as cpu
from hapgpu.longread.options import LONGEST_KMER, WIDEST_BAND, ChainOptions
from hapgpu.longread.parameters import ChainParameters, chain_parameters
from hapgpu.longread.seed.anchor_files import checked_anchors
from hapgpu.runtime.devices import CudaDevice, Device, resolve_devices
from hapgpu.runtime.pool import Pool

_ANCHORS_ON_CPU: Final = 1 << 18
_MAX_INT: Final = 2**31 - 1
_DEFAULTS: Final = ChainOptions()
_MAX_VALUES: Final = {
    "max_gap": _MAX_INT,
    "bandwidth": WIDEST_BAND,
    "min_count": _MAX_INT,
    "min_score": _MAX_INT,
    "max_skip": _MAX_INT,
    "max_iterations": _MAX_INT,
}


def chain(
    anchors: Anchors | tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64]],
    options: ChainOptions = _DEFAULTS,
    *,
    k: int = 15,
    device: str = "auto",
) -> AnchorChains:
    """Chain ready-made anchors as minimap2 2.30 does (Li 2018 and 2021, Bioinformatics).

    Chains are not joined over long gaps: the options `joins` and `long_bandwidth` have no effect.

    Parameters
    ----------
    anchors
        Anchors of n reads, as `Anchors` or as its arrays x, y and offsets: x and y uint64[a],
        ascending by x in each read; offsets int64[n + 1].
    options
        `max_skip=UNLIMITED_SKIP` visits every predecessor, as Sadasivan et al. (2023) do.
    k
        K-mer length in bases, which scales the gap costs.
    device
        `auto`, `cpu`, `cuda` or `cuda:N`; the first of several devices is used. The chains do not
        depend on the device.

    Raises
    ------
    InputError
        Offsets, order, positions or spans of the anchors are invalid.
    UsageError
        An argument has the wrong type or is out of range.
    DeviceError
        A named device cannot be used, has too little memory for one read, or fails.
    """
    _check_numbers(options, k)
    checked = checked_anchors(*_columns(anchors))
    devices, _ = resolve_devices(device)
    return chain_anchors(checked, chain_parameters(options, k), devices[0])


def _columns(anchors: object) -> Sequence[Any]:
    if isinstance(anchors, Anchors):
        return anchors.x, anchors.y, anchors.offsets
    if isinstance(anchors, Sequence) and len(anchors) == 3:
        return anchors
    raise UsageError("anchors: unknown type; give Anchors, or the three arrays (x, y, offsets)")


def _check_numbers(options: ChainOptions, k: int) -> None:
    for name, maximum in _MAX_VALUES.items():
        _check_number(name, getattr(options, name), 0, maximum)
    _check_number("k", k, 1, LONGEST_KMER)


def _check_number(name: str, value: object, minimum: int, maximum: int) -> None:
    if not isinstance(value, int) or not minimum <= value <= maximum:
        raise UsageError(
            f"{name}={value!r}: out of range; give a whole number from {minimum} to {maximum:,}"
        )


def chain_anchors(anchors: Anchors, parameters: ChainParameters, device: Device) -> AnchorChains:
    """Chain checked anchors on a GPU, or on all threads of a CPU device."""
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
