"""Declaration of the CUDA kernels of chaining, and of the batches that they take."""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.longread.batches import Anchors, Chains, ChainScores, Minimizers, Seeds
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Parameter, Scalar, Struct
from hapgpu.runtime.gpu_array import GpuArray

_SHARED_PERCENT: Final = 60
"""A multiprocessor runs kernels of several blocks of reads at a time only if they agree on it."""

X: Final = Array("x", np.uint64, "anchors")
Y: Final = Array("y", np.uint64, "anchors")
"""Columns of `Anchors` and `Chains`."""
OFFSETS: Final = Array("offsets", np.int64, "reads", 1)
LENGTHS: Final = Array("lengths", np.int32, "reads")
READS: Final = Scalar("reads", np.int32)

MINIMIZERS: Final = Struct(
    "minimizers",
    (
        Array("keys", np.uint64, "count"),
        Array("positions", np.uint32, "count"),
        *(OFFSETS, Length("count"), READS),
    ),
)
ANCHORS: Final = Struct(
    "anchors",
    (
        *(Array("x", np.uint64, "count"), Array("y", np.uint64, "count"), OFFSETS),
        *(Scalar("count", np.int64), READS),
    ),
)
CHAIN_SCORES: Final = Struct(
    "scores",
    (
        Array("scores", np.int32, "anchors.count"),
        Array("predecessors", np.int32, "anchors.count"),
    ),
)


def seeds_struct(reads: str = "reads") -> Struct:
    """Declare `Seeds`; `reads` names the number of reads, if it is the number of another struct."""
    fields = (
        Array("positions", np.uint32, "count"),
        Array("spans", np.uint8, "count"),
        Array("is_tandem", np.uint8, "count"),
        Array("first_occurrences", np.int64, "count"),
        Array("occurrence_counts", np.int32, "count"),
        *(Array("offsets", np.int64, reads, 1), Length("count"), READS),
    )
    return Struct("seeds", fields)


SEEDS: Final = seeds_struct()


def chains_struct(name: str, reads: str = "reads") -> Struct:
    """Declare `Chains`; `reads` names the number of reads, as in `seeds_struct`."""
    fields = (
        *(X, Y),
        Array("anchor_offsets", np.int64, "count", 1),
        Array("scores", np.int32, "count"),
        Array("offsets", np.int64, reads, 1),
        *(Scalar("anchors", np.int64), Scalar("count", np.int32), READS),
    )
    return Struct(name, fields)


CHAINS: Final = chains_struct("chains")


def sizes(*names: str) -> tuple[Scalar, ...]:
    """Declare numbers of 32 bits."""
    return tuple(Scalar(name, np.int32) for name in names)


def chaining_kernel(source: str, expression: str, parameters: tuple[Parameter, ...]) -> Kernel:
    """Declare a kernel of `cuda/longread`; `source` is its path there."""
    return Kernel(f"longread/{source}", expression, parameters, _SHARED_PERCENT)


Fields = tuple[GpuArray | int, ...]


def minimizer_fields(minimizers: Minimizers) -> Fields:
    """Return the fields of `MINIMIZERS`."""
    keys, offsets = minimizers.keys, minimizers.offsets
    return keys, minimizers.positions, offsets, keys.size, offsets.size - 1


def seed_fields(seeds: Seeds) -> Fields:
    """Return the fields of `seeds_struct`."""
    return (
        *(seeds.positions, seeds.spans, seeds.is_tandem),
        *(seeds.first_occurrences, seeds.occurrence_counts),
        *(seeds.offsets, seeds.positions.size, seeds.offsets.size - 1),
    )


def anchor_fields(anchors: Anchors) -> Fields:
    """Return the fields of `ANCHORS`."""
    return anchors.x, anchors.y, anchors.offsets, anchors.x.size, len(anchors)


def score_fields(scores: ChainScores) -> Fields:
    """Return the fields of `CHAIN_SCORES`."""
    return scores.scores, scores.predecessors


def chain_fields(chains: Chains) -> Fields:
    """Return the fields of `chains_struct`."""
    return (
        *(chains.x, chains.y, chains.anchor_offsets, chains.scores, chains.offsets),
        *(chains.x.size, chains.scores.size, chains.offsets.size - 1),
    )
