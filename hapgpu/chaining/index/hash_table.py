"""Minimizers of a reference grouped by their hashes, in compiled loops.

Equal hashes come together and keep the order of the reference, so that the places of each need
not be sorted: all of it is a stable radix sort. Its first pass deals to buckets small enough that
the others stay within a core's cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_view import last_at_most
from hapgpu.chaining.batches import Minimizers
from hapgpu.chaining.index.minimizer_index import MIX
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool

LAST_KEY: Final = 2**64 - 1
"""Above `hash * MIX` of every k-mer."""

_MIN_PIECE: Final = 1 << 18
_BUCKET_SIZE_BITS: Final = 12
_MAX_BUCKET_BITS: Final = 14  # more places to write to at a time would be slower
_DIGIT_BITS: Final = 8
_DIGITS: Final = 1 << _DIGIT_BITS
_USUAL_BITS: Final = 32  # behind those of the bucket: these seldom leave two keys unordered
_KEY_BITS: Final = 64
_MIX = np.uint64(MIX)
_SPAN_BITS, _SEQUENCE_SHIFT, _LAST_DIGIT = map(np.uint64, (8, 32, _DIGITS - 1))


@dataclass(frozen=True, slots=True)
class Part:
    """Minimizers of some sequences in a row, of which the first has the number `first`."""

    first: int
    minimizers: Minimizers


def group_by_hash(
    parts: Sequence[Part], pool: Pool
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Sort minimizers by `hash * MIX`, those of one hash by their places.

    Parameters
    ----------
    parts
        Of all sequences, in order.
    pool
        The threads to use.

    Returns
    -------
    uint64[h] with `hash * MIX`, and uint64[h] with sequence << 32 | position << 1 | strand.
    """
    total = sum(part.minimizers.keys.size for part in parts)
    bits = min(max(total.bit_length() - _BUCKET_SIZE_BITS, 1), _MAX_BUCKET_BITS)
    pieces = list(_pieces(parts, total // pool.threads))
    counts = np.zeros((len(pieces), 1 << bits), dtype=np.int64)

    def count(row: int, part: Part, begin: int, end: int) -> None:
        _count_buckets(part.minimizers.keys, begin, end, bits, counts[row])

    pool.results([pool.submit(count, i, *piece) for i, piece in enumerate(pieces)])
    bounds = offsets_of(counts.T.reshape(-1))
    starts = bounds[:-1].reshape(1 << bits, len(pieces)).T.copy()  # which dealing moves
    mixed, hits = np.empty(total, dtype=np.uint64), np.empty(total, dtype=np.uint64)

    def deal(row: int, part: Part, begin: int, end: int) -> None:
        columns = part.minimizers
        _deal(
            *(columns.keys, columns.places, columns.offsets, part.first, begin, end),
            *(bits, starts[row], mixed, hits),
        )

    pool.results([pool.submit(deal, i, *piece) for i, piece in enumerate(pieces)])

    def sort(first: int, last: int) -> None:
        _sort_buckets(mixed, hits, bounds[:: len(pieces)], first, last, bits)

    pool.over_rows(sort, 1 << bits)
    return mixed, hits


def _pieces(parts: Sequence[Part], size: int) -> Iterator[tuple[Part, int, int]]:
    """Cut parts into at least one piece each, of at most so many minimizers."""
    size = max(size, _MIN_PIECE)
    for part in parts:
        for begin in range(0, max(part.minimizers.keys.size, 1), size):
            yield part, begin, min(begin + size, part.minimizers.keys.size)


def table_of(
    mixed: NDArray[np.uint64],
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], int]:
    """Make `entries`, `directory` and `directory_bits` of a `MinimizerIndex`.

    Parameters
    ----------
    mixed
        uint64[h], ascending: `hash * MIX` of each hit.
    """
    distinct = _count_distinct(mixed)
    bits = max(distinct.bit_length(), 1)
    entries = np.empty(2 * (distinct + 1), dtype=np.uint64)
    directory = np.empty((1 << bits) + 1, dtype=np.uint32)
    _fill_table(mixed, entries, directory, bits)
    return entries, directory, bits


@njit
def _count_buckets(
    keys: NDArray[np.uint64], begin: int, end: int, bits: int, counts: NDArray[np.int64]
) -> None:
    """Count the keys from `begin` to `end` in each bucket."""
    shift = np.uint64(_KEY_BITS - bits)
    for i in range(begin, end):
        counts[(keys[np.uint64(i)] >> _SPAN_BITS) * _MIX >> shift] += 1


@njit
def _deal(  # noqa: PLR0913, PLR0917  (compiled code takes no keywords)
    keys: NDArray[np.uint64],
    places: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    first: int,
    begin: int,
    end: int,
    bits: int,
    starts: NDArray[np.int64],
    mixed: NDArray[np.uint64],
    hits: NDArray[np.uint64],
) -> None:
    """Write minimizers from `begin` to `end` to their buckets, which are filled from `starts`."""
    shift = np.uint64(_KEY_BITS - bits)
    row = last_at_most(offsets, offsets.size, begin)
    for i in range(begin, end):
        while offsets[row + 1] <= i:
            row += 1
        key = (keys[np.uint64(i)] >> _SPAN_BITS) * _MIX
        bucket = key >> shift
        to = np.uint64(starts[bucket])
        starts[bucket] += 1
        mixed[to] = key
        hits[to] = np.uint64(first + row) << _SEQUENCE_SHIFT | np.uint64(places[np.uint64(i)])


@njit
def _sort_buckets(
    mixed: NDArray[np.uint64],
    hits: NDArray[np.uint64],
    bounds: NDArray[np.int64],
    first: int,
    last: int,
    bits: int,
) -> None:
    """Sort the buckets from `first` to `last`, in which the highest `bits` of the keys agree."""
    largest = np.int64(0)
    for bucket in range(first, last):
        largest = max(largest, bounds[bucket + 1] - bounds[bucket])
    spare_mixed, spare_hits = np.empty(largest, np.uint64), np.empty(largest, np.uint64)
    counts = np.empty(_DIGITS, np.int64)
    rest = _KEY_BITS - bits
    for bucket in range(first, last):
        begin, end = bounds[bucket], bounds[bucket + 1]
        low, high = rest - _USUAL_BITS, rest
        while not _is_ascending(mixed, begin, end):
            _sort_by_bits(mixed, hits, begin, end, low, high, spare_mixed, spare_hits, counts)
            low, high = 0, _KEY_BITS


@njit
def _sort_by_bits(  # noqa: PLR0913, PLR0917  (compiled code takes no keywords)
    mixed: NDArray[np.uint64],
    hits: NDArray[np.uint64],
    begin: Integer,
    end: Integer,
    low: Integer,
    high: Integer,
    spare_mixed: NDArray[np.uint64],
    spare_hits: NDArray[np.uint64],
    counts: NDArray[np.int64],
) -> None:
    """Sort stably by the bits from `low` to `high`, an even number of digits."""
    source, source_hits, at = mixed, hits, begin
    target, target_hits, to = spare_mixed, spare_hits, np.int64(0)
    for shift in range(low, high, _DIGIT_BITS):
        _pass(source, source_hits, at, end - begin, shift, target, target_hits, to, counts)
        source, target = target, source
        source_hits, target_hits = target_hits, source_hits
        at, to = to, at


@njit
def _pass(  # noqa: PLR0913, PLR0917  (compiled code takes no keywords)
    mixed: NDArray[np.uint64],
    hits: NDArray[np.uint64],
    begin: Integer,
    size: Integer,
    shift: Integer,
    to_mixed: NDArray[np.uint64],
    to_hits: NDArray[np.uint64],
    to: Integer,
    counts: NDArray[np.int64],
) -> None:
    """Copy `size` keys with their hits to another place, sorted stably by one digit."""
    right = np.uint64(shift)
    for digit in range(_DIGITS):
        counts[digit] = 0
    for i in range(begin, begin + size):
        counts[mixed[np.uint64(i)] >> right & _LAST_DIGIT] += 1
    place = to
    for digit in range(_DIGITS):
        here = counts[digit]
        counts[digit] = place
        place += here
    for i in range(begin, begin + size):
        key = mixed[np.uint64(i)]
        digit = key >> right & _LAST_DIGIT
        target = np.uint64(counts[digit])
        counts[digit] += 1
        to_mixed[target], to_hits[target] = key, hits[np.uint64(i)]


@njit
def _is_ascending(mixed: NDArray[np.uint64], begin: Integer, end: Integer) -> bool:
    falls = 0
    for i in range(begin + 1, end):
        falls += mixed[np.uint64(i)] < mixed[np.uint64(i - 1)]
    return falls == 0


@njit
def _count_distinct(mixed: NDArray[np.uint64]) -> int:
    distinct = min(mixed.size, 1)
    for i in range(1, mixed.size):
        distinct += mixed[i] != mixed[i - 1]
    return distinct


@njit
def _fill_table(
    mixed: NDArray[np.uint64],
    entries: NDArray[np.uint64],
    directory: NDArray[np.uint32],
    bits: int,
) -> None:
    """Fill entries and directory of a `MinimizerIndex`."""
    shift = np.uint64(_KEY_BITS - bits)
    entry, begun = np.int64(-1), np.int64(0)
    for i in range(mixed.size):
        if i and mixed[i] == mixed[i - 1]:
            continue
        entry += 1
        entries[2 * entry], entries[2 * entry + 1] = mixed[i], i
        while begun <= np.int64(mixed[i] >> shift):
            directory[begun] = entry
            begun += 1
    entries[2 * entry + 2], entries[2 * entry + 3] = np.uint64(LAST_KEY), mixed.size
    while begun < directory.size:
        directory[begun] = entry + 1
        begun += 1
