"""Combinations of alleles: an option of each group of a set of groups."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of, with_room
from hapgpu.haplotypes.batches import PhaseGroups
from hapgpu.haplotypes.sites.trimmed_alleles import TrimmedAlleles, changes_nothing
from hapgpu.runtime.jit import njit

_MAX_VISITED: Final = 16
"""Combinations visited per combination that may be kept; matters if many options conflict."""


# With a plain 0, functions would be compiled twice: for 0, and for other numbers.
_0 = np.int64(0)


class Combinations(NamedTuple):
    """Sets of alleles that can combine on one haplotype, locus by locus, at least one per locus.

    Attributes
    ----------
    offsets
        int64[l + 1]: the combinations of locus k are rows `offsets[k]` to `offsets[k + 1]`.
    alleles
        int32 rows: the alleles that change the reference, ordered by position.
    """

    offsets: NDArray[np.int64]
    alleles: RaggedView


class _Groups(NamedTuple):
    """`PhaseGroups` for compiled code."""

    loci: NDArray[np.int64]
    group_offsets: NDArray[np.int64]
    option_offsets: NDArray[np.int64]
    options: RaggedView


class _Items(NamedTuple):
    """The options of a set of groups, except the base options.

    Attributes
    ----------
    groups, options
        int64: group and option of each item.
    following
        int64: the first item of the groups after the group of each item.
    chosen
        int64: chosen items, at most one per group, ascending.
    """

    groups: NDArray[np.int64]
    options: NDArray[np.int64]
    following: NDArray[np.int64]
    chosen: NDArray[np.int64]


class _Kept(NamedTuple):
    """The first `used` combinations; the arrays may be larger."""

    used: int
    offsets: NDArray[np.int64]
    alleles: NDArray[np.int32]


def combinations_of(
    phase_groups: PhaseGroups, loci: int, trimmed: TrimmedAlleles, max_combinations: int
) -> Combinations:
    """Combine the options of the groups of each set.

    Combinations are sorted by the number of groups that do not take their base option, then by the
    first such (group, option), then by the second, and so on. Combinations of conflicting alleles
    are excluded. All combinations with at most one such group are kept; with two or more, no
    further ones once `max_combinations` are kept or `16 * max_combinations` were visited. (A set
    with at most `max_combinations` combinations therefore has all of them.) A locus without any
    has the empty combination.
    """
    groups = _Groups(
        read_only(phase_groups.loci),
        read_only(phase_groups.group_offsets),
        read_only(phase_groups.option_offsets),
        view_of(phase_groups.options),
    )
    items, rows = _allocated(phase_groups)
    return _combined(groups, loci, items, trimmed, rows, max_combinations)


def _allocated(phase_groups: PhaseGroups) -> tuple[_Items, NDArray[np.int32]]:
    """Return uninitialised arrays for the items and alleles of any set of groups."""
    options = phase_groups.option_offsets[phase_groups.group_offsets]
    max_options = np.diff(options).max(initial=0)
    max_alleles = np.diff(phase_groups.options.offsets[options]).max(initial=0)
    items = _Items(*(np.empty(max_options, dtype=np.int64) for _ in range(4)))
    return items, np.empty(max_alleles, dtype=np.int32)


@njit
def _combined(
    groups: _Groups,
    loci: int,
    items: _Items,
    trimmed: TrimmedAlleles,
    rows: NDArray[np.int32],
    max_combinations: int,
) -> Combinations:
    offsets = np.zeros(loci + 1, np.int64)
    kept = _Kept(0, np.zeros(2 * loci + 1, np.int64), np.empty(2 * loci, np.int32))
    group_set = _0
    for locus in range(loci):
        while group_set < groups.loci.size and groups.loci[group_set] == locus:
            kept = _combine_set(groups, group_set, items, trimmed, rows, max_combinations, kept)
            group_set += 1
        if kept.used == offsets[locus]:
            kept = _keep(kept, rows, _0)
        offsets[locus + 1] = kept.used
    return Combinations(offsets, RaggedView(kept.alleles, kept.offsets[: kept.used + 1]))


@njit
def _combine_set(
    groups: _Groups,
    group_set: np.int64,
    items: _Items,
    trimmed: TrimmedAlleles,
    rows: NDArray[np.int32],
    max_combinations: int,
    kept: _Kept,
) -> _Kept:
    """Append the combinations of one set of groups to those kept."""
    first, last = groups.group_offsets[group_set], groups.group_offsets[group_set + 1]
    count = _list_items(groups, first, last, items)
    kept_before, visited = kept.used, 0
    for size in range(last - first + 1):
        more = _choose_from(items, count, _0, _0, size)
        while more:
            if size > 1:
                if kept.used - kept_before >= max_combinations:
                    return kept
                if visited >= _MAX_VISITED * max_combinations:
                    return kept
                visited += 1
            alleles = _sorted_alleles(groups, first, last, items, size, trimmed, rows)
            if not _conflict(trimmed, rows, alleles):
                kept = _keep(kept, rows, alleles)
            more = _choose_next(items, count, size)
    return kept


@njit
def _list_items(groups: _Groups, first: Integer, last: Integer, items: _Items) -> int:
    count = 0
    for group in range(first, last):
        base, end = groups.option_offsets[group], groups.option_offsets[group + 1]
        following = count + end - base - 1
        for option in range(base + 1, end):
            items.groups[count] = group
            items.options[count] = option
            items.following[count] = following
            count += 1
    return count


@njit
def _choose_from(items: _Items, count: int, first: Integer, item: Integer, size: int) -> bool:
    """Fill `chosen` from `first` on with the first items from `item` on; False if they run out."""
    for k in range(first, size):
        if item >= count:
            return False
        items.chosen[k] = item
        item = items.following[item]
    return True


@njit
def _choose_next(items: _Items, count: int, size: int) -> bool:
    """Advance to the next choice of the same size; False if there is none."""
    for k in range(size - 1, -1, -1):
        if _choose_from(items, count, k, items.chosen[k] + 1, size):
            return True
    return False


@njit
def _sorted_alleles(
    groups: _Groups,
    first: Integer,
    last: Integer,
    items: _Items,
    size: int,
    trimmed: TrimmedAlleles,
    rows: NDArray[np.int32],
) -> int:
    """List the alleles of a choice by position, insertions first; return their number."""
    option_rows, offsets = groups.options.data, groups.options.offsets
    chosen = count = 0
    for group in range(first, last):
        option = groups.option_offsets[group]
        if chosen < size and items.groups[items.chosen[chosen]] == group:
            option = items.options[items.chosen[chosen]]
            chosen += 1
        for k in range(offsets[option], offsets[option + 1]):
            if not changes_nothing(trimmed, option_rows[k]):
                _insert(trimmed, rows, count, option_rows[k])
                count += 1
    return count


@njit
def _insert(trimmed: TrimmedAlleles, rows: NDArray[np.int32], count: int, row: Integer) -> None:
    start, end = trimmed.starts[row], trimmed.ends[row]
    at = count
    while at > 0:
        before = rows[at - 1]
        if trimmed.starts[before] < start:
            break
        if trimmed.starts[before] == start and trimmed.ends[before] <= end:
            break
        rows[at] = before
        at -= 1
    rows[at] = row


@njit
def _conflict(trimmed: TrimmedAlleles, rows: NDArray[np.int32], count: int) -> bool:
    """Return whether any two of some sorted alleles cannot combine on one haplotype."""
    for k in range(1, count):
        before, row = rows[k - 1], rows[k]
        if trimmed.ends[before] > trimmed.starts[row]:
            return True
        is_substitution = (
            trimmed.starts[row] < trimmed.ends[row]
            and trimmed.text_starts[row] < trimmed.text_ends[row]
        )
        if trimmed.starts[before] == trimmed.starts[row] and not is_substitution:
            return True
    return False


@njit
def _keep(kept: _Kept, rows: NDArray[np.int32], count: Integer) -> _Kept:
    start = kept.offsets[kept.used]
    offsets = with_room(kept.offsets, kept.used + 2)
    alleles = with_room(kept.alleles, start + count)
    for k in range(count):
        alleles[start + k] = rows[k]
    offsets[kept.used + 1] = start + count
    return _Kept(kept.used + 1, offsets, alleles)
