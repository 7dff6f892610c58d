"""Choice of the best haplotype of a read by likelihood on a GPU; as `by_likelihood`."""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.cigar.cuda.read_parts import clipped_parts
from hapgpu.haplotypes.pairing.cuda import DeviceReadPairs
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.cuda.packed import download_records
from hapgpu.io.bam.decode import decode_block
from hapgpu.pairhmm.qualities.cuda import DeviceParts
from hapgpu.pairhmm.reads.cuda import DeviceOverlaps, part_likelihoods
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes
from hapgpu.realign.align.cuda import score_device_pairs
from hapgpu.realign.align.device_batches import DevicePairs
from hapgpu.realign.queries.cuda import DeviceQueries
from hapgpu.realign.queries.orientations import queries_of
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.realign.selection.by_likelihood import INFORMATIVE, ROUNDING, LikelihoodChoice
from hapgpu.realign.selection.cuda import DeviceScoredPairs, OrientedPairs, has_alternatives
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.pool import Pool

_THREADS: Final = 128
_UNMAPPED: Final = 4

CHOOSE_BY_LIKELIHOOD: Final = Kernel(
    "realign/selection.cu",
    "choose_by_likelihood",
    (
        Array("likelihoods", np.float64, "pairs"),
        Array("scores", np.int32, "pairs"),
        Array("offsets", np.int64, "reads", 1),
        Scalar("tolerance", np.float64),
        Scalar("pairs", np.int32),
        Scalar("reads", np.int32),
        Array("best", np.int64, "reads"),
        Array("second_scores", np.int32, "reads"),
    ),
)
LONGEST_PARTS: Final = Kernel(
    "realign/selection.cu",
    "longest_parts",
    (
        Array("rows", np.int64, "parts"),
        Array("lengths", np.int64, "parts"),
        Scalar("parts", np.int32),
        Scalar("queries", np.int32),
        Array("longest", np.int32, "queries"),
    ),
)


def best_by_likelihood(offsets: Any, likelihoods: Any, scores: Any) -> tuple[Any, Any]:
    """Return the best pair of n reads by float64[p] likelihoods, and the second-best score.

    Parameters
    ----------
    offsets
        int64[n + 1]: the pairs of read i are rows `offsets[i]` to `offsets[i + 1]`.
    likelihoods
        log10 likelihoods of the pairs; those that differ by at most `INFORMATIVE` are ties.
    scores
        int32[p]: the scores of the pairs.

    Returns
    -------
    int64[n], the first pair with the highest likelihood, -1 for none; and int32[n], the best score
    of the other pairs, `NO_SCORE` for none.
    """
    count = int(offsets.size) - 1
    best, second = cupy.empty(count, dtype=np.int64), cupy.empty(count, dtype=np.int32)
    arguments = (likelihoods, scores, offsets, INFORMATIVE, scores.size, count, best, second)
    launch_threads(CHOOSE_BY_LIKELIHOOD, _THREADS, count, arguments)
    return best, second


