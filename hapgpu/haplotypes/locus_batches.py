"""Stream of locus batches: VCF records as loci with their haplotypes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.haplotypes.batches import (
    AlleleKind,
    LocusBatch,
    PhaseGroups,
    ReferenceSlice,
    ShiftRanges,
    Sites,
)
from hapgpu.haplotypes.sites.columns import sites_of
from hapgpu.haplotypes.sites.haplotypes import haplotypes_of
from hapgpu.haplotypes.sites.loci import (
    DEFAULT_LIMITS,
    OVERLAPPING_FACTOR,
    RecordBatch,
    RecordLimits,
    loci_of,
    record_batches_of,
)
from hapgpu.haplotypes.sites.phased import (
    option_counts,
    phase_groups_of_samples,
    phase_groups_of_sites,
)
from hapgpu.haplotypes.sites.reference_check import (
    check_positions,
    check_reference_alleles,
    plain_bases,
    reference_slice,
)
from hapgpu.haplotypes.sites.sample_genotypes import genotypes_of
from hapgpu.haplotypes.sites.shift_ranges import LONGEST_SHIFT, shift_ranges_of
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.vcf.batches import VcfBatch
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool, Task

_MAX_SITES: Final = 1000
"""Sites of one group, at most; bounds memory."""

_MAX_SKIPPED: Final = 8192
"""Records whose shift ranges are not computed, at most, before a range of rows; bounds memory."""

UNKNOWN_LENGTH: Final = -1
"""Length of a contig that the reference lacks."""

EVERY_ROW: Final = range(2**62)
"""The rows of any file."""


Count = Callable[[str, int], None]
"""Function that adds to a named count, as `hapgpu.runtime.statistics.RunStatistics.count`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocusOptions:
    """Options of building loci and haplotypes.

    Attributes
    ----------
    distance
        Sites share a locus if their shift ranges are at most this many bases apart.
    flank
        Bases of the reference on either side of a locus in its haplotypes.
    max_combinations
        Combinations of alleles per locus, at most; `OVERLAPPING_FACTOR` times as many where the
        shift ranges of its sites overlap. All combinations with a single change are kept.
    masks
        True: SNVs of other loci become N in the flanks.
    phased
        True: haplotypes follow the genotypes of the samples; False: all combinations are made.
    """

    distance: int
    flank: int
    max_combinations: int
    masks: bool
    phased: bool


@dataclass(frozen=True, slots=True)
class LocusLimits:
    """Limits of a batch of loci; results do not depend on them.

    Attributes
    ----------
    loci
        Number of loci, at most.
    bases
        Bases of the reference from the first locus to the last, at most, except for a single locus.
    threads
        Threads that make haplotypes; with several, batches are made ahead.
    """

    loci: int = 256
    bases: int = 1_000_000
    threads: int = 1


DEFAULT_LOCUS_LIMITS: Final = LocusLimits()


