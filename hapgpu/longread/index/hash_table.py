"""Hash table of a minimizer index: minimizers of a reference, grouped by hash.

The grouping is a stable radix sort: the occurrences of a hash keep the order of the reference, so
they need no sort of their own. The first pass distributes to parts, the second, within a part, to
buckets that fit a core's cache. Memory that a pass has read for the last time is given back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.large_arrays import give_back
from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_view import last_at_most
from hapgpu.longread.batches import Minimizers
from hapgpu.longread.index.minimizer_index import MIX
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool

LAST_KEY: Final = 2**64 - 1
"""Larger than `hash * MIX` of every k-mer."""

_PIECE: Final = 1 << 19
"""Minimizers that are distributed at a time; then their memory is given back."""
_PART_SIZE_BITS: Final = 21
_MIN_PART_BITS: Final = 6  # a part is sorted by one thread
_MAX_PART_BITS: Final = 8
_BUCKET_SIZE_BITS: Final = 11
_MAX_BUCKET_BITS: Final = 12  # writing to more buckets at a time would be slower
_DIGIT_BITS: Final = 8
_DIGITS: Final = 1 << _DIGIT_BITS
_USUAL_BITS: Final = 3 * _DIGIT_BITS  # below the bucket's bits; sorting by more is seldom needed
"""An odd number of digits: buckets are sorted from spare memory to their own."""
_KEY_BITS: Final = 64
_MIX = np.uint64(MIX)
_1, _2 = np.uint64(1), np.uint64(2)
_SPAN_BITS, _SEQUENCE_SHIFT = np.uint64(8), np.uint64(32)


@dataclass(frozen=True, slots=True)
class MinimizerBatch:
    """Minimizers of consecutive sequences; the first sequence has the number `first`."""

    first: int
    minimizers: Minimizers


@dataclass(frozen=True, slots=True)
class GroupedMinimizers:
    """All h minimizers of a reference, by `hash * MIX`, then by position on the reference.

    Attributes
    ----------
    mixed
        uint64[h], ascending: `hash * MIX`.
    occurrences
        uint64[h]: sequence << 32 | position << 1 | strand.
    bounds
        int64[p + 1]: bounds of p parts, at which `mixed` changes.
    distinct
        int64[p]: different values of `mixed` in each part.
    """

    mixed: NDArray[np.uint64]
    occurrences: NDArray[np.uint64]
    bounds: NDArray[np.int64]
    distinct: NDArray[np.int64]


def group_by_hash(batches: Sequence[MinimizerBatch], pool: Pool) -> GroupedMinimizers:
    """Sort minimizers by `hash * MIX`, then by position on the reference.

    Parameters
    ----------
    batches
        Batches of all sequences, in order; their keys and positions are lost.
    pool
        Threads to use.
    """
    total = sum(batch.minimizers.keys.size for batch in batches)
    bits = min(max(total.bit_length() - _PART_SIZE_BITS, _MIN_PART_BITS), _MAX_PART_BITS)
    mixed, occurrences = np.empty(total, dtype=np.uint64), np.empty(total, dtype=np.uint64)
    bounds = _to_parts(batches, bits, mixed, occurrences, pool)
    bucket_bits = max(total.bit_length() - bits - _BUCKET_SIZE_BITS, 0)
    shift = _KEY_BITS - bits - min(bucket_bits, _MAX_BUCKET_BITS)
    distinct = np.zeros(1 << bits, dtype=np.int64)

    def sort(first: int, last: int) -> None:
        rows = int(np.diff(bounds[first : last + 1]).max(initial=0))
        spare = np.empty((2, rows), dtype=np.uint64)
        ends = np.empty(1 << (_KEY_BITS - bits - shift), dtype=np.int64)
        _sort_parts(
            *(mixed, occurrences, bounds, first, last, shift),
            *(ends, spare[0], spare[1], distinct),
        )
        give_back(spare)

    pool.over_rows(sort, distinct.size)
    return GroupedMinimizers(mixed, occurrences, bounds, distinct)


def _to_parts(
    batches: Sequence[MinimizerBatch],
    bits: int,
    mixed: NDArray[np.uint64],
    occurrences: NDArray[np.uint64],
    pool: Pool,
) -> NDArray[np.int64]:
    """Distribute minimizers by the highest `bits` of `hash * MIX`; return the parts' bounds."""
    pieces = list(_pieces(batches))
    counts = np.zeros((len(pieces), 1 << bits), dtype=np.int64)

    def count(row: int, batch: MinimizerBatch, start: int, end: int) -> None:
        _count_parts(batch.minimizers.keys, start, end, bits, counts[row])

    pool.results([pool.submit(count, i, *piece) for i, piece in enumerate(pieces)])
    bounds = offsets_of(counts.T.reshape(-1))
    starts = bounds[:-1].reshape(1 << bits, len(pieces)).T.copy()  # advanced while distributing

    def distribute(row: int, batch: MinimizerBatch, start: int, end: int) -> None:
        keys, positions = batch.minimizers.keys, batch.minimizers.positions
        _distribute(
            *(keys, positions, batch.minimizers.offsets, batch.first, start, end),
            *(bits, starts[row], mixed, occurrences),
        )
        give_back(keys[start:end])
        give_back(positions[start:end])

    pool.results([pool.submit(distribute, i, *piece) for i, piece in enumerate(pieces)])
    return bounds[:: len(pieces)].copy()


