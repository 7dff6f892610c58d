"""Likelihoods of BAM records in GPU memory: the CUDA counterpart of `scorer`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Self

import cupy
import numpy as np

from hapgpu.arrays.cuda import rows_of
from hapgpu.cigar.cuda.clips import clips_of
from hapgpu.cigar.cuda.encoding import record_reference_lengths, record_skipped_lengths
from hapgpu.cigar.cuda.read_parts import DeviceReadParts
from hapgpu.haplotypes.pairing.cuda import DeviceCandidates, DevicePairFinder, DeviceReadPairs
from hapgpu.haplotypes.pairing.extender_cuda import DeviceExtender
from hapgpu.haplotypes.pairing.pairs import PairFinder
from hapgpu.io.bam.constants import UNMAPPED
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.pairhmm.forward.cuda import device_log10_likelihoods
from hapgpu.pairhmm.normalize_cuda import normalize
from hapgpu.pairhmm.qualities.cuda import check_device_qualities, prepared_device_parts
from hapgpu.pairhmm.reads.cuda import (
    DeviceLocusHaplotypes,
    DevicePairsByLocus,
    count_excluded,
)
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes
from hapgpu.pairhmm.reads.scorer import REMEDY, ScorerOptions
from hapgpu.pairhmm.reads.tables_cuda import DeviceLikelihoods
from hapgpu.runtime.devices import CudaDevice

# Bytes on the GPU that a read takes for each pair and each base: columns of pairs, sorted and
# unsorted, and lists of the pair-HMM; bases and qualities, and coefficients of the pair-HMM.
_BYTES_PER_PAIR: Final = 250
_BYTES_PER_BASE: Final = 40
_MEMORY_SHARE: Final = 8  # the reads of one part may take 1/8 of the memory
_MAX_PART: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class DeviceHaplotypes:
    """Haplotypes and their loci on one GPU, for all threads; none changes them.

    Attributes
    ----------
    by_locus
        The haplotypes of each locus.
    finder
        The search for the haplotypes of records.
    """

    by_locus: DeviceLocusHaplotypes
    finder: DevicePairFinder

    @classmethod
    def upload(cls, by_locus: LocusHaplotypes, finder: PairFinder) -> Self:
        """Copy haplotypes to the current GPU; the current stream has to be waited for."""
        return cls(DeviceLocusHaplotypes.upload(by_locus), DevicePairFinder(finder))


class DeviceScorer:
    """Computes the likelihoods of batches of records on a GPU; threads must not share an object.

    The likelihoods and counts are those of `Scorer`. Make and call it with the GPU as the current
    device; it works on the current stream.

    Parameters
    ----------
    haplotypes
        The haplotypes.
    extender
        The extension of the haplotypes; None without.
    options
        Options of the likelihoods.
    device
        The GPU.
    source
        Name of the input, for errors.
    """

    def __init__(
        self,
        haplotypes: DeviceHaplotypes,
        extender: DeviceExtender | None,
        options: ScorerOptions,
        device: CudaDevice,
        source: str,
    ) -> None:
        self._haplotypes = haplotypes
        self._extender = extender
        self._options = options
        self._device = device
        self._memory = device.memory_budget()
        self._part_bytes = max(1, min(self._memory // _MEMORY_SHARE, _MAX_PART))
        self._source = source
        self._counted = ["without_bases_at_locus", "likelihoods", "cells"]
        if options.normalize:
            self._counted.append("poorly_modelled")

    def __call__(self, records: DeviceRecords) -> Iterator[tuple[DeviceLikelihoods, Counter[str]]]:
        """Compute the likelihoods of records, in order, in at least one part that fits the memory.

        Records are excluded as by `Scorer`, and counted with the parts.

        Raises
        ------
        InputError
            As `Scorer`.
        MemoryError
            The records do not fit the memory of the GPU.
        """
        candidates, counts = self._candidates(records)
        for start, end in pairwise(self._bounds(candidates, records)):
            is_all = end - start == len(records)
            part = records if is_all else records.take(candidates.rows[start:end])
            yield self._scored(part, candidates.pairs(start, end), counts), counts
            counts = Counter()

    def _candidates(self, records: DeviceRecords) -> tuple[DeviceCandidates, Counter[str]]:
        """Find the records to compare; count them, and those that are excluded."""
        required, excluded = self._options.require_flags, self._options.exclude_flags
        unmapped, without_bases = count_excluded(records, required, excluded)
        counts = Counter(reads=len(records), unmapped=unmapped, without_bases=without_bases)
        candidates = self._haplotypes.finder.find(
            records, required, excluded | UNMAPPED, needs_bases=True
        )
        if self._extender is not None:
            # Extended haplotypes have the introns that spliced reads lack.
            is_spliced = record_skipped_lengths(records.take(candidates.rows)) > 0
            counts["spliced"] = int(is_spliced.sum())
            candidates = candidates.take(~is_spliced)
        return candidates, counts

    def _bounds(self, candidates: DeviceCandidates, records: DeviceRecords) -> list[int]:
        """Return the bounds of parts of limited memory; there is one part at least."""
        count = len(candidates)
        bases = records.layout.base_counts[candidates.rows].astype(np.int64)
        ends = cupy.cumsum(_BYTES_PER_PAIR * candidates.counts + _BYTES_PER_BASE * bases)
        total = int(ends[-1]) if count else 0
        if total <= self._part_bytes:
            return [0, count]
        limits = cupy.arange(self._part_bytes, total, self._part_bytes)
        inner = cupy.searchsorted(ends, limits, side="right").get().tolist()
        return [0, *sorted({bound for bound in inner if 0 < bound < count}), count]

    def _scored(
        self, records: DeviceRecords, pairs: DeviceReadPairs, counts: Counter[str]
    ) -> DeviceLikelihoods:
        """Compute the likelihoods of reads with at least one haplotype each; add to counts."""
        counts.update(dict.fromkeys(self._counted, 0))
        if not len(pairs):
            nothing = cupy.empty(0, dtype=np.float64)
            return DeviceLikelihoods(records, pairs.reads, pairs.haplotypes, nothing)
        check_device_qualities(records, self._source, REMEDY)
        haplotypes, extended_pairs = self._extended(records, pairs)
        pairs_by_locus = DevicePairsByLocus.of(extended_pairs, haplotypes)
        parts = self._parts(records, pairs_by_locus, haplotypes)
        # Not a sum: CuPy compiles its kernels of reductions in each process.
        without_bases = int(cupy.flatnonzero(parts.lengths == 0).size)
        if without_bases:
            has_bases = parts.lengths > 0
            pairs_by_locus, parts = pairs_by_locus.take(has_bases), parts.take(has_bases)
        prepared = prepared_device_parts(records, parts, self._options.qualities, self._source)
        batch = pairs_by_locus.hmm_batch(prepared, haplotypes)
        likelihoods = device_log10_likelihoods(batch, self._device, self._memory)
        order = pairs_by_locus.order
        counts["without_bases_at_locus"] += without_bases
        if self._options.normalize:
            offsets = pairs_by_locus.offsets
            is_explained = normalize(likelihoods, offsets, parts.lengths)
            counts["poorly_modelled"] += int(cupy.flatnonzero(~is_explained).size)
            kept = is_explained[rows_of(offsets, int(order.size))]
            likelihoods, order = likelihoods[kept], order[kept]
        counts["likelihoods"] += int(order.size)
        counts["cells"] += batch.cells
        return _in_input_order(records, pairs, likelihoods, order)

    def _extended(
        self, records: DeviceRecords, pairs: DeviceReadPairs
    ) -> tuple[DeviceLocusHaplotypes, DeviceReadPairs]:
        """Return the haplotypes as used for the reads, and the pairs with row numbers of these."""
        if self._extender is None:
            return self._haplotypes.by_locus, pairs
        clips = clips_of(records, self._source)
        spans, positions = record_reference_lengths(records), records.positions.astype(np.int64)
        needed = self._extender.flanks_needed(
            positions - clips.leading,
            positions + spans + clips.trailing,
            records.layout.base_counts,
            pairs.reads,
            pairs.haplotypes,
        )
        extended, rows = self._extender.extend(pairs.haplotypes, needed)
        return DeviceLocusHaplotypes.of_windows(extended), DeviceReadPairs(pairs.offsets, rows)

    def _parts(
        self,
        records: DeviceRecords,
        pairs_by_locus: DevicePairsByLocus,
        haplotypes: DeviceLocusHaplotypes,
    ) -> DeviceReadParts:
        """Return the part of the read that each overlap uses; it may have no bases."""
        if self._options.whole_reads:
            return DeviceReadParts.whole(records, pairs_by_locus.reads)
        return pairs_by_locus.clipped_reads(records, haplotypes)


def _in_input_order(
    records: DeviceRecords, pairs: DeviceReadPairs, likelihoods: Any, order: Any
) -> DeviceLikelihoods:
    """Return likelihoods, of the pairs of rows `order`, in the order of the pairs."""
    reads, haplotypes = pairs.reads, pairs.haplotypes
    in_order = cupy.empty(len(pairs), dtype=np.float64)
    in_order[order] = likelihoods
    if order.size < len(pairs):
        is_kept = cupy.zeros(len(pairs), dtype=np.bool_)
        is_kept[order] = True
        reads, haplotypes, in_order = reads[is_kept], haplotypes[is_kept], in_order[is_kept]
    return DeviceLikelihoods(records, reads, haplotypes, in_order)
