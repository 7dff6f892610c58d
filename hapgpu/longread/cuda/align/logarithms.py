"""Logarithms of the C library for mapping qualities, in tables on a GPU.

The logarithm of CUDA differs from the C library's in the last bit, so the host computes it: in
tables by score and by number of secondaries, which are kept.
"""

from __future__ import annotations

import functools
import math
from typing import Final, NamedTuple

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.longread.mappings.quality import cost_of_secondaries
from hapgpu.runtime.gpu.kernel import Array, Length, Scalar, Struct
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.runtime.jit import njit

_MIN_SCORES: Final = 1 << 16
_MIN_SECONDARIES: Final = 1 << 10
MAX_SIZE: Final = 1 << 24
"""Most entries of a table (64 MiB of float32)."""

LOGARITHMS: Final = Struct(
    "logarithms",
    (
        *(Array("of_scores", np.float32, "scores"), Array("costs", np.uint8, "numbers")),
        *(Scalar("are_by_row", np.int32), Length("scores"), Length("numbers")),
    ),
)


class Logarithms(NamedTuple):
    """Logarithms of scores, and costs of secondaries, on a GPU.

    Attributes
    ----------
    of_scores
        float32[s]: natural logarithm of a score in matches.
    costs
        uint8[n]: quality that a mapping loses to its secondaries.
    """

    of_scores: GpuArray
    costs: GpuArray


@njit
def _take_logarithms(
    scores: NDArray[np.int32], match: Integer, logarithms: NDArray[np.float32]
) -> None:
    for row in range(scores.size):
        per_match = np.float32(np.float32(scores[row]) / np.float32(match))
        logarithms[row] = np.float32(math.log(per_match))


@njit
def _find_costs(n_sub: NDArray[np.int32], costs: NDArray[np.uint8]) -> None:
    for row in range(n_sub.size):
        costs[row] = cost_of_secondaries(n_sub[row])


def logarithms_by_row(scores: GpuArray, n_sub: GpuArray, match: int) -> Logarithms:
    """Return the logarithms and costs of rows, without tables.

    Parameters
    ----------
    scores, n_sub
        int32[r]: scores and numbers of secondaries, on the GPU.
    match
        Score of equal bases.
    """
    return Logarithms(
        cupy.asarray(_logarithms_of(cupy.asnumpy(scores), match)),
        cupy.asarray(_costs_of(cupy.asnumpy(n_sub))),
    )


def logarithm_tables(max_score: int, max_n_sub: int, match: int) -> Logarithms:
    """Return tables by score and by number of secondaries, on the current GPU.

    Parameters
    ----------
    max_score, max_n_sub
        The largest ones, below `MAX_SIZE`.
    match
        Score of equal bases.
    """
    device = cupy.cuda.Device().id
    return Logarithms(
        _score_table(device, match, _table_size(max_score, _MIN_SCORES)),
        _cost_table(device, _table_size(max_n_sub, _MIN_SECONDARIES)),
    )


def _table_size(max_value: int, smallest: int) -> int:
    return max(1 << max_value.bit_length(), smallest)


@functools.cache
def _score_table(device: int, match: int, size: int) -> GpuArray:  # noqa: ARG001  (of the cache)
    return _uploaded(_logarithms_of(np.arange(size, dtype=np.int32), match))


@functools.cache
def _cost_table(device: int, size: int) -> GpuArray:  # noqa: ARG001  (a key of the cache)
    return _uploaded(_costs_of(np.arange(size, dtype=np.int32)))


def _uploaded(table: NDArray[np.generic]) -> GpuArray:
    """Copy a table to the current GPU for kernels of any stream."""
    copy = cupy.asarray(table)
    last_values(copy.view(np.uint8))  # waits for the copy
    return copy


def _logarithms_of(scores: NDArray[np.int32], match: int) -> NDArray[np.float32]:
    logarithms = np.empty(scores.size, dtype=np.float32)
    _take_logarithms(scores, match, logarithms)
    return logarithms


def _costs_of(n_sub: NDArray[np.int32]) -> NDArray[np.uint8]:
    costs = np.empty(n_sub.size, dtype=np.uint8)
    _find_costs(n_sub, costs)
    return costs
