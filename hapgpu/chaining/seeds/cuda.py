"""Seeds of reads on a GPU (`cuda/chaining/seeds.cu`)."""

from __future__ import annotations

import functools
from typing import Any, Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.chaining.batches import Minimizers, Seeds
from hapgpu.chaining.index.cuda import DeviceMinimizerIndex
from hapgpu.chaining.options import SeedOptions
from hapgpu.chaining.seeds.repetitive_seeds import MAX_KEPT, MAX_OCCURRENCES
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads

_THREADS: Final = 256
_MAX_INT: Final = 2**31 - 1
_ROUNDING: Final = 0.499  # as in repeats.py

_KEYS = Array("keys", np.uint64, "minimizers")
_PLACES = Array("places", np.uint32, "minimizers")
_OFFSETS = Array("offsets", np.int64, "reads", 1)
_IS_FREQUENT = Array("is_frequent", np.uint8, "minimizers")
_TABLE = (Array("owners", np.uint32, "capacity"), Array("counts", np.int32, "capacity"))
_MINIMIZERS = Scalar("minimizers", np.int64)
_LIMIT = (Scalar("cutoff", np.int32), Scalar("fraction", np.float32))
_READS = Scalar("reads", np.int32)

SUSPECT_KEYS: Final = Kernel(
    "chaining/seeds.cu",
    "suspect_keys",
    (
        *(_KEYS, _OFFSETS, _IS_FREQUENT, Array("suspects", np.int32, "one")),
        *(_MINIMIZERS, _READS, *_LIMIT, Scalar("one", np.int32)),
    ),
)
COUNT_SUSPECTS: Final = Kernel(
    "chaining/seeds.cu",
    "count_suspects",
    (_KEYS, _OFFSETS, _IS_FREQUENT, *_TABLE, _MINIMIZERS, _READS, Scalar("capacity", np.int64)),
)
CONFIRM_SUSPECTS: Final = Kernel(
    "chaining/seeds.cu",
    "confirm_suspects",
    (
        *(_KEYS, _OFFSETS, _IS_FREQUENT, *_TABLE),
        *(_MINIMIZERS, _READS, *_LIMIT, Scalar("capacity", np.int64)),
    ),
)
LOOK_UP: Final = Kernel(
    "chaining/seeds.cu",
    "look_up",
    (
        _KEYS,
        _IS_FREQUENT,
        Array("directory", np.uint32, "buckets", 1),
        Array("entries", np.uint64, "distinct", 1, width=2),
        Array("first_hits", np.int64, "minimizers"),
        Array("hit_counts", np.int32, "minimizers"),
        _MINIMIZERS,
        Scalar("buckets", np.int64),
        Scalar("distinct", np.int64),
        Scalar("directory_bits", np.int32),
    ),
)
DROP_REPETITIVE: Final = Kernel(
    "chaining/seeds.cu",
    "drop_repetitive",
    (
        _KEYS,
        _PLACES,
        _OFFSETS,
        Array("lengths", np.int32, "reads"),
        Array("steps", np.int32, "step_count"),
        Array("hit_counts", np.int32, "minimizers"),
        Array("seed_counts", np.int64, "reads", 1),
        Array("repeat_lengths", np.int32, "reads"),
        _MINIMIZERS,
        _READS,
        Scalar("cutoff", np.int32),
        Scalar("step_count", np.int32),
    ),
)
WRITE_SEEDS: Final = Kernel(
    "chaining/seeds.cu",
    "write_seeds",
    (
        _KEYS,
        Array("minimizer_places", np.uint32, "minimizers"),
        _OFFSETS,
        _IS_FREQUENT,
        Array("minimizer_hits", np.int64, "minimizers"),
        Array("minimizer_hit_counts", np.int32, "minimizers"),
        Array("seed_offsets", np.int64, "reads", 1),
        Array("places", np.uint32, "seeds"),
        Array("spans", np.uint8, "seeds"),
        Array("is_tandem", np.uint8, "seeds"),
        Array("first_hits", np.int64, "seeds"),
        Array("hit_counts", np.int32, "seeds"),
        _MINIMIZERS,
        _READS,
        Scalar("seeds", np.int64),
    ),
)


