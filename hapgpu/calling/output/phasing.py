"""Physical phasing: records whose ALT alleles are on the same, or on opposite, haplotypes."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import CallSites, TrimmedRegions, VariantCalls
from hapgpu.calling.genotypes.kept_alleles import is_symbolic
from hapgpu.runtime.jit import njit, njit_inlined

UNPHASED: Final = -1
"""Group of a record that is not phased."""

_NOT_ONE: Final = -1


class Phasing(NamedTuple):
    """Phase groups of v records.

    Attributes
    ----------
    groups
        int64[v]: the first record of the group; `UNPHASED`.
    is_flipped
        bool[v]: whether the ALT is on the first haplotype, `1|0`; else on the second, `0|1`.
    """

    groups: NDArray[np.int64]
    is_flipped: NDArray[np.bool_]


class _Records(NamedTuple):
    """Records with their own ALT, a row of the alleles; `_NOT_ONE` without exactly one."""

    sites: NDArray[np.int64]
    starts: NDArray[np.int64]
    own: NDArray[np.int64]
    allele_offsets: NDArray[np.int64]
    alleles: RaggedView
    site_alleles: NDArray[np.int16]


class _Haplotypes(NamedTuple):
    """Haplotypes of the regions, their events, and their alleles at sites."""

    offsets: NDArray[np.int64]
    event_offsets: NDArray[np.int64]
    event_starts: NDArray[np.int64]
    alternates: RaggedView
    site_alleles: RaggedView


def phased(calls: VariantCalls, sites: CallSites, trimmed: TrimmedRegions) -> Phasing:
    """Phase the records of each active region, as GATK's AssemblyBasedCallerUtils.phaseCalls.

    A record takes part if exactly one of its ALTs is neither `*` nor `<NON_REF>`. Its haplotypes
    are the called ones that have this ALT; a haplotype is called if a record of the active region
    has its allele.

    Parameters
    ----------
    calls
        v records.
    sites
        The sites of the records.
    trimmed
        The active regions of the sites.
    """
    regions = sites.regions[calls.sites]
    haplotypes = trimmed.haplotypes
    counts = lengths_of(haplotypes.offsets)[regions]
    carriers = Ragged(np.zeros(int(counts.sum()), dtype=np.bool_), offsets_of(counts))
    records = _Records(
        read_only(calls.sites),
        read_only(calls.starts),
        read_only(_own_alternates(calls)),
        read_only(calls.allele_offsets),
        view_of(calls.alleles),
        read_only(calls.site_alleles),
    )
    first_records = np.searchsorted(regions, np.arange(haplotypes.offsets.size))
    columns = _Haplotypes(
        read_only(haplotypes.offsets),
        read_only(trimmed.events.offsets),
        read_only(trimmed.events.starts),
        view_of(trimmed.events.alternates),
        view_of(sites.haplotype_alleles),
    )
    _find_carriers(records, columns, read_only(first_records), carriers.data, carriers.offsets)
    return phase_groups(first_records, carriers)


def unphased(count: int) -> Phasing:
    """Return the phasing of so many records of which none is phased."""
    return Phasing(np.full(count, UNPHASED, dtype=np.int64), np.zeros(count, dtype=np.bool_))


def phase_groups(first_records: NDArray[np.int64], carriers: Ragged) -> Phasing:
    """Group records by the haplotypes that have their ALTs.

    Records whose ALTs are on the same haplotypes are in phase, and those that share none and are
    together on all are in opposite phase; an ALT on all haplotypes is in phase with any other. If
    the phase of a later record is already known from another group, no record of the active region
    is phased.

    Parameters
    ----------
    first_records
        int64[t + 1]: the records of active region k are rows `first_records[k]` to
        `first_records[k + 1]`.
    carriers
        bool[c], a row per record: whether each haplotype of its active region has its ALT; none
        has for a record that takes no part.
    """
    size = len(carriers)
    out = unphased(size)
    most = int(carriers.lengths.max(initial=0))
    _group(read_only(first_records), view_of(carriers), np.empty((2, most), dtype=np.bool_), out)
    return out


def _own_alternates(calls: VariantCalls) -> NDArray[np.int64]:
    """Return int64[v]: the row of the only ALT that is neither `*` nor `<NON_REF>`."""
    is_own = ~is_symbolic(calls.alleles)
    is_own[calls.allele_offsets[:-1]] = False
    before = offsets_of(is_own)
    firsts, lasts = before[calls.allele_offsets[:-1]], before[calls.allele_offsets[1:]]
    rows = np.append(np.flatnonzero(is_own), _NOT_ONE)
    return np.where(lasts - firsts == 1, rows[np.minimum(firsts, rows.size - 1)], _NOT_ONE)


@njit
def _find_carriers(
    records: _Records,
    haplotypes: _Haplotypes,
    first_records: NDArray[np.int64],
    out: NDArray[np.bool_],
    out_offsets: NDArray[np.int64],
) -> None:
    """Write which called haplotypes have the ALT of each record."""
    for region in range(first_records.size - 1):
        first = haplotypes.offsets[region]
        start, end = first_records[region], first_records[region + 1]
        for haplotype in range(first, haplotypes.offsets[region + 1]):
            if not _is_called(records, haplotypes, start, end, haplotype - first):
                continue
            for record in range(start, end):
                if records.own[record] != _NOT_ONE:
                    at = out_offsets[record] + haplotype - first
                    out[at] = _has_alternate(records, haplotypes, record, haplotype)


@njit_inlined
def _is_called(
    records: _Records, haplotypes: _Haplotypes, start: Integer, end: Integer, number: Integer
) -> bool:
    """Tell whether a haplotype has an allele of the records start to end."""
    for record in range(start, end):
        at = haplotypes.site_alleles.offsets[records.sites[record]] + number
        allele = haplotypes.site_alleles.data[at]
        for k in range(records.allele_offsets[record], records.allele_offsets[record + 1]):
            if records.site_alleles[k] == allele:
                return True
    return False


@njit_inlined
def _has_alternate(
    records: _Records, haplotypes: _Haplotypes, record: Integer, haplotype: Integer
) -> bool:
    """Tell whether an event of a haplotype starts at a record and has its ALT."""
    events, alleles = haplotypes.alternates, records.alleles
    own = alleles.offsets[records.own[record]]
    length = alleles.offsets[records.own[record] + 1] - own
    for row in range(haplotypes.event_offsets[haplotype], haplotypes.event_offsets[haplotype + 1]):
        other = events.offsets[row]
        if haplotypes.event_starts[row] == records.starts[record] and (
            events.offsets[row + 1] - other == length
        ):
            k = 0
            while k < length and events.data[other + k] == alleles.data[own + k]:
                k += 1
            if k == length:
                return True
    return False


@njit
def _group(
    first_records: NDArray[np.int64],
    carriers: RaggedView,
    scratch: NDArray[np.bool_],
    out: Phasing,
) -> None:
    """Group the records of each active region."""
    everywhere, left = scratch[0], scratch[1]
    for region in range(first_records.size - 1):
        start, end = first_records[region], first_records[region + 1]
        if end - start > 1 and not _group_region(start, end, carriers, everywhere, left, out):
            for record in range(start, end):
                out.groups[record] = UNPHASED
                out.is_flipped[record] = False


@njit
def _group_region(  # noqa: C901  (the rules of one pass over pairs of records)
    start: Integer,
    end: Integer,
    carriers: RaggedView,
    everywhere: NDArray[np.bool_],
    left: NDArray[np.bool_],
    out: Phasing,
) -> bool:
    """Group the records start to end; return whether no phase is contradictory."""
    haplotypes = carriers.offsets[start + 1] - carriers.offsets[start]
    total = np.int64(0)
    for k in range(haplotypes):
        everywhere[k] = False
        for record in range(start, end):
            everywhere[k] |= carriers.data[carriers.offsets[record] + k]
        total += everywhere[k]
    for one in range(start, end - 1):
        first = carriers.offsets[one]
        size = _count(carriers.data, first, haplotypes)
        if size == 0:
            continue
        for k in range(haplotypes):
            left[k] = carriers.data[first + k]
        for other in range(one + 1, end):
            relation = _relation(carriers, one, other, haplotypes, size, total, left)
            if relation == 0:
                continue
            if out.groups[one] == UNPHASED:
                if out.groups[other] != UNPHASED:
                    return False
                out.groups[one], out.groups[other] = one, one
                out.is_flipped[other] = relation < 0
                if relation > 0:
                    for k in range(haplotypes):
                        left[k] &= carriers.data[carriers.offsets[other] + k]
            elif out.groups[other] == UNPHASED:
                out.groups[other] = out.groups[one]
                out.is_flipped[other] = out.is_flipped[one] != (relation < 0)
    return True


@njit_inlined
def _relation(
    carriers: RaggedView,
    one: Integer,
    other: Integer,
    haplotypes: Integer,
    size: Integer,
    total: Integer,
    left: NDArray[np.bool_],
) -> int:
    """Return 1 for the same phase, -1 for the opposite phase, 0 if it is not known.

    `left` is what is left of the haplotypes of the first record.
    """
    first, second = carriers.offsets[one], carriers.offsets[other]
    other_size, shared, within = np.int64(0), np.int64(0), np.int64(0)
    for k in range(haplotypes):
        if carriers.data[second + k]:
            other_size += 1
            shared += carriers.data[first + k]
            within += left[k]
    if other_size == 0:
        return 0
    is_same = size == other_size and shared == size
    is_inside = size == total and within == other_size
    if is_same or is_inside or other_size == total:
        return 1
    return -1 if shared == 0 and size + other_size == total else 0


@njit_inlined
def _count(values: NDArray[np.bool_], start: Integer, size: Integer) -> Integer:
    count = np.int64(0)
    for k in range(start, start + size):
        count += values[k]
    return count
