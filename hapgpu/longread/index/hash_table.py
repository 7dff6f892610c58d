"""Hash table of a minimizer index: minimizers of a reference, grouped by hash.

The grouping is a stable radix sort: the occurrences of a hash keep the order of the reference, so
they need no sort of their own. The first pass distributes to buckets that fit a core's cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_view import last_at_most
from hapgpu.longread.batches import Minimizers
from hapgpu.longread.index.minimizer_index import MIX
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool

LAST_KEY: Final = 2**64 - 1
"""Larger than `hash * MIX` of every k-mer."""

_MIN_PIECE: Final = 1 << 18
_BUCKET_SIZE_BITS: Final = 12
_MAX_BUCKET_BITS: Final = 14  # writing to more buckets at a time would be slower
_DIGIT_BITS: Final = 8
_DIGITS: Final = 1 << _DIGIT_BITS
_USUAL_BITS: Final = 32  # below the bucket's bits; sorting by more is seldom needed
_KEY_BITS: Final = 64
_MIX = np.uint64(MIX)
_SPAN_BITS, _SEQUENCE_SHIFT, _LAST_DIGIT = map(np.uint64, (8, 32, _DIGITS - 1))


@dataclass(frozen=True, slots=True)
class MinimizerBatch:
    """Minimizers of consecutive sequences; the first sequence has the number `first`."""

    first: int
    minimizers: Minimizers


def group_by_hash(
    batches: Sequence[MinimizerBatch], pool: Pool
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Sort minimizers by `hash * MIX`, then by position on the reference.

    Parameters
    ----------
    batches
        Batches of all sequences, in order.
    pool
        Threads to use.

    Returns
    -------
    uint64[h]: `hash * MIX`; and uint64[h]: sequence << 32 | position << 1 | strand.
    """
    total = sum(batch.minimizers.keys.size for batch in batches)
    bits = min(max(total.bit_length() - _BUCKET_SIZE_BITS, 1), _MAX_BUCKET_BITS)
    pieces = list(_pieces(batches, total // pool.threads))
    counts = np.zeros((len(pieces), 1 << bits), dtype=np.int64)

    def count(row: int, batch: MinimizerBatch, start: int, end: int) -> None:
        _count_buckets(batch.minimizers.keys, start, end, bits, counts[row])

    pool.results([pool.submit(count, i, *piece) for i, piece in enumerate(pieces)])
    bounds = offsets_of(counts.T.reshape(-1))
    starts = bounds[:-1].reshape(1 << bits, len(pieces)).T.copy()  # advanced while distributing
    mixed, occurrences = np.empty(total, dtype=np.uint64), np.empty(total, dtype=np.uint64)

    def distribute(row: int, batch: MinimizerBatch, start: int, end: int) -> None:
        columns = batch.minimizers
        _distribute(
            *(columns.keys, columns.positions, columns.offsets, batch.first, start, end),
            *(bits, starts[row], mixed, occurrences),
        )

    pool.results([pool.submit(distribute, i, *piece) for i, piece in enumerate(pieces)])

    def sort(first: int, last: int) -> None:
        _sort_buckets(mixed, occurrences, bounds[:: len(pieces)], first, last, bits)

    pool.over_rows(sort, 1 << bits)
    return mixed, occurrences


def _pieces(
    batches: Sequence[MinimizerBatch], size: int
) -> Iterator[tuple[MinimizerBatch, int, int]]:
    """Cut each batch into at least one piece of at most `size` minimizers."""
    size = max(size, _MIN_PIECE)
    for batch in batches:
        for start in range(0, max(batch.minimizers.keys.size, 1), size):
            yield batch, start, min(start + size, batch.minimizers.keys.size)


def table_of(
    mixed: NDArray[np.uint64], pool: Pool
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], int]:
    """Return `entries`, `directory` and `directory_bits` of a `MinimizerIndex`.

    Parameters
    ----------
    mixed
        uint64[h], ascending: `hash * MIX` of each occurrence.
    pool
        Its threads fill the table, each a part of it.
    """
    counts = pool.over_rows(partial(_distinct_from, mixed), mixed.size)
    distinct = sum(count for _, count in counts)
    firsts, first = {}, 0
    for start, count in counts:
        firsts[start], first = first, first + count
    bits = max(distinct.bit_length(), 1)
    entries = np.empty(2 * (distinct + 1), dtype=np.uint64)
    directory = np.empty((1 << bits) + 1, dtype=np.uint32)
    entries[2 * distinct], entries[2 * distinct + 1] = LAST_KEY, mixed.size

    def fill(start: int, end: int) -> None:
        _fill_table(mixed, start, end, firsts[start], entries, directory, bits)

    pool.over_rows(fill, mixed.size)
    last = int(mixed[-1] >> np.uint64(_KEY_BITS - bits)) if mixed.size else -1
    directory[last + 1 :] = distinct
    return entries, directory, bits


@njit
def _count_buckets(
    keys: NDArray[np.uint64], start: int, end: int, bits: int, counts: NDArray[np.int64]
) -> None:
    """Count the keys from `start` to `end` per bucket."""
    shift = np.uint64(_KEY_BITS - bits)
    for i in range(start, end):
        counts[(keys[np.uint64(i)] >> _SPAN_BITS) * _MIX >> shift] += 1


@njit
def _distribute(
    keys: NDArray[np.uint64],
    positions: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    first: int,
    start: int,
    end: int,
    bits: int,
    starts: NDArray[np.int64],
    mixed: NDArray[np.uint64],
    occurrences: NDArray[np.uint64],
) -> None:
    """Write the minimizers from `start` to `end` to their buckets, from row `starts` on."""
    shift = np.uint64(_KEY_BITS - bits)
    row = last_at_most(offsets, offsets.size, start)
    for i in range(start, end):
        while offsets[row + 1] <= i:
            row += 1
        key = (keys[np.uint64(i)] >> _SPAN_BITS) * _MIX
        bucket = key >> shift
        to = np.uint64(starts[bucket])
        starts[bucket] += 1
        mixed[to] = key
        occurrences[to] = np.uint64(first + row) << _SEQUENCE_SHIFT | np.uint64(
            positions[np.uint64(i)]
        )


@njit
def _sort_buckets(
    mixed: NDArray[np.uint64],
    occurrences: NDArray[np.uint64],
    bounds: NDArray[np.int64],
    first: int,
    last: int,
    bits: int,
) -> None:
    """Sort the buckets from `first` to `last`; within one, the highest `bits` of the keys agree."""
    largest = np.int64(0)
    for bucket in range(first, last):
        largest = max(largest, bounds[bucket + 1] - bounds[bucket])
    spare_mixed, spare_occurrences = np.empty(largest, np.uint64), np.empty(largest, np.uint64)
    counts = np.empty(_DIGITS, np.int64)
    rest = _KEY_BITS - bits
    for bucket in range(first, last):
        start, end = bounds[bucket], bounds[bucket + 1]
        low, high = rest - _USUAL_BITS, rest
        while not _is_ascending(mixed, start, end):
            _sort_by_bits(
                mixed, occurrences, start, end, low, high, spare_mixed, spare_occurrences, counts
            )
            low, high = 0, _KEY_BITS


@njit
def _sort_by_bits(
    mixed: NDArray[np.uint64],
    occurrences: NDArray[np.uint64],
    start: Integer,
    end: Integer,
    low: Integer,
    high: Integer,
    spare_mixed: NDArray[np.uint64],
    spare_occurrences: NDArray[np.uint64],
    counts: NDArray[np.int64],
) -> None:
    """Sort stably by the bits from `low` to `high`, which are an even number of digits."""
    source, source_occurrences, at = mixed, occurrences, start
    target, target_occurrences, to = spare_mixed, spare_occurrences, np.int64(0)
    for shift in range(low, high, _DIGIT_BITS):
        _pass(
            source,
            source_occurrences,
            at,
            end - start,
            shift,
            target,
            target_occurrences,
            to,
            counts,
        )
        source, target = target, source
        source_occurrences, target_occurrences = target_occurrences, source_occurrences
        at, to = to, at


@njit
def _pass(
    mixed: NDArray[np.uint64],
    occurrences: NDArray[np.uint64],
    start: Integer,
    size: Integer,
    shift: Integer,
    to_mixed: NDArray[np.uint64],
    to_occurrences: NDArray[np.uint64],
    to: Integer,
    counts: NDArray[np.int64],
) -> None:
    """Copy `size` keys with their occurrences to row `to` on, sorted stably by one digit."""
    right = np.uint64(shift)
    for digit in range(_DIGITS):
        counts[digit] = 0
    for i in range(start, start + size):
        counts[mixed[np.uint64(i)] >> right & _LAST_DIGIT] += 1
    row = to
    for digit in range(_DIGITS):
        count = counts[digit]
        counts[digit] = row
        row += count
    for i in range(start, start + size):
        key = mixed[np.uint64(i)]
        digit = key >> right & _LAST_DIGIT
        target = np.uint64(counts[digit])
        counts[digit] += 1
        to_mixed[target], to_occurrences[target] = key, occurrences[np.uint64(i)]


@njit
def _is_ascending(mixed: NDArray[np.uint64], start: Integer, end: Integer) -> bool:
    falls = 0
    for i in range(start + 1, end):
        falls += mixed[np.uint64(i)] < mixed[np.uint64(i - 1)]
    return falls == 0


def _distinct_from(mixed: NDArray[np.uint64], start: int, end: int) -> tuple[int, int]:
    """Return `start`, and how many values differ from the value before, from there to `end`."""
    return start, int(_count_distinct(mixed, start, end))


@njit
def _count_distinct(mixed: NDArray[np.uint64], start: Integer, end: Integer) -> Integer:
    """Count the values from start to end that differ from the value before."""
    distinct = 0
    for i in range(start, end):
        distinct += i == 0 or mixed[i] != mixed[i - 1]
    return distinct


@njit
def _fill_table(
    mixed: NDArray[np.uint64],
    start: Integer,
    end: Integer,
    first: Integer,
    entries: NDArray[np.uint64],
    directory: NDArray[np.uint32],
    bits: int,
) -> None:
    """Fill `entries`, from `first` on, and `directory` with the occurrences from start to end."""
    shift = np.uint64(_KEY_BITS - bits)
    entry = np.int64(first)
    filled = np.int64(mixed[start - 1] >> shift) + 1 if start > 0 else np.int64(0)
    for i in range(start, end):
        if i > 0 and mixed[i] == mixed[i - 1]:
            continue
        entries[2 * entry], entries[2 * entry + 1] = mixed[i], i
        while filled <= np.int64(mixed[i] >> shift):
            directory[filled] = entry
            filled += 1
        entry += 1