def find_seeds(
    index: DeviceMinimizerIndex,
    minimizers: Minimizers,
    lengths: Any,
    cutoff: int,
    options: SeedOptions,
) -> Seeds:
    """Find the seeds of n reads, as `hapgpu.chaining.seeds.cpu.find_seeds` does.

    Works on the current stream of the device, which has to be the current one, and waits for it.

    Parameters
    ----------
    index
        On the device.
    minimizers
        Of n reads, on the device, made as those of the index were.
    lengths
        int32[n] on the device: bases of the reads.
    cutoff
        As `repeat_cutoff` gives it, at least 1.

    Returns
    -------
    Seeds
        In arrays of CuPy.
    """
    cutoff = min(cutoff, _MAX_INT)
    is_frequent = _frequent(minimizers, cutoff, options.read_fraction)
    first_hits, hit_counts = _look_up(index, minimizers, is_frequent)
    steps = steps_of_runs(cutoff, options.occurrence_distance)
    seeds = _drop_repetitive(minimizers, hit_counts, lengths, cutoff, steps)
    columns = (minimizers.keys, minimizers.places, minimizers.offsets)
    found = (is_frequent, first_hits, hit_counts, seeds.offsets)
    made = (seeds.places, seeds.spans, seeds.is_tandem, seeds.first_hits, seeds.hit_counts)
    sizes = (minimizers.keys.size, lengths.size, seeds.places.size)
    launch_threads(WRITE_SEEDS, _THREADS, lengths.size * WARP, (*columns, *found, *made, *sizes))
    return seeds


def _look_up(
    index: DeviceMinimizerIndex, minimizers: Minimizers, is_frequent: Any
) -> tuple[Any, Any]:
    """Return the first hit, int64[m], and number of hits, int32[m], of each minimizer."""
    count = minimizers.keys.size
    first_hits = cupy.empty(count, dtype=np.int64)
    hit_counts = cupy.empty(count, dtype=np.int32)
    columns = (minimizers.keys, is_frequent, index.directory, index.entries, first_hits, hit_counts)
    sizes = (count, index.directory.size - 1, index.distinct, index.directory_bits)
    launch_threads(LOOK_UP, _THREADS, count, (*columns, *sizes))
    return first_hits, hit_counts


def _drop_repetitive(
    minimizers: Minimizers, hit_counts: Any, lengths: Any, cutoff: int, steps: NDArray[np.int32]
) -> Seeds:
    """Make the hit counts of dropped seeds negative, and return room for the others."""
    reads = lengths.size
    seed_counts = cupy.empty(reads + 1, dtype=np.int64)
    repeat_lengths = cupy.empty(reads, dtype=np.int32)
    columns = (minimizers.keys, minimizers.places, minimizers.offsets, lengths)
    results = (hit_counts, seed_counts, repeat_lengths)
    sizes = (hit_counts.size, reads, cutoff, steps.size)
    launch_threads(
        *(DROP_REPETITIVE, _THREADS, reads * WARP),
        (*columns, cupy.asarray(steps), *results, *sizes),
    )
    return _room(seed_counts, repeat_lengths)


@functools.cache
def steps_of_runs(cutoff: int, distance: int) -> NDArray[np.int32]:
    """int32[s]: bases from which on one, two, ... seeds of a run of repetitive ones are kept.

    So the device needs no division in double precision, on whose rounding the number depends.

    Parameters
    ----------
    cutoff, distance
        As of `find_seeds` and of `SeedOptions.occurrence_distance`.

    Returns
    -------
    NDArray[np.int32]
        Empty if all repetitive seeds are to be dropped, even one that is alone.
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


def _frequent(minimizers: Minimizers, cutoff: int, fraction: float) -> Any:
    """uint8[m], 1 where the key of a minimizer is too frequent in its read to be looked up."""
    count, reads = minimizers.keys.size, minimizers.offsets.size - 1
    is_frequent = cupy.zeros(count, dtype=np.uint8)
    if fraction <= 0:
        return is_frequent
    columns = (minimizers.keys, minimizers.offsets, is_frequent)
    limits = (count, reads, cutoff, fraction)
    suspects = cupy.zeros(1, dtype=np.int32)
    launch_threads(SUSPECT_KEYS, _THREADS, reads * _THREADS, (*columns, suspects, *limits, 1))
    number = int(suspects[0])
    if number:
        capacity = 1 << (2 * number - 1).bit_length()
        table = (cupy.zeros(capacity, dtype=np.uint32), cupy.zeros(capacity, dtype=np.int32))
        threads = reads * WARP
        launch_threads(
            COUNT_SUSPECTS, _THREADS, threads, (*columns, *table, count, reads, capacity)
        )
        launch_threads(CONFIRM_SUSPECTS, _THREADS, threads, (*columns, *table, *limits, capacity))
    return is_frequent


def _room(seed_counts: Any, repeat_lengths: Any) -> Seeds:
    """Make arrays for the seeds of all reads, given how many each has, 0 before the first."""
    offsets = cupy.cumsum(seed_counts, dtype=np.int64)
    total = int(offsets[-1])
    return Seeds(
        places=cupy.empty(total, dtype=np.uint32),
        spans=cupy.empty(total, dtype=np.uint8),
        is_tandem=cupy.empty(total, dtype=np.uint8),
        first_hits=cupy.empty(total, dtype=np.int64),
        hit_counts=cupy.empty(total, dtype=np.int32),
        offsets=offsets,
        repeat_lengths=repeat_lengths,
    )
