"""Seeds on a GPU (`cuda/longread/seed/seeds.cu`); same as `hapgpu/longread/seed/seeds.py`."""

from __future__ import annotations

import functools
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.longread.batches import Minimizers, Seeds
from hapgpu.longread.cuda.index import DeviceMinimizerIndex
from hapgpu.longread.kernels import (
    LENGTHS,
    MINIMIZERS,
    OFFSETS,
    READS,
    chaining_kernel,
    minimizer_fields,
    seed_fields,
    seeds_struct,
)
from hapgpu.longread.options import SeedOptions
from hapgpu.longread.seed.seeds import MAX_KEPT, MAX_OCCURRENCES
from hapgpu.runtime.gpu.kernel import Array, Length, Scalar
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 256
_MAX_INT: Final = 2**31 - 1
_ROUNDING: Final = 0.499  # as in cpu.py

_KEYS = Array("keys", np.uint64, "minimizers")
_POSITIONS = Array("positions", np.uint32, "minimizers")
_IS_FREQUENT = Array("is_frequent", np.uint8, "minimizers")
_TABLE = (Array("owners", np.uint32, "capacity"), Array("counts", np.int32, "capacity"))
_MINIMIZERS = Length("minimizers")
_LIMIT = (Scalar("cutoff", np.int32), Scalar("fraction", np.float32))

SUSPECT_KEYS: Final = chaining_kernel(
    "seed/seeds.cu",
    "suspect_keys",
    (
        *(_KEYS, OFFSETS, _IS_FREQUENT, Array("suspects", np.int32, "one")),
        *(_MINIMIZERS, READS, *_LIMIT, Length("one")),
    ),
)
COUNT_SUSPECTS: Final = chaining_kernel(
    "seed/seeds.cu",
    "count_suspects",
    (_KEYS, OFFSETS, _IS_FREQUENT, *_TABLE, _MINIMIZERS, READS, Scalar("capacity", np.int64)),
)
CONFIRM_SUSPECTS: Final = chaining_kernel(
    "seed/seeds.cu",
    "confirm_suspects",
    (
        *(_KEYS, OFFSETS, _IS_FREQUENT, *_TABLE),
        *(_MINIMIZERS, READS, *_LIMIT, Scalar("capacity", np.int64)),
    ),
)
LOOK_UP: Final = chaining_kernel(
    "seed/seeds.cu",
    "look_up",
    (
        _KEYS,
        _IS_FREQUENT,
        Array("directory", np.uint32, "buckets", 1),
        Array("entries", np.uint64, "distinct", 1, width=2),
        Array("first_occurrences", np.int64, "minimizers"),
        Array("occurrence_counts", np.int32, "minimizers"),
        Scalar("minimizers", np.int64),
        *(Length("buckets"), Length("distinct")),
        Scalar("directory_bits", np.int32),
    ),
)
DROP_REPETITIVE: Final = chaining_kernel(
    "seed/seeds.cu",
    "drop_repetitive",
    (
        _KEYS,
        _POSITIONS,
        OFFSETS,
        LENGTHS,
        Array("steps", np.int32, "step_count"),
        Array("occurrence_counts", np.int32, "minimizers"),
        Array("seed_counts", np.int64, "reads", 1),
        Array("repeat_lengths", np.int32, "reads"),
        _MINIMIZERS,
        READS,
        Scalar("cutoff", np.int32),
        Scalar("step_count", np.int32),
    ),
)
WRITE_SEEDS: Final = chaining_kernel(
    "seed/seeds.cu",
    "write_seeds",
    (
        MINIMIZERS,
        Array("is_frequent", np.uint8, "minimizers.count"),
        Array("minimizer_occurrences", np.int64, "minimizers.count"),
        Array("minimizer_occurrence_counts", np.int32, "minimizers.count"),
        seeds_struct("minimizers.reads"),
    ),
)


def find_seeds(
    index: DeviceMinimizerIndex,
    minimizers: Minimizers,
    lengths: GpuArray,
    cutoff: int,
    options: SeedOptions,
) -> Seeds:
    """Find the seeds of n reads, as `hapgpu.longread.seed.seeds.find_seeds` does.

    Works on the current stream of the index's device, which must be the current device, and waits
    for it.

    Parameters
    ----------
    index
        Index on the device.
    minimizers
        Minimizers of n reads, on the device, with the options of the index.
    lengths
        int32[n] on the device: lengths of the reads in bases.
    cutoff
        Result of `repeat_cutoff`, at least 1.

    Returns
    -------
    Seeds
        In CuPy arrays.
    """
    cutoff = min(cutoff, _MAX_INT)
    is_frequent = _frequent(minimizers, cutoff, options.read_fraction)
    first_occurrences, occurrence_counts = _look_up(index, minimizers, is_frequent)
    steps = steps_of_runs(cutoff, options.occurrence_distance)
    seeds = _drop_repetitive(minimizers, occurrence_counts, lengths, cutoff, steps)
    found = (is_frequent, first_occurrences, occurrence_counts)
    arguments = (minimizer_fields(minimizers), *found, seed_fields(seeds))
    launch_threads(WRITE_SEEDS, _THREADS, lengths.size * WARP, arguments)
    return seeds