def _pieces(batches: Sequence[MinimizerBatch]) -> Iterator[tuple[MinimizerBatch, int, int]]:
    """Cut each batch into at least one piece."""
    for batch in batches:
        for start in range(0, max(batch.minimizers.keys.size, 1), _PIECE):
            yield batch, start, min(start + _PIECE, batch.minimizers.keys.size)


def table_of(
    grouped: GroupedMinimizers, pool: Pool
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], int]:
    """Return `entries`, uint64, `directory`, uint32, and bits of it, of a `MinimizerIndex`.

    Parameters
    ----------
    grouped
        All minimizers; `mixed` is lost.
    pool
        Its threads fill the table, each a part of it.
    """
    mixed, bounds = grouped.mixed, grouped.bounds
    firsts = offsets_of(grouped.distinct)
    distinct = int(firsts[-1])
    entries = np.empty(2 * (distinct + 1), dtype=np.uint64)
    entries[2 * distinct], entries[2 * distinct + 1] = LAST_KEY, mixed.size

    def fill_entries(first: int, last: int) -> None:
        for part in range(first, last):
            start, end = int(bounds[part]), int(bounds[part + 1])
            _fill_entries(mixed, start, end, int(firsts[part]), entries)
            give_back(mixed[start:end])

    pool.over_rows(fill_entries, grouped.distinct.size)
    bits = max(distinct.bit_length(), 1)
    directory = np.empty((1 << bits) + 1, dtype=np.uint32)
    fill_directory = partial(_fill_directory, directory, bits, entries)
    pool.over_rows(fill_directory, distinct)
    last = int(entries[2 * distinct - 2]) >> (_KEY_BITS - bits) if distinct else -1
    directory[last + 1 :] = distinct
    return entries, directory, bits


@njit
def _count_parts(
    keys: NDArray[np.uint64], start: int, end: int, bits: int, counts: NDArray[np.int64]
) -> None:
    """Count the keys from `start` to `end` per part."""
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
    """Write the minimizers from `start` to `end` to their parts, from row `starts` on."""
    shift = np.uint64(_KEY_BITS - bits)
    row = last_at_most(offsets, offsets.size, start)
    for i in range(start, end):
        while offsets[row + 1] <= i:
            row += 1
        key = (keys[np.uint64(i)] >> _SPAN_BITS) * _MIX
        part = key >> shift
        to = np.uint64(starts[part])
        starts[part] += 1
        mixed[to] = key
        occurrences[to] = np.uint64(first + row) << _SEQUENCE_SHIFT | np.uint64(
            positions[np.uint64(i)]
        )


@njit
def _sort_parts(
    mixed: NDArray[np.uint64],
    occurrences: NDArray[np.uint64],
    bounds: NDArray[np.int64],
    first: int,
    last: int,
    shift: int,
    ends: NDArray[np.int64],
    spare_mixed: NDArray[np.uint64],
    spare_occurrences: NDArray[np.uint64],
    distinct: NDArray[np.int64],
) -> None:
    """Sort the parts from `first` to `last`, and add the different keys of each to `distinct`.

    Parameters
    ----------
    shift
        Bits of a key below the bits of its part and its bucket.
    ends
        int64[b], for the end of each bucket of a part.
    spare_mixed, spare_occurrences
        uint64, at least the rows of the largest part.
    """
    counts = np.empty(_DIGITS, np.int64)
    for part in range(first, last):
        rows = slice(bounds[part], bounds[part + 1])
        keys, values = mixed[rows], occurrences[rows]
        _pass(
            *(keys, values, np.int64(0), np.int64(keys.size), np.int64(shift), ends),
            *(spare_mixed, spare_occurrences),
        )
        start = np.int64(0)
        for bucket in range(ends.size):
            end = ends[bucket]
            if start < end:
                _sort_bucket(
                    *(keys, values, start, end, np.int64(shift), counts),
                    *(spare_mixed, spare_occurrences),
                )
                distinct[part] += _count_distinct(keys, start, end)
            start = end