class _SiteGroups(NamedTuple):
    """Groups of sites that are close enough to share loci, in their order; g rows each.

    `starts` and `ends`, int64, are rows of sites, `max_ends`, int64, the largest end of their shift
    ranges. `is_full`, bool, means that the next site is close enough too, but the group has as many
    sites as a group may have.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    max_ends: NDArray[np.int64]
    is_full: NDArray[np.bool_]

    def slice(self, start: int, end: int) -> _SiteGroups:
        """Return the groups start to end."""
        return _SiteGroups(
            self.starts[start:end],
            self.ends[start:end],
            self.max_ends[start:end],
            self.is_full[start:end],
        )

    def starting_in(self, rows: range, first_row: int) -> _SiteGroups:
        """Return the groups whose first sites are in a range; site 0 is row `first_row`."""
        start, end = np.searchsorted(self.starts + first_row, [rows.start, rows.stop])
        return self.slice(int(start), int(end))

    def count_sites(self) -> int:
        """Return the number of sites before the end of the last group."""
        return int(self.ends[-1]) if self.ends.size else 0


def uncounted(_what: str, _number: int) -> None:
    """Ignore a count."""


def locus_batches(
    records: Iterable[VcfBatch],
    reference: ReferenceFasta,
    options: LocusOptions,
    source: str,
    count: Count = uncounted,
    *,
    limits: RecordLimits = DEFAULT_LIMITS,
    locus_limits: LocusLimits | None = None,
    rows: range = EVERY_ROW,
) -> Iterator[LocusBatch]:
    """Yield loci with their haplotypes, in the order of the records.

    Memory does not grow with the number of records: a locus is yielded as soon as no later record
    can change it. Where more than 1000 sites are close to each other, a locus ends after every
    1000.

    A group of close sites belongs to the range of rows that contains its first site. So adjacent
    ranges together give exactly the loci of all rows. Groups outside the range get no haplotypes.

    Parameters
    ----------
    records
        Batches of any size, sorted by position within each contig.
    reference
        The reference of the records.
    options
        Distance, flank and number of combinations.
    source
        Name of the file of the records, for errors.
    count
        Called with these names and numbers: `sites`; `loci`; `spanned_alleles` (`*`) and
        `symbolic_alleles`, which change no base; `locus_splits`, between sites that are close
        enough to share a locus but have too many combinations; `capped_loci`, loci without some of
        their combinations; `conflicting_alleles`, excluded because another allele of the same
        genotype copy changes the same bases.
    limits
        Size of the batches of records from which loci are made.
    locus_limits
        Size of the batches; None: `DEFAULT_LOCUS_LIMITS`.
    rows
        The rows of the records, from 0, whose loci are yielded; step 1. Records far outside are
        not compared with the reference.

    Yields
    ------
    LocusBatch
        At least one locus.

    Raises
    ------
    InputError
        The reference lacks a contig, a REF differs from it, or a genotype is invalid; the message
        names file and record.
    """
    most = locus_limits or DEFAULT_LOCUS_LIMITS
    stream = _LocusStream(reference, options, source, count, rows)
    with Pool(most.threads, caller_works=False) as pool:
        for batch in _computed_ahead(stream.batches(record_batches_of(records, limits)), pool):
            yield from _split(batch, most)


def _computed_ahead(
    batches: Iterator[Callable[[], LocusBatch]], pool: Pool
) -> Iterator[LocusBatch]:
    """Yield batches in order, as many in work as a pool has threads; then the error, if any."""
    tasks = deque[Task[LocusBatch]]()
    failure: InputError | None = None
    while True:
        try:
            batch = next(batches, None)
        except InputError as error:  # raised after the batches before it
            batch, failure = None, error
        if batch is None:
            break
        tasks.append(pool.submit(batch))
        if len(tasks) >= pool.threads:
            yield tasks.popleft().result()
    while tasks:
        yield tasks.popleft().result()
    if failure is not None:
        raise failure


class _GroupedSites(NamedTuple):
    """Whole groups of close sites of a contig, their shift ranges, and the number of groups."""

    contig: str
    sites: Sites
    shift_ranges: ShiftRanges
    groups: int


class _LocusStream:
    """Conversion of rows of records to locus batches; keeps records that may still change loci."""

    def __init__(
        self,
        reference: ReferenceFasta,
        options: LocusOptions,
        source: str,
        count: Count,
        rows: range,
    ) -> None:
        self._reference = reference
        self._options = options
        self._source = source
        self._count = count
        self._rows = rows
        self._row = 0  # of the first record that is kept or comes next
        self._pending: list[VcfBatch] = []
        self._snvs = np.empty(0, dtype=np.int64)
        self._around = LONGEST_SHIFT + options.flank

    def batches(self, record_batches: Iterable[RecordBatch]) -> Iterator[Callable[[], LocusBatch]]:
        """Yield functions that return the loci of the rows; they need not be called in order."""
        for record_batch in record_batches:
            yield from self._batches(record_batch)
            if self._row >= self._rows.stop:
                return

    def _batches(self, record_batch: RecordBatch) -> Iterator[Callable[[], LocusBatch]]:
        """Yield the complete loci of the records, kept and new, if they are in the rows."""
        contig = record_batch.records.contig
        length = self._reference.lengths.get(contig, UNKNOWN_LENGTH)
        records = VcfBatch.concatenate([*self._pending, record_batch.records])
        if self._skip(records, record_batch.next_start):
            return
        sites = sites_of(records, length)
        check_positions(sites, self._reference, self._source)
        bases = reference_slice(
            self._reference,
            contig,
            int(sites.starts[0]) - self._around,
            int(sites.ends.max()) + self._around,
        )
        check_reference_alleles(sites, bases, self._reference, self._source)
        bases = plain_bases(bases)
        shift_ranges = shift_ranges_of(sites, bases)
        self._snvs = np.union1d(self._snvs, _snv_positions(sites))
        groups = self._complete_groups(shift_ranges, record_batch.next_start, _MAX_SITES)
        chosen = groups.starting_in(self._rows, self._row)
        self._count("locus_splits", int(chosen.is_full.sum()))
        full_ends = chosen.ends[chosen.is_full].tolist()
        for start, end in pairwise(sorted({*chosen.starts[:1], *full_ends, *chosen.ends[-1:]})):
            first, last = np.searchsorted(chosen.starts, [start, end])
            part = _GroupedSites(
                contig, sites.slice(start, end), shift_ranges.slice(start, end), int(last - first)
            )
            yield partial(self._batch, part, bases, self._snvs)
        self._keep(records, groups, record_batch.next_start)

    def _skip(self, records: VcfBatch, next_start: int) -> bool:
        """Drop records before the rows, without the reference; return False if that is unsafe."""
        if self._row + len(records) > self._rows.start:
            return False
        starts = records.starts - LONGEST_SHIFT
        ends = records.starts + records.reference_lengths + LONGEST_SHIFT
        # Widest shift ranges: a gap between these is a gap between groups, whatever the bases are.
        groups = self._complete_groups(ShiftRanges(starts, ends), next_start, len(records))
        if len(records) - groups.count_sites() > _MAX_SKIPPED:
            return False
        self._keep(records, groups, next_start)
        return True

    def _complete_groups(
        self, shift_ranges: ShiftRanges, next_start: int, max_sites: int
    ) -> _SiteGroups:
        """Return the groups before the first that a later record can join or mask."""
        max_distance = max(self._options.distance + LONGEST_SHIFT, self._options.flank)
        groups = _site_groups(
            read_only(shift_ranges.starts),
            read_only(shift_ranges.ends),
            self._options.distance,
            max_sites,
        )
        incomplete = np.flatnonzero(groups.max_ends + max_distance >= next_start)
        return groups.slice(0, int(incomplete[0]) if incomplete.size else groups.ends.size)

    def _batch(
        self, grouped: _GroupedSites, bases: ReferenceSlice, snvs: NDArray[np.int64]
    ) -> LocusBatch:
        """Put sites into loci and make their haplotypes, in which SNVs may be masked."""
        options, sites, shift_ranges = self._options, grouped.sites, grouped.shift_ranges
        max_combinations = OVERLAPPING_FACTOR * options.max_combinations
        if options.phased:
            genotypes = [genotypes_of(record, self._source) for record in sites.records]
            counts = option_counts(sites, genotypes)
            loci = loci_of(shift_ranges, counts, options.distance, options.max_combinations)
            phase_groups, conflicting_alleles = phase_groups_of_samples(sites, loci, genotypes)
            self._count("conflicting_alleles", conflicting_alleles)
        else:
            counts = option_counts(sites)
            loci = loci_of(shift_ranges, counts, options.distance, options.max_combinations)
            phase_groups = phase_groups_of_sites(sites, loci)
        haplotypes = haplotypes_of(
            sites,
            loci,
            phase_groups,
            bases,
            options.flank,
            max_combinations,
            snvs if options.masks else snvs[:0],
        )
        self._count("sites", len(sites))
        self._count("loci", len(loci))
        self._count("locus_splits", len(loci) - grouped.groups)
        self._count("spanned_alleles", int((sites.kinds == AlleleKind.SPANNED).sum()))
        self._count("symbolic_alleles", int((sites.kinds == AlleleKind.SYMBOLIC).sum()))
        self._count("capped_loci", _capped_loci(phase_groups, max_combinations))
        return LocusBatch(grouped.contig, sites, shift_ranges, loci, haplotypes)

    def _keep(self, records: VcfBatch, complete: _SiteGroups, next_start: int) -> None:
        """Keep the records after the complete groups, and the SNVs in the flanks of later loci."""
        done = complete.count_sites()
        self._row += done
        records = records[done:]
        self._pending = [records] if len(records) else []
        first = int(records.starts[0]) if len(records) else next_start
        self._snvs = self._snvs[self._snvs >= first - self._around]


@njit
def _site_groups(
    starts: NDArray[np.int64], ends: NDArray[np.int64], distance: int, max_sites: int
) -> _SiteGroups:
    """Group sites as `loci_of` does before it splits by combinations."""
    group_starts, group_ends = np.zeros(starts.size, np.int64), np.empty(starts.size, np.int64)
    max_ends = np.empty(starts.size, np.int64)
    is_full = np.zeros(starts.size, np.bool_)
    groups, first, max_end = 0, 0, ends[0]
    for site in range(starts.size):
        is_near = starts[site] - max_end <= distance
        if not is_near or site - first == max_sites:
            group_ends[groups], max_ends[groups], is_full[groups] = site, max_end, is_near
            groups += 1
            group_starts[groups] = site
            first, max_end = site, ends[site]
        max_end = max(max_end, ends[site])
    group_ends[groups], max_ends[groups] = starts.size, max_end
    groups += 1
    return _SiteGroups(
        group_starts[:groups], group_ends[:groups], max_ends[:groups], is_full[:groups]
    )


def _snv_positions(sites: Sites) -> NDArray[np.int64]:
    """Return the positions of sites with at least two alleles, all of a single base."""
    is_base = (sites.alleles.lengths == 1) & (sites.kinds == AlleleKind.SEQUENCE)
    bases = np.add.reduceat(is_base, sites.allele_offsets[:-1], dtype=np.int64)
    alleles = np.diff(sites.allele_offsets)
    positions: NDArray[np.int64] = sites.starts[(bases == alleles) & (alleles > 1)]
    return positions


def _capped_loci(phase_groups: PhaseGroups, max_combinations: int) -> int:
    """Count the loci at which a set of groups has more combinations than are kept."""
    return _count_capped(
        read_only(phase_groups.loci),
        read_only(phase_groups.group_offsets),
        read_only(phase_groups.option_offsets),
        max_combinations,
    )


@njit
def _count_capped(
    loci: NDArray[np.int64],
    group_offsets: NDArray[np.int64],
    option_offsets: NDArray[np.int64],
    max_combinations: int,
) -> int:
    count, last = 0, np.int64(-1)
    for group_set in range(loci.size):
        first, end = group_offsets[group_set], group_offsets[group_set + 1]
        singles = option_offsets[end] - option_offsets[first] - (end - first)
        limit = max(max_combinations, 1 + singles)
        combinations = np.int64(1)
        for group in range(first, end):
            if combinations <= limit:  # more would overflow
                combinations *= option_offsets[group + 1] - option_offsets[group]
        if combinations > limit and loci[group_set] != last:
            count += 1
            last = loci[group_set]
    return count


def _split(batch: LocusBatch, limits: LocusLimits) -> Iterator[LocusBatch]:
    """Split a batch by number of loci and by bases."""
    starts, ends = batch.loci.starts, np.maximum.accumulate(batch.loci.ends)
    start = 0
    while start < len(batch.loci):
        limit = np.searchsorted(ends, starts[start] + limits.bases, side="right")
        end = min(max(int(limit), start + 1), start + limits.loci, len(batch.loci))
        yield batch.slice(start, end)
        start = end
