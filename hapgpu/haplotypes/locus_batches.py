"""Stream of locus batches: VCF records as loci with their haplotypes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.haplotypes.batches import (
    AlleleKind,
    LocusBatch,
    PhaseGroups,
    ReferenceSlice,
    ShiftRanges,
    Sites,
)
from hapgpu.haplotypes.candidates.haplotypes import haplotypes_of
from hapgpu.haplotypes.candidates.phased import option_counts, phase_groups_of_samples
from hapgpu.haplotypes.candidates.unphased import phase_groups_of_sites
from hapgpu.haplotypes.sites.columns import sites_of
from hapgpu.haplotypes.sites.loci import OVERLAPPING_FACTOR, loci_of
from hapgpu.haplotypes.sites.record_batches import (
    DEFAULT_LIMITS,
    RecordBatch,
    RecordLimits,
    record_batches_of,
)
from hapgpu.haplotypes.sites.reference_check import (
    check_positions,
    check_reference_alleles,
    plain_bases,
    reference_slice,
)
from hapgpu.haplotypes.sites.sample_genotypes import genotypes_of
from hapgpu.haplotypes.sites.shift_ranges import LONGEST_SHIFT, shift_ranges_of
from hapgpu.haplotypes.sites.telomeres import with_empty_telomeres
from hapgpu.io.genome.fasta import ReferenceFasta
from hapgpu.io.vcf.records import VcfRecord

_MAX_SITES: Final = 1000
"""Sites of one group, at most; bounds memory."""

_NO_LENGTH: Final = -1

_LOCI_PER_BATCH: Final = 256
_BASES_PER_BATCH: Final = 1_000_000


Count = Callable[[str, int], None]
"""Function that adds to a named count, as `hapgpu.runtime.statistics.RunStatistics.count`."""


@dataclass(frozen=True, slots=True)
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
class _SiteGroup:
    """Sites start to end, close enough to share loci.

    `max_end` is the largest end of their shift ranges. `is_full` means that the next site is close
    enough too, but the group has `_MAX_SITES` sites.
    """

    start: int
    end: int
    max_end: int
    is_full: bool


def uncounted(_what: str, _number: int) -> None:
    """Ignore a count."""


def locus_batches(
    records: Iterable[VcfRecord],
    reference: ReferenceFasta,
    options: LocusOptions,
    source: str,
    count: Count = uncounted,
    limits: RecordLimits = DEFAULT_LIMITS,
) -> Iterator[LocusBatch]:
    """Yield loci with their haplotypes, in the order of the records.

    Memory does not grow with the number of records: a locus is yielded as soon as no later record
    can change it. Where more than 1000 sites are close to each other, a locus ends after every
    1000.

    Parameters
    ----------
    records
        Sorted by position within each contig.
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
        Size of the batches of records; the loci do not depend on it.

    Yields
    ------
    LocusBatch
        At most 256 loci and, if more than one, at most 1 Mb of reference.

    Raises
    ------
    InputError
        The reference lacks a contig, a REF differs from it, or a genotype is invalid; the message
        names file and record.
    """
    stream = _LocusStream(reference, options, source, count)
    for record_batch in record_batches_of(records, limits):
        yield from stream.batches(record_batch)


class _LocusStream:
    """Conversion of records to locus batches; keeps records whose loci may still change."""

    def __init__(
        self,
        reference: ReferenceFasta,
        options: LocusOptions,
        source: str,
        count: Count,
    ) -> None:
        self._reference = reference
        self._options = options
        self._source = source
        self._count = count
        self._pending: list[VcfRecord] = []
        self._snvs = np.empty(0, dtype=np.int64)
        self._around = LONGEST_SHIFT + options.flank

    def batches(self, record_batch: RecordBatch) -> Iterator[LocusBatch]:
        """Yield the complete loci of the records, kept and new."""
        contig = record_batch.records[0].contig
        length = self._reference.lengths.get(contig, _NO_LENGTH)
        sites = sites_of(with_empty_telomeres(self._pending + record_batch.records, length))
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
        complete = self._complete(shift_ranges, record_batch.next_start)
        self._count("locus_splits", sum(group.is_full for group in complete))
        ends = [group.end for group in complete if group.is_full]
        done = complete[-1].end if complete else 0
        for start, end in pairwise(sorted({0, *ends, done})):
            batch = self._batch(
                contig, sites.slice(start, end), shift_ranges.slice(start, end), bases
            )
            groups = sum(start <= group.start < end for group in complete)
            self._count("locus_splits", len(batch.loci) - groups)
            yield from _split(batch)
        self._keep(sites.records[done:], record_batch.next_start)

    def _complete(self, shift_ranges: ShiftRanges, next_start: int) -> list[_SiteGroup]:
        """Return the groups before the first that a later record can join or mask."""
        max_distance = max(self._options.distance + LONGEST_SHIFT, self._options.flank)
        return list(
            takewhile(
                lambda group: group.max_end + max_distance < next_start,
                _site_groups(shift_ranges, self._options.distance),
            )
        )

    def _batch(
        self, contig: str, sites: Sites, shift_ranges: ShiftRanges, bases: ReferenceSlice
    ) -> LocusBatch:
        """Put sites into loci and make their haplotypes."""
        options = self._options
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
            self._snvs if options.masks else self._snvs[:0],
        )
        self._count("sites", len(sites))
        self._count("loci", len(loci))
        self._count("spanned_alleles", int((sites.kinds == AlleleKind.SPANNED).sum()))
        self._count("symbolic_alleles", int((sites.kinds == AlleleKind.SYMBOLIC).sum()))
        self._count("capped_loci", _capped_loci(phase_groups, max_combinations))
        return LocusBatch(contig, sites, shift_ranges, loci, haplotypes)

    def _keep(self, records: Sequence[VcfRecord], next_start: int) -> None:
        """Keep records, and the SNVs that may lie in the flanks of later loci."""
        self._pending = list(records)
        first = records[0].start if records else next_start
        self._snvs = self._snvs[self._snvs >= first - self._around]


def _site_groups(shift_ranges: ShiftRanges, distance: int) -> Iterator[_SiteGroup]:
    """Group sites as `loci_of` does before it splits by combinations."""
    start, max_end = 0, int(shift_ranges.ends[0])
    sites = zip(shift_ranges.starts.tolist(), shift_ranges.ends.tolist(), strict=True)
    for site, (range_start, range_end) in enumerate(sites):
        is_near = range_start - max_end <= distance
        if not is_near or site - start == _MAX_SITES:
            yield _SiteGroup(start, site, max_end, is_near)
            start, max_end = site, range_end
        max_end = max(max_end, range_end)
    yield _SiteGroup(start, len(shift_ranges.starts), max_end, is_full=False)


def _snv_positions(sites: Sites) -> NDArray[np.int64]:
    """Return the positions of sites with at least two alleles, all of a single base."""
    is_base = (sites.alleles.lengths == 1) & (sites.kinds == AlleleKind.SEQUENCE)
    bases = np.add.reduceat(is_base, sites.allele_offsets[:-1], dtype=np.int64)
    alleles = np.diff(sites.allele_offsets)
    positions: NDArray[np.int64] = sites.starts[(bases == alleles) & (alleles > 1)]
    return positions


def _capped_loci(phase_groups: PhaseGroups, max_combinations: int) -> int:
    """Count the loci at which a set of groups has more combinations than are kept."""
    options = np.diff(phase_groups.option_offsets)
    capped = set()
    for locus, (first, last) in zip(
        phase_groups.loci.tolist(), pairwise(phase_groups.group_offsets.tolist()), strict=True
    ):
        sizes = options[first:last].tolist()
        if prod(sizes) > max(max_combinations, 1 + sum(sizes) - len(sizes)):
            capped.add(locus)
    return len(capped)


def _split(batch: LocusBatch) -> Iterator[LocusBatch]:
    """Split a batch by number of loci and by bases."""
    starts, ends = batch.loci.starts, np.maximum.accumulate(batch.loci.ends)
    start = 0
    while start < len(batch.loci):
        limit = np.searchsorted(ends, starts[start] + _BASES_PER_BATCH, side="right")
        end = min(max(int(limit), start + 1), start + _LOCI_PER_BATCH, len(batch.loci))
        yield batch.slice(start, end)
        start = end
