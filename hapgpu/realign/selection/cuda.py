"""Choice of the best haplotype of each read on a GPU (`cuda/realign/selection.cu`).

The bases to align are unpacked by `cuda/realign/queries.cu`, in one orientation or in both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of
from hapgpu.cigar.cuda import DeviceReadParts
from hapgpu.haplotypes.pairing.cuda import DeviceExtended, DeviceReadPairs
from hapgpu.io.bam.constants import UNMAPPED
from hapgpu.io.bam.cuda.device_records import RECORDS, DeviceRecords
from hapgpu.pairhmm.forward.cuda import device_log10_likelihoods
from hapgpu.pairhmm.options import QualityOptions
from hapgpu.pairhmm.reads.cuda.pairs_by_locus import DeviceLocusHaplotypes, DevicePairsByLocus
from hapgpu.pairhmm.reads.cuda.qualities import check_device_qualities, prepared_device_parts
from hapgpu.realign.selection.choice import INFORMATIVE, REMEDY, ScoredPairs
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128

UNPACK_QUERIES: Final = Kernel(
    "realign/queries.cu",
    "unpack_queries",
    (
        *(RECORDS, Array("reads", np.int64, "queries"), Array("offsets", np.int64, "queries", 1)),
        *(Array("out", np.uint8, "total"), Length("total"), Scalar("queries", np.int32)),
    ),
)

_NO_CAP: Final = 255
CHOOSE_BY_SCORE: Final = Kernel(
    "realign/selection.cu",
    "choose_by_score",
    (
        Array("scores", np.int32, "pairs"),
        Array("offsets", np.int64, "reads", 1),
        *(Length("pairs"), Scalar("reads", np.int32)),
        Array("best", np.int64, "reads"),
        Array("second_scores", np.int32, "reads"),
    ),
)
CHOOSE_BY_LIKELIHOOD: Final = Kernel(
    "realign/selection.cu",
    "choose_by_likelihood",
    (
        Array("likelihoods", np.float64, "pairs"),
        Array("scores", np.int32, "pairs"),
        Array("offsets", np.int64, "reads", 1),
        Scalar("tolerance", np.float64),
        *(Length("pairs"), Scalar("reads", np.int32)),
        Array("best", np.int64, "reads"),
        Array("second_scores", np.int32, "reads"),
    ),
)


@dataclass(frozen=True, slots=True)
class DeviceQueries:
    """The n reads as stored in the BAM, then the reversed reads, as in `Queries`, on a GPU.

    Attributes
    ----------
    bases
        uint8 text; reverse-complemented in the rows from n on.
    reads
        int64: the read of each row.
    reversed_row
        int64[n], the row of the reversed read; -1 for a read with one orientation.
    has_reversed
        Whether any read has two orientations.
    """

    bases: DeviceRagged
    reads: GpuArray
    reversed_row: GpuArray
    has_reversed: bool


def device_queries(records: DeviceRecords) -> DeviceQueries:
    """Return mapped reads in the orientation of the BAM, unmapped reads in both.

    Parameters
    ----------
    records
        n records on the current GPU; their bases are copied.
    """
    count = len(records)
    reads = cupy.arange(count)
    reversed_row = cupy.full(count, -1, dtype=np.int64)
    unmapped = cupy.flatnonzero(records.flags & UNMAPPED)
    if unmapped.size:
        reversed_row[unmapped] = count + cupy.arange(unmapped.size)
        reads = cupy.concatenate([reads, unmapped])
    offsets = offsets_of(records.layout.base_counts[reads])
    total = int(offsets[-1])
    bases = cupy.empty(total, dtype=np.uint8)
    if total:
        arguments = (records.fields, reads, offsets, bases, total, reads.size)
        launch_threads(UNPACK_QUERIES, _THREADS, reads.size * WARP, arguments)
    return DeviceQueries(DeviceRagged(bases, offsets), reads, reversed_row, unmapped.size > 0)


def best_by_score(offsets: GpuArray, scores: GpuArray) -> tuple[GpuArray, GpuArray]:
    """Return the best pair of n reads by scores, and the second-best score.

    Parameters
    ----------
    offsets
        int64[n + 1]: the pairs of read i are rows `offsets[i]` to `offsets[i + 1]`.
    scores
        int32[p]: the scores of the pairs.

    Returns
    -------
    int64[n], the first pair with the highest score, -1 for none; and int32[n], the best score of
    the other pairs, `NO_SCORE` for none.
    """
    count = int(offsets.size) - 1
    best, second = cupy.empty(count, dtype=np.int64), cupy.empty(count, dtype=np.int32)
    arguments = (scores, offsets, scores.size, count, best, second)
    launch_threads(CHOOSE_BY_SCORE, _THREADS, count, arguments)
    return best, second


def best_by_likelihood(
    offsets: GpuArray, likelihoods: GpuArray, scores: GpuArray, tolerance: float = INFORMATIVE
) -> tuple[GpuArray, GpuArray]:
    """Return the best pair of n reads by float64[p] likelihoods, and the second-best score.

    Parameters
    ----------
    offsets
        As in `best_by_score`.
    likelihoods, scores
        The log10 likelihoods and the scores, int32[p], of the pairs.
    tolerance
        Likelihoods that differ by at most this are ties.

    Returns
    -------
    int64[n], the first pair within the tolerance of the highest likelihood, -1 for none; and
    int32[n], the best score of the other pairs, `NO_SCORE` for none.
    """
    count = int(offsets.size) - 1
    best, second = cupy.empty(count, dtype=np.int64), cupy.empty(count, dtype=np.int32)
    arguments = (likelihoods, scores, offsets, tolerance, scores.size, count, best, second)
    launch_threads(CHOOSE_BY_LIKELIHOOD, _THREADS, count, arguments)
    return best, second


def are_tied(scored: ScoredPairs[DeviceReadPairs]) -> GpuArray:
    """Return bool[n]: whether a read has several pairs within the tolerance of its best."""
    highest = scored.best
    if scored.tolerance:
        scores = cupy.zeros(len(scored.pairs), dtype=np.int32)
        highest, _ = best_by_likelihood(scored.pairs.offsets, scored.values, scores, 0.0)
    near = scored.values >= scored.values[highest[scored.reads]] - scored.tolerance
    return cupy.bincount(scored.reads[near], minlength=int(scored.best.size)) > 1


@dataclass(frozen=True, slots=True)
class DevicePairLikelihoods:
    """Computes likelihoods on the current GPU; `source` names the input in errors."""

    device: CudaDevice
    source: str

    def at_best_locus(
        self,
        records: DeviceRecords,
        queries: DeviceQueries,
        rows: GpuArray,
        pairs: DeviceReadPairs,
        haplotypes: DeviceLocusHaplotypes,
    ) -> GpuArray:
        """Return the log10 likelihoods of the pairs of rows, as `ChoiceStages.likelihoods`.

        Raises
        ------
        InputError
            A read has no base qualities, or invalid indel qualities.
        """
        likelihoods = cupy.full(len(pairs), -np.inf)
        if not likelihoods.size:
            return likelihoods
        is_reversed = rows >= len(records)
        records = _as_sequenced(records.take(queries.reads[rows]))
        check_device_qualities(records, self.source, REMEDY)
        all_loci = DevicePairsByLocus.of(pairs, haplotypes)
        parts = all_loci.clipped_reads(records, haplotypes)
        max_bases = parts.longest_of_reads(len(records))
        parts = parts.with_all_bases_of(records, max_bases == 0)
        is_best_locus = parts.lengths >= max_bases
        best_loci = all_loci.take(is_best_locus)
        prepared = prepared_device_parts(
            records, parts.take(is_best_locus), QualityOptions(), self.source, is_reversed
        )
        batch = best_loci.hmm_batch(prepared, haplotypes)
        likelihoods[best_loci.order] = device_log10_likelihoods(batch, self.device)
        return likelihoods

    def of_extended(
        self,
        records: DeviceRecords,
        pairs: DeviceReadPairs,
        extended: DeviceExtended,
        clips: tuple[GpuArray, GpuArray],
    ) -> GpuArray:
        """Return log10 P(read | haplotype) of p pairs, float64[p], as `Likelihoods.of_extended`.

        Raises
        ------
        InputError
            A read has no base qualities, or invalid indel qualities.
        """
        likelihoods = cupy.empty(len(pairs), dtype=np.float64)
        if not likelihoods.size:
            return likelihoods
        check_device_qualities(records, self.source, REMEDY)
        leading, trailing = clips
        haplotypes = DeviceLocusHaplotypes.of_windows(extended)
        by_locus = DevicePairsByLocus.of(pairs, haplotypes)
        ends = (records.layout.base_counts - trailing).astype(np.int64)
        rows = by_locus.reads
        parts = DeviceReadParts(rows, leading.astype(np.int64)[rows], ends[rows])
        prepared = prepared_device_parts(records, parts, QualityOptions(), self.source)
        batch = by_locus.hmm_batch(prepared, haplotypes)
        likelihoods[by_locus.order] = device_log10_likelihoods(batch, self.device)
        return likelihoods


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