class DeviceLikelihoodChoice:
    """Chooses the best haplotype of each read by likelihood, as `LikelihoodChoice`, on a GPU.

    Parameters
    ----------
    haplotypes
        The haplotypes of the pairs.
    sequences
        Their sequences, on the current GPU.
    scoring
        Weights of the scores of the pairs.
    device
        The current GPU.
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
        self._sequences = sequences
        self._scoring = scoring
        self._device = device
        self._by_locus = LocusHaplotypes.of(haplotypes)
        self._locus_index = cupy.asarray(self._by_locus.locus_index)
        self._starts = cupy.asarray(self._by_locus.starts)
        self._ends = cupy.asarray(self._by_locus.ends)
        self._on_host = LikelihoodChoice(haplotypes, scoring, device, source)

    def __call__(
        self, pairs: DeviceReadPairs, records: DeviceRecords, queries: DeviceQueries
    ) -> DeviceScoredPairs:
        """Choose the pair of each read with the highest likelihood, the first of ties.

        Parameters
        ----------
        pairs
            The pairs of the reads; a read without bases has none.
        records
            The reads.
        queries
            The reads in their orientations.

        Raises
        ------
        InputError
            A read with several pairs or orientations has no base qualities, or invalid indel
            qualities.
        """
        oriented = OrientedPairs.of(pairs, queries)
        reads, both = oriented.reads, oriented.both
        rows = cupy.concatenate([reads, oriented.reversed_rows])
        haplotypes = cupy.concatenate([pairs.haplotypes, pairs.haplotypes[both]])
        is_computed = has_alternatives(pairs, queries)[queries.reads[rows]]
        computed = cupy.flatnonzero(is_computed)
        values = cupy.zeros(rows.size, dtype=np.float64)
        if computed.size:
            found = self._at_best_locus(rows[computed], haplotypes[computed], records, queries)
            if found is None:
                return self._chosen_on_host(pairs, records)
            values[computed] = found
        likelihoods = values[: len(pairs)]
        query_rows = oriented.choose(likelihoods, values[len(pairs) :], ROUNDING)
        scores = self._scores(pairs, reads, query_rows, queries)
        chosen = best_by_likelihood(pairs.offsets, likelihoods, scores)
        return DeviceScoredPairs(pairs, reads, query_rows, *chosen)

    def _at_best_locus(
        self, rows: Any, haplotypes: Any, records: DeviceRecords, queries: DeviceQueries
    ) -> Any:
        """Return the likelihoods of pairs, float64[p]; -inf except at the query's best locus.

        The best locus has most aligned bases of the read. A read without bases at any locus is
        used whole. Returns None if a read lacks qualities.
        """
        overlaps = DeviceOverlaps.of(self._locus_index[haplotypes], rows, len(queries.bases))
        parts = self._parts(overlaps, records, queries)
        longest = cupy.zeros(len(queries.bases), dtype=np.int32)
        arguments = (overlaps.rows, parts.lengths, overlaps.rows.size, longest.size, longest)
        launch_threads(LONGEST_PARTS, _THREADS, overlaps.rows.size, arguments)
        longest = longest[overlaps.rows]
        parts = _whole_where(longest == 0, parts, records)
        is_best = parts.lengths >= longest
        chosen = cupy.flatnonzero(is_best)
        found = part_likelihoods(
            records,
            queries.bases,
            (parts.take(chosen), overlaps.loci[chosen]),
            self._by_locus,
            self._device,
        )
        if found is None:
            return None
        likelihoods = cupy.full(rows.size, -np.inf)
        likelihoods[overlaps.order[is_best[overlaps.of_pairs]]] = found
        return likelihoods

    def _parts(
        self, overlaps: DeviceOverlaps, records: DeviceRecords, queries: DeviceQueries
    ) -> DeviceParts:
        """Return the part of the read in each overlap; empty where its alignment has no bases."""
        reads = queries.reads[overlaps.rows]
        if self._starts.size:
            loci = overlaps.loci
            starts, ends = clipped_parts(records, reads, self._starts[loci], self._ends[loci])
            is_unmapped = (records.flags[reads] & _UNMAPPED) != 0
            starts[is_unmapped] = 0
            ends[is_unmapped] = 0
        else:
            starts = cupy.zeros(reads.size, dtype=np.int64)
            ends = records.layout.base_counts[reads].astype(np.int64)
        return DeviceParts(overlaps.rows, reads, overlaps.rows >= len(records), starts, ends)

    def _scores(
        self, pairs: DeviceReadPairs, reads: Any, query_rows: Any, queries: DeviceQueries
    ) -> Any:
        """Return int32[p]: the score of each pair in its orientation; 0 for a read's only pair."""
        scores = cupy.zeros(len(pairs), dtype=np.int32)
        several = cupy.flatnonzero((pairs.counts > 1)[reads])
        batch = DevicePairs(
            self._sequences,
            queries.bases,
            pairs.haplotypes[several],
            query_rows[several].astype(np.int32),
        )
        scores[several] = score_device_pairs(batch, self._scoring, Overhang.SOFTCLIP, self._device)
        return scores

    def _chosen_on_host(self, pairs: DeviceReadPairs, records: DeviceRecords) -> DeviceScoredPairs:
        """Choose in host memory, where a read that lacks qualities is an error."""
        with Pool(1) as pool:
            reads = decode_block(download_records(records), pool)
        scored = self._on_host(pairs.download(), reads, queries_of(reads))
        return DeviceScoredPairs(
            pairs,
            pairs.reads,
            cupy.asarray(scored.queries),
            cupy.asarray(scored.best),
            cupy.asarray(scored.second_scores),
        )


def _whole_where(is_whole: Any, parts: DeviceParts, records: DeviceRecords) -> DeviceParts:
    """Extend the parts of a mask to all bases of the read."""
    ends = records.layout.base_counts[parts.reads]
    return DeviceParts(
        parts.queries,
        parts.reads,
        parts.is_reversed,
        cupy.where(is_whole, 0, parts.starts),
        cupy.where(is_whole, ends, parts.ends),
    )