def _look_up(
    index: DeviceMinimizerIndex, minimizers: Minimizers, is_frequent: GpuArray
) -> tuple[GpuArray, GpuArray]:
    """Return the first occurrence, int64[m], and their number, int32[m], of each minimizer."""
    count = minimizers.keys.size
    first_occurrences = cupy.empty(count, dtype=np.int64)
    occurrence_counts = cupy.empty(count, dtype=np.int32)
    columns = (
        minimizers.keys,
        is_frequent,
        index.directory,
        index.entries,
        first_occurrences,
        occurrence_counts,
    )
    sizes = (count, index.directory.size - 1, index.distinct, index.directory_bits)
    launch_threads(LOOK_UP, _THREADS, count, (*columns, *sizes))
    return first_occurrences, occurrence_counts


def _drop_repetitive(
    minimizers: Minimizers,
    occurrence_counts: GpuArray,
    lengths: GpuArray,
    cutoff: int,
    steps: NDArray[np.int32],
) -> Seeds:
    """Negate the occurrence counts of dropped seeds; return arrays for the other seeds."""
    reads = lengths.size
    seed_counts = cupy.empty(reads + 1, dtype=np.int64)
    repeat_lengths = cupy.empty(reads, dtype=np.int32)
    columns = (minimizers.keys, minimizers.positions, minimizers.offsets, lengths)
    results = (occurrence_counts, seed_counts, repeat_lengths)
    sizes = (occurrence_counts.size, reads, cutoff, steps.size)
    launch_threads(
        *(DROP_REPETITIVE, _THREADS, reads * WARP),
        (*columns, cupy.asarray(steps), *results, *sizes),
    )
    return _new_seeds(seed_counts, repeat_lengths)


@functools.cache
def steps_of_runs(cutoff: int, distance: int) -> NDArray[np.int32]:
    """Return int32[s]: the fewest bases of a run of repetitive seeds to keep 1, 2, ... s seeds.

    With this table the device needs no division in double precision, whose rounding matters.

    Parameters
    ----------
    cutoff, distance
        As in `find_seeds`, and `SeedOptions.occurrence_distance`.

    Returns
    -------
    NDArray[np.int32]
        Empty if all repetitive seeds are dropped, even a single one.
    """
    if distance <= 0 or cutoff >= MAX_OCCURRENCES:
        return np.empty(0, dtype=np.int32)
    steps = []
    for kept in range(1, MAX_KEPT + 1):
        bases = max(int((kept - _ROUNDING) * distance) - 1, 0)
        while int(bases / distance + _ROUNDING) < kept:
            bases += 1
        steps.append(min(bases, _MAX_INT))
    return np.array(steps, dtype=np.int32)


def _frequent(minimizers: Minimizers, cutoff: int, fraction: float) -> GpuArray:
    """Return uint8[m]: 1 if the key of a minimizer is too frequent in its read to be looked up."""
    count, reads = minimizers.keys.size, minimizers.offsets.size - 1
    is_frequent = cupy.zeros(count, dtype=np.uint8)
    if fraction <= 0:
        return is_frequent
    columns = (minimizers.keys, minimizers.offsets, is_frequent)
    limits = (count, reads, cutoff, fraction)
    suspects = cupy.zeros(1, dtype=np.int32)
    launch_threads(SUSPECT_KEYS, _THREADS, reads * _THREADS, (*columns, suspects, *limits, 1))
    (suspect_count,) = last_values(suspects)
    if suspect_count:
        capacity = 1 << (2 * suspect_count - 1).bit_length()
        table = (cupy.zeros(capacity, dtype=np.uint32), cupy.zeros(capacity, dtype=np.int32))
        threads = reads * WARP
        launch_threads(
            COUNT_SUSPECTS, _THREADS, threads, (*columns, *table, count, reads, capacity)
        )
        launch_threads(CONFIRM_SUSPECTS, _THREADS, threads, (*columns, *table, *limits, capacity))
    return is_frequent


def _new_seeds(seed_counts: GpuArray, repeat_lengths: GpuArray) -> Seeds:
    """Return arrays for the seeds of all reads; row i + 1 of `seed_counts` is read i."""
    offsets = cupy.cumsum(seed_counts, dtype=np.int64)
    (total,) = last_values(offsets)
    return Seeds(
        positions=cupy.empty(total, dtype=np.uint32),
        spans=cupy.empty(total, dtype=np.uint8),
        is_tandem=cupy.empty(total, dtype=np.uint8),
        first_occurrences=cupy.empty(total, dtype=np.int64),
        occurrence_counts=cupy.empty(total, dtype=np.int32),
        offsets=offsets,
        repeat_lengths=repeat_lengths,
    )
