"""Python API for chaining ready-made anchors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.arguments import whole_number
from hapgpu.errors import UsageError
from hapgpu.longread.anchor_chains import chains_of_anchors
from hapgpu.longread.batches import AnchorChains, Anchors
from hapgpu.longread.options import LONGEST_KMER, UNLIMITED_SKIP, WIDEST_BAND, ChainOptions
from hapgpu.longread.parameters import chain_parameters
from hapgpu.longread.seed.anchor_files import checked_anchors
from hapgpu.runtime.devices import first_device

_MAX_INT: Final = 2**31 - 1
_DEFAULT: Final = ChainOptions()


def chain_anchors(
    anchors: Anchors | tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64]],
    *,
    k: int = 15,
    max_gap: int = _DEFAULT.max_gap,
    bandwidth: int = _DEFAULT.bandwidth,
    min_count: int = _DEFAULT.min_count,
    min_score: int = _DEFAULT.min_score,
    max_skip: int | None = _DEFAULT.max_skip,
    max_iterations: int = _DEFAULT.max_iterations,
    device: str = "auto",
    threads: int | None = None,
) -> AnchorChains:
    """Chain ready-made anchors as minimap2 2.30 does (Li 2018 and 2021, Bioinformatics).

    Chains are not joined over long gaps.

    Parameters
    ----------
    anchors
        Anchors of n reads, as `Anchors` or as its arrays x, y and offsets: x and y uint64[a],
        ascending by x in each read; offsets int64[n + 1].
    k
        K-mer length in bases, from 1 to 28, which scales the gap costs.
    max_gap
        Largest distance in bases between consecutive anchors of a chain (minimap2: `-g`).
    bandwidth
        Largest difference of diagonals in bases between consecutive anchors, to 200,000 (`-r`).
    min_count
        Fewest anchors of a chain (`-n`).
    min_score
        Lowest score of a chain (`-m`).
    max_skip
        The search for a predecessor ends after so many that a visited anchor already follows
        (`--max-chain-skip`); None visits every predecessor, as Sadasivan et al. (2023) do.
    max_iterations
        Predecessors that are visited, at most (`--max-chain-iter`).
    device
        `auto`, `cpu`, `cuda` or `cuda:N`; the first of several devices is used. The chains do not
        depend on the device.
    threads
        CPU threads, from 1, if a CPU computes; None: one per usable CPU.

    Raises
    ------
    InputError
        Offsets, order, positions or spans of the anchors are invalid; the message has the number
        of the read, from 0.
    UsageError
        An argument has the wrong type or is out of range.
    DeviceError
        A named device cannot be used, has too little memory for one read, or fails.
    """
    options = ChainOptions(
        max_gap=whole_number("max_gap", max_gap, 0, _MAX_INT),
        bandwidth=whole_number("bandwidth", bandwidth, 0, WIDEST_BAND),
        min_count=whole_number("min_count", min_count, 0, _MAX_INT),
        min_score=whole_number("min_score", min_score, 0, _MAX_INT),
        max_skip=UNLIMITED_SKIP
        if max_skip is None
        else whole_number("max_skip", max_skip, 0, _MAX_INT),
        max_iterations=whole_number("max_iterations", max_iterations, 0, _MAX_INT),
    )
    parameters = chain_parameters(options, whole_number("k", k, 1, LONGEST_KMER))
    return chains_of_anchors(
        checked_anchors(*_columns(anchors)), parameters, first_device(device, threads)
    )


def _columns(anchors: object) -> Sequence[Any]:
    if isinstance(anchors, Anchors):
        return anchors.x, anchors.y, anchors.offsets
    if isinstance(anchors, Sequence) and len(anchors) == 3:
        return anchors
    raise UsageError("anchors: unknown type; give Anchors, or the three arrays (x, y, offsets)")
