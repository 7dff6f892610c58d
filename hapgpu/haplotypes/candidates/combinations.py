"""Which edits stand together: the options of all groups of a carrier, combined."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of, with_room
from hapgpu.haplotypes.batches import PhaseGroups
from hapgpu.haplotypes.sites.trimmed_alleles import TrimmedAlleles, changes_nothing
from hapgpu.runtime.jit import njit

_MAX_LOOKED_AT: Final = 16
"""Combinations looked at for each that may be kept, where options clash so that few are."""


# A plain 0 would have functions compiled once for it and once more for other numbers.
_0 = np.int64(0)


class Combinations(NamedTuple):
    """Sets of edits that can stand on one haplotype, locus by locus, at least one for each.

    Attributes
    ----------
    offsets
        int64[l + 1]: the combinations of locus k are rows `offsets[k]` to `offsets[k + 1]`.
    alleles
        int32 rows of alleles that change something, in the order of their places.
    """

    offsets: NDArray[np.int64]
    alleles: RaggedView


class _Groups(NamedTuple):
    """`PhaseGroups` in compiled code."""

    loci: NDArray[np.int64]
    group_offsets: NDArray[np.int64]
    option_offsets: NDArray[np.int64]
    options: RaggedView


class _Items(NamedTuple):
    """The options of a carrier but for the bases of its groups.

    Attributes
    ----------
    groups, options
        int64: of each item.
    following
        int64: the first item of the groups behind that of each item.
    chosen
        int64: items, one of a group at most, in ascending order.
    """

    groups: NDArray[np.int64]
    options: NDArray[np.int64]
    following: NDArray[np.int64]
    chosen: NDArray[np.int64]


class _Kept(NamedTuple):
    """Combinations so far, `used` of them; the arrays have room to spare."""

    used: int
    offsets: NDArray[np.int64]
    alleles: NDArray[np.int32]


def combinations_of(
    phase_groups: PhaseGroups, loci: int, edits: TrimmedAlleles, most: int
) -> Combinations:
    """Combine the options of the groups of each carrier.

    Combinations come in the order of the number of groups that leave their base; within that they
    are sorted by the first (group, option) that does so, then by the second, and so on. Those whose
    edits clash are left out. All in which no group or one group leaves its base are kept; from two
    groups on no more once there are `most`, or once `16 * most` have been looked at. (A carrier
    whose combinations number no more than `most` therefore has all of them.) A locus for which
    nothing is left has the empty combination.
    """
    groups = _Groups(
        read_only(phase_groups.loci),
        read_only(phase_groups.group_offsets),
        read_only(phase_groups.option_offsets),
        view_of(phase_groups.options),
    )
    items, edit_rows = _room_for_carriers(phase_groups)
    return _combined(groups, loci, items, edits, edit_rows, most)


def _room_for_carriers(phase_groups: PhaseGroups) -> tuple[_Items, NDArray[np.int32]]:
    """Make room for the items, and for the edits, of any carrier."""
    options = phase_groups.option_offsets[phase_groups.group_offsets]
    max_options = np.diff(options).max(initial=0)
    max_edits = np.diff(phase_groups.options.offsets[options]).max(initial=0)
    items = _Items(*(np.empty(max_options, dtype=np.int64) for _ in range(4)))
    return items, np.empty(max_edits, dtype=np.int32)


@njit
def _combined(
    groups: _Groups,
    loci: int,
    items: _Items,
    edits: TrimmedAlleles,
    edit_rows: NDArray[np.int32],
    most: int,
) -> Combinations:
    offsets = np.zeros(loci + 1, np.int64)
    kept = _Kept(0, np.zeros(2 * loci + 1, np.int64), np.empty(2 * loci, np.int32))
    carrier = _0
    for locus in range(loci):
        while carrier < groups.loci.size and groups.loci[carrier] == locus:
            kept = _combine_carrier(groups, carrier, items, edits, edit_rows, most, kept)
            carrier += 1
        if kept.used == offsets[locus]:
            kept = _keep(kept, edit_rows, _0)
        offsets[locus + 1] = kept.used
    return Combinations(offsets, RaggedView(kept.alleles, kept.offsets[: kept.used + 1]))


@njit
def _combine_carrier(  # noqa: PLR0917  (compiled code takes no keywords)
    groups: _Groups,
    carrier: np.int64,
    items: _Items,
    edits: TrimmedAlleles,
    edit_rows: NDArray[np.int32],
    most: int,
    kept: _Kept,
) -> _Kept:
    """Keep the combinations of one carrier."""
    first, last = groups.group_offsets[carrier], groups.group_offsets[carrier + 1]
    count = _list_items(groups, first, last, items)
    kept_before, looked_at = kept.used, 0
    for size in range(last - first + 1):
        more = _choose_from(items, count, _0, _0, size)
        while more:
            if size > 1:
                if kept.used - kept_before >= most or looked_at >= _MAX_LOOKED_AT * most:
                    return kept
                looked_at += 1
            edit_count = _sorted_edits(groups, first, last, items, size, edits, edit_rows)
            if not _clash(edits, edit_rows, edit_count):
                kept = _keep(kept, edit_rows, edit_count)
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
def _choose_from(items: _Items, count: int, place: Integer, item: Integer, size: int) -> bool:
    """Fill the choice from a place on with the first items from `item` on; whether there are."""
    for k in range(place, size):
        if item >= count:
            return False
        items.chosen[k] = item
        item = items.following[item]
    return True


@njit
def _choose_next(items: _Items, count: int, size: int) -> bool:
    """Go on to the next choice of the same size; whether there is one."""
    for place in range(size - 1, -1, -1):
        if _choose_from(items, count, place, items.chosen[place] + 1, size):
            return True
    return False


@njit
def _sorted_edits(  # noqa: PLR0917  (compiled code takes no keywords)
    groups: _Groups,
    first: Integer,
    last: Integer,
    items: _Items,
    size: int,
    edits: TrimmedAlleles,
    edit_rows: NDArray[np.int32],
) -> int:
    """List the edits of a choice in the order of their places, insertions first; their number."""
    rows, offsets = groups.options.data, groups.options.offsets
    chosen = edit_count = 0
    for group in range(first, last):
        option = groups.option_offsets[group]
        if chosen < size and items.groups[items.chosen[chosen]] == group:
            option = items.options[items.chosen[chosen]]
            chosen += 1
        for k in range(offsets[option], offsets[option + 1]):
            if not changes_nothing(edits, rows[k]):
                _insert(edits, edit_rows, edit_count, rows[k])
                edit_count += 1
    return edit_count


@njit
def _insert(edits: TrimmedAlleles, edit_rows: NDArray[np.int32], count: int, row: Integer) -> None:
    start, end = edits.starts[row], edits.ends[row]
    place = count
    while place > 0:
        before = edit_rows[place - 1]
        if edits.starts[before] < start:
            break
        if edits.starts[before] == start and edits.ends[before] <= end:
            break
        edit_rows[place] = before
        place -= 1
    edit_rows[place] = row


@njit
def _clash(edits: TrimmedAlleles, edit_rows: NDArray[np.int32], count: int) -> bool:
    """Whether any of some sorted edits cannot stand together."""
    for k in range(1, count):
        before, row = edit_rows[k - 1], edit_rows[k]
        if edits.ends[before] > edits.starts[row]:
            return True
        is_substitution = (
            edits.starts[row] < edits.ends[row] and edits.text_begins[row] < edits.text_ends[row]
        )
        if edits.starts[before] == edits.starts[row] and not is_substitution:
            return True
    return False


@njit
def _keep(kept: _Kept, edit_rows: NDArray[np.int32], edit_count: Integer) -> _Kept:
    begin = kept.offsets[kept.used]
    offsets = with_room(kept.offsets, kept.used + 2)
    alleles = with_room(kept.alleles, begin + edit_count)
    for k in range(edit_count):
        alleles[begin + k] = edit_rows[k]
    offsets[kept.used + 1] = begin + edit_count
    return _Kept(kept.used + 1, offsets, alleles)
