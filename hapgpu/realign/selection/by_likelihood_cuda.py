"""Choice of the best haplotype of a read by likelihood, on a GPU; same as `by_likelihood`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Self

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of, rows_of
from hapgpu.haplotypes.pairing.cuda import DeviceReadPairs
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.bam.constants import UNMAPPED
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.pairhmm.forward.cuda import device_log10_likelihoods
from hapgpu.pairhmm.qualities.cuda import check_device_qualities, prepared_device_parts
from hapgpu.pairhmm.qualities.prepare import QualityOptions
from hapgpu.pairhmm.reads.cuda.pairs_by_locus import DeviceLocusHaplotypes, DevicePairsByLocus
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes
from hapgpu.realign.align.cuda import score_device_pairs
from hapgpu.realign.align.device_batches import DevicePairs
from hapgpu.realign.queries.cuda import DeviceQueries
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.realign.selection.by_likelihood import INFORMATIVE, REMEDY, ROUNDING
from hapgpu.realign.selection.cuda import DeviceScoredPairs, OrientedPairs, best_by_likelihood
from hapgpu.runtime.devices import CudaDevice

_NO_CAP: Final = 255


@dataclass(frozen=True, slots=True)
class _OrientedReads:
    """Reads with several pairs, as stored, then all reversed reads with pairs, and their pairs.

    Attributes
    ----------
    records
        m records. Unmapped reads have no mapping quality, no alignment and no tags.
    is_reversed
        bool[m].
    pairs
        The pairs of the reads.
    rows
        int64: the row of each of these pairs in the input.
    stored
        Number of pairs with reads as stored; they are first.
    """

    records: DeviceRecords
    is_reversed: Any
    pairs: DeviceReadPairs
    rows: Any
    stored: int

    @classmethod
    def of(cls, pairs: DeviceReadPairs, records: DeviceRecords, queries: DeviceQueries) -> Self:
        """Select the reads with more than one pair, in all orientations."""
        orientations = 1 + (queries.reversed_row >= 0)
        has_alternatives = pairs.counts * orientations > 1
        rows = cupy.flatnonzero(has_alternatives[queries.reads])
        reads = queries.reads[rows]
        is_reversed = rows >= len(records)
        offsets = offsets_of(pairs.counts[reads])
        total = int(offsets[-1])
        row = rows_of(offsets, total)
        pair_rows = cupy.arange(total) + (pairs.offsets[reads] - offsets[:-1])[row]
        return cls(
            _as_sequenced(records.take(reads)),
            is_reversed,
            DeviceReadPairs(offsets, pairs.haplotypes[pair_rows]),
            pair_rows,
            total - int(is_reversed[row].sum()),
        )


class DeviceLikelihoodChoice:
    """Chooses the best haplotype of each read by likelihood on the current GPU.

    Parameters
    ----------
    haplotypes
        The haplotypes of the pairs.
    sequences
        The same haplotypes on the GPU.
    scoring
        Weights of the scores of the pairs.
    device
        The GPU.
    source
        Name of the input, for errors.
    """

    def __init__(
        self,
        haplotypes: HaplotypeSet,
        sequences: DeviceRagged,
        scoring: Scoring,
        device: CudaDevice,
        source: str,
    ) -> None:
        self._by_locus = DeviceLocusHaplotypes.upload(LocusHaplotypes.of(haplotypes))
        self._sequences = sequences
        self._scoring = scoring
        self._device = device
        self._source = source

    def __call__(
        self, pairs: DeviceReadPairs, records: DeviceRecords, queries: DeviceQueries
    ) -> DeviceScoredPairs:
        """Choose the pair of each read with the highest likelihood, as `LikelihoodChoice`.

        Raises
        ------
        InputError
            A read with several pairs or orientations has no base qualities, or invalid indel
            qualities.
        """
        oriented = OrientedPairs.of(pairs, queries)
        reads = _OrientedReads.of(pairs, records, queries)
        computed = self._at_best_locus(reads)
        likelihoods = cupy.zeros(len(pairs), dtype=np.float64)
        likelihoods[reads.rows[: reads.stored]] = computed[: reads.stored]
        query_rows = oriented.choose(likelihoods, computed[reads.stored :], ROUNDING)
        scores = self._scores(pairs, query_rows, queries)
        chosen = best_by_likelihood(pairs.offsets, likelihoods, scores)
        reads = oriented.reads
        return DeviceScoredPairs(pairs, reads, query_rows, *chosen, likelihoods, INFORMATIVE)

    def _at_best_locus(self, reads: _OrientedReads) -> Any:
        """Return the likelihoods of pairs, float64; -inf except at the read's best locus."""
        likelihoods = cupy.full(len(reads.pairs), -np.inf)
        if not likelihoods.size:
            return likelihoods
        records = reads.records
        check_device_qualities(records, self._source, REMEDY)
        all_loci = DevicePairsByLocus.of(reads.pairs, self._by_locus)
        parts = all_loci.clipped_reads(records, self._by_locus)
        max_bases = parts.longest_of_reads(len(records))
        parts = parts.with_all_bases_of(records, max_bases == 0)
        is_best_locus = parts.lengths >= max_bases
        best_loci = all_loci.take(is_best_locus)
        prepared = prepared_device_parts(
            records, parts.take(is_best_locus), QualityOptions(), self._source, reads.is_reversed
        )
        batch = best_loci.hmm_batch(prepared, self._by_locus)
        likelihoods[best_loci.order] = device_log10_likelihoods(batch, self._device)
        return likelihoods

    def _scores(self, pairs: DeviceReadPairs, query_rows: Any, queries: DeviceQueries) -> Any:
        """Return int32[p]: the score of each pair in its orientation; 0 for a read's only pair."""
        scores = cupy.zeros(len(pairs), dtype=np.int32)
        several = cupy.flatnonzero((pairs.counts > 1)[pairs.reads])
        batch = DevicePairs(
            self._sequences,
            queries.bases,
            pairs.haplotypes[several],
            query_rows[several].astype(np.int32),
        )
        scores[several] = score_device_pairs(batch, self._scoring, Overhang.SOFTCLIP, self._device)
        return scores


def _as_sequenced(records: DeviceRecords) -> DeviceRecords:
    """Return records without mapping quality, alignment and tags where they are unmapped.

    Tags of base recalibration are for one orientation.
    """
    unmapped = (records.flags & UNMAPPED) > 0
    layout = records.layout
    return replace(
        records,
        mapping_qualities=cupy.where(unmapped, np.uint8(_NO_CAP), records.mapping_qualities),
        layout=layout._replace(
            cigar_lengths=cupy.where(unmapped, np.int32(0), layout.cigar_lengths),
            tag_lengths=cupy.where(unmapped, np.int32(0), layout.tag_lengths),
        ),
    )