@njit
def _sort_bucket(
    mixed: NDArray[np.uint64],
    occurrences: NDArray[np.uint64],
    start: Integer,
    end: Integer,
    shift: Integer,
    counts: NDArray[np.int64],
    spare_mixed: NDArray[np.uint64],
    spare_occurrences: NDArray[np.uint64],
) -> None:
    """Sort the rows from `start` to `end`, which are in the spare arrays, to the same rows.

    Their keys agree from bit `shift` on.
    """
    _sort_by_bits(
        *(spare_mixed, spare_occurrences, start, end, shift - _USUAL_BITS, shift, counts),
        *(mixed, occurrences),
    )
    if not _is_ascending(mixed, start, end):
        _sort_by_bits(
            *(mixed, occurrences, start, end, np.int64(0), np.int64(_KEY_BITS), counts),
            *(spare_mixed, spare_occurrences),
        )


@njit
def _sort_by_bits(
    mixed: NDArray[np.uint64],
    occurrences: NDArray[np.uint64],
    start: Integer,
    end: Integer,
    low: Integer,
    high: Integer,
    counts: NDArray[np.int64],
    other_mixed: NDArray[np.uint64],
    other_occurrences: NDArray[np.uint64],
) -> None:
    """Sort rows stably by the bits from `low` to `high`.

    The result is in the other arrays if the number of digits is odd.
    """
    source, source_occurrences = mixed, occurrences
    target, target_occurrences = other_mixed, other_occurrences
    for shift in range(low, high, _DIGIT_BITS):
        _pass(
            *(source, source_occurrences, start, end, shift, counts),
            *(target, target_occurrences),
        )
        source, target = target, source
        source_occurrences, target_occurrences = target_occurrences, source_occurrences


@njit
def _pass(
    mixed: NDArray[np.uint64],
    occurrences: NDArray[np.uint64],
    start: Integer,
    end: Integer,
    shift: Integer,
    counts: NDArray[np.int64],
    to_mixed: NDArray[np.uint64],
    to_occurrences: NDArray[np.uint64],
) -> None:
    """Copy rows to the same rows of other arrays, sorted stably by one digit.

    A digit is a number below the size of `counts`, a power of two, above `shift` bits. Its count
    becomes the end of its rows.
    """
    right, last_digit = np.uint64(shift), np.uint64(counts.size - 1)
    for digit in range(counts.size):
        counts[digit] = 0
    for i in range(np.uint64(start), np.uint64(end)):
        counts[mixed[i] >> right & last_digit] += 1
    row = start
    for digit in range(counts.size):
        count = counts[digit]
        counts[digit] = row
        row += count
    for i in range(np.uint64(start), np.uint64(end)):
        key = mixed[i]
        digit = key >> right & last_digit
        to = np.uint64(counts[digit])
        counts[digit] += 1
        to_mixed[to], to_occurrences[to] = key, occurrences[i]


@njit
def _is_ascending(mixed: NDArray[np.uint64], start: Integer, end: Integer) -> bool:
    falls = 0
    for i in range(np.uint64(start) + _1, np.uint64(end)):
        falls += mixed[i] < mixed[i - _1]
    return falls == 0


@njit
def _count_distinct(mixed: NDArray[np.uint64], start: Integer, end: Integer) -> Integer:
    """Count the different values of ascending rows, at least one."""
    distinct = np.int64(1)
    for i in range(np.uint64(start) + _1, np.uint64(end)):
        distinct += mixed[i] != mixed[i - _1]
    return distinct


@njit
def _fill_entries(
    mixed: NDArray[np.uint64], start: int, end: int, first: int, entries: NDArray[np.uint64]
) -> None:
    """Fill `entries`, from entry `first` on, with the occurrences from `start` to `end`."""
    to = _2 * np.uint64(first)
    for i in range(np.uint64(start), np.uint64(end)):
        if i == np.uint64(start) or mixed[i] != mixed[i - _1]:
            entries[to], entries[to + _1] = mixed[i], i
            to += _2


@njit
def _fill_directory(
    directory: NDArray[np.uint32], bits: int, entries: NDArray[np.uint64], start: int, end: int
) -> None:
    """Fill `directory` up to the last of the entries from `start` to `end`."""
    shift = np.uint64(_KEY_BITS - bits)
    filled = np.int64(entries[2 * start - 2] >> shift) + 1 if start > 0 else np.int64(0)
    for entry in range(start, end):
        bucket = np.int64(entries[np.uint64(2 * entry)] >> shift)
        while filled <= bucket:
            directory[np.uint64(filled)] = entry
            filled += 1
