"""The records of a VCF as loci with their haplotypes, batch by batch."""

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
    USUAL_LIMITS,
    RecordBatch,
    RecordLimits,
    record_batches_of,
)
from hapgpu.haplotypes.sites.reference_check import (
    check_places,
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
"""Sites that follow each other closely are cut after so many, to bound memory."""

_NO_LENGTH: Final = -1

_LOCI_PER_BATCH: Final = 256
_BASES_PER_BATCH: Final = 1_000_000


Count = Callable[[str, int], None]
"""Adds to a count, as `hapgpu.runtime.statistics.RunStatistics.count` does."""


@dataclass(frozen=True, slots=True)
class LocusOptions:
    """How records become loci and haplotypes.

    Attributes
    ----------
    distance
        Sites no further apart share a locus, in bases.
    flank
        Bases of the reference on either side of a locus that its haplotypes have.
    max_combinations
        A locus has no more combinations of alleles, or `OVERLAPPING_FACTOR` times as many where
        the shift ranges of its sites overlap; unless those with a single change are more.
    masks
        Whether SNVs of other loci read N in the flanks.
    phased
        Whether haplotypes follow the genotypes of the samples; else every combination is one.
    """

    distance: int
    flank: int
    max_combinations: int
    masks: bool
    phased: bool


@dataclass(frozen=True, slots=True)
class _Neighbourhood:
    """Sites start to stop, which are to share loci, and how far they reach.

    `is_cut` tells that the next site would belong to it, were it not full.
    """

    start: int
    stop: int
    reach: int
    is_cut: bool


def uncounted(_what: str, _number: int) -> None:
    """Take no notice of a count."""


def locus_batches(
    records: Iterable[VcfRecord],
    reference: ReferenceFasta,
    rules: LocusOptions,
    source: str,
    count: Count = uncounted,
    limits: RecordLimits = USUAL_LIMITS,
) -> Iterator[LocusBatch]:
    """Put records into loci, in their order, and make the haplotypes of each.

    Memory is bounded, however many records a contig has: what no later record can change any more
    is passed on. Where more than 1000 sites follow each other closely, a locus ends after every
    thousand.

    Parameters
    ----------
    records
        Sorted: contig by contig, by position.
    reference
        The sequences that they refer to.
    rules
        How close, how long, how many.
    source
        Name of the file of the records, for errors.
    count
        Told what was met, and how many of it: `sites`, `loci`, `spanned_alleles` (`*`) and
        `symbolic_alleles`, which change nothing, `locus_splits` between sites that are close enough
        to share a locus but have too many combinations, `capped_loci`, which lack some of theirs,
        and `conflicting_alleles`, alleles that genotypes put where they put another.
    limits
        How much to take at once.

    Yields
    ------
    LocusBatch
        Of at most 256 loci and, unless it is a single one, 1 Mb.

    Raises
    ------
    InputError
        The reference lacks a contig, a REF disagrees with it, or a genotype cannot be read; the
        message names file and record.
    """
    stream = _LocusStream(reference, rules, source, count)
    for record_batch in record_batches_of(records, limits):
        yield from stream.batches(record_batch)


class _LocusStream:
    """Turns records into batches; keeps what the next records of the contig may still change."""

    def __init__(
        self,
        reference: ReferenceFasta,
        rules: LocusOptions,
        source: str,
        count: Count,
    ) -> None:
        self._reference = reference
        self._rules = rules
        self._source = source
        self._count = count
        self._held: list[VcfRecord] = []
        self._snvs = np.empty(0, dtype=np.int64)
        self._around = LONGEST_SHIFT + rules.flank

    def batches(self, record_batch: RecordBatch) -> Iterator[LocusBatch]:
        """Yield the loci of the records, held and new, that are complete."""
        contig = record_batch.records[0].contig
        length = self._reference.lengths.get(contig, _NO_LENGTH)
        sites = sites_of(with_empty_telomeres(self._held + record_batch.records, length))
        check_places(sites, self._reference, self._source)
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
        self._count("locus_splits", sum(part.is_cut for part in complete))
        ends = [part.stop for part in complete if part.is_cut]
        done = complete[-1].stop if complete else 0
        for start, stop in pairwise(sorted({0, *ends, done})):
            batch = self._batch(
                contig, sites.slice(start, stop), shift_ranges.slice(start, stop), bases
            )
            parts = sum(start <= part.start < stop for part in complete)
            self._count("locus_splits", len(batch.loci) - parts)
            yield from _split(batch)
        self._hold(sites.records[done:], record_batch.next_start)

    def _complete(self, shift_ranges: ShiftRanges, next_start: int) -> list[_Neighbourhood]:
        """Return the neighbourhoods before the first that a later record can join or mask."""
        within_reach = max(self._rules.distance + LONGEST_SHIFT, self._rules.flank)
        return list(
            takewhile(
                lambda part: part.reach + within_reach < next_start,
                _neighbourhoods(shift_ranges, self._rules.distance),
            )
        )

    def _batch(
        self, contig: str, sites: Sites, shift_ranges: ShiftRanges, bases: ReferenceSlice
    ) -> LocusBatch:
        """Put sites into loci and make their haplotypes."""
        rules = self._rules
        most = OVERLAPPING_FACTOR * rules.max_combinations
        if rules.phased:
            genotypes = [genotypes_of(record, self._source) for record in sites.records]
            counts = option_counts(sites, genotypes)
            loci = loci_of(shift_ranges, counts, rules.distance, rules.max_combinations)
            phase_groups, contradictions = phase_groups_of_samples(sites, loci, genotypes)
            self._count("conflicting_alleles", contradictions)
        else:
            counts = option_counts(sites)
            loci = loci_of(shift_ranges, counts, rules.distance, rules.max_combinations)
            phase_groups = phase_groups_of_sites(sites, loci)
        haplotypes = haplotypes_of(
            sites,
            loci,
            phase_groups,
            bases,
            rules.flank,
            most,
            self._snvs if rules.masks else self._snvs[:0],
        )
        self._count("sites", len(sites))
        self._count("loci", len(loci))
        self._count("spanned_alleles", int((sites.kinds == AlleleKind.SPANNED).sum()))
        self._count("symbolic_alleles", int((sites.kinds == AlleleKind.SYMBOLIC).sum()))
        self._count("capped_loci", _capped_loci(phase_groups, most))
        return LocusBatch(contig, sites, shift_ranges, loci, haplotypes)

    def _hold(self, records: Sequence[VcfRecord], next_start: int) -> None:
        """Keep records, and the SNVs that may lie in the flanks of what is still to be made."""
        self._held = list(records)
        first = records[0].start if records else next_start
        self._snvs = self._snvs[self._snvs >= first - self._around]


def _neighbourhoods(shift_ranges: ShiftRanges, distance: int) -> Iterator[_Neighbourhood]:
    """Put sites together as `loci_of` does before it looks at combinations."""
    start, reach = 0, int(shift_ranges.ends[0])
    sites = zip(shift_ranges.starts.tolist(), shift_ranges.ends.tolist(), strict=True)
    for site, (extent_start, extent_end) in enumerate(sites):
        is_near = extent_start - reach <= distance
        if not is_near or site - start == _MAX_SITES:
            yield _Neighbourhood(start, site, reach, is_near)
            start, reach = site, extent_end
        reach = max(reach, extent_end)
    yield _Neighbourhood(start, len(shift_ranges.starts), reach, is_cut=False)


def _snv_positions(sites: Sites) -> NDArray[np.int64]:
    """Return where sites lie whose alleles are single bases, at least two of them."""
    is_base = (sites.alleles.lengths == 1) & (sites.kinds == AlleleKind.SEQUENCE)
    bases = np.add.reduceat(is_base, sites.allele_offsets[:-1], dtype=np.int64)
    alleles = np.diff(sites.allele_offsets)
    positions: NDArray[np.int64] = sites.starts[(bases == alleles) & (alleles > 1)]
    return positions


def _capped_loci(phase_groups: PhaseGroups, most: int) -> int:
    """Count the loci at which a carrier has more combinations than are kept."""
    options = np.diff(phase_groups.option_offsets)
    capped = set()
    for locus, (first, last) in zip(
        phase_groups.loci.tolist(), pairwise(phase_groups.group_offsets.tolist()), strict=True
    ):
        sizes = options[first:last].tolist()
        if prod(sizes) > max(most, 1 + sum(sizes) - len(sizes)):
            capped.add(locus)
    return len(capped)


def _split(batch: LocusBatch) -> Iterator[LocusBatch]:
    """Cut a batch into ones that are not too large."""
    starts, ends = batch.loci.starts, np.maximum.accumulate(batch.loci.ends)
    start = 0
    while start < len(batch.loci):
        limit = np.searchsorted(ends, starts[start] + _BASES_PER_BATCH, side="right")
        stop = min(max(int(limit), start + 1), start + _LOCI_PER_BATCH, len(batch.loci))
        yield batch.slice(start, stop)
        start = stop
