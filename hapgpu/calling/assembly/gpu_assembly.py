"""Assembly with a GPU: it takes all active regions that it can, and the CPU takes the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.assembly.assembler import assembled_paths, reference_texts
from hapgpu.calling.assembly.coded_regions import CodedRegions, coded_regions
from hapgpu.calling.assembly.haplotypes import (
    LEFT,
    AssembledPaths,
    path_cigars,
    with_references,
)
from hapgpu.calling.batches import ActiveRegions, RegionHaplotypes, RegionReads, SegmentReads
from hapgpu.calling.options import AssemblyOptions
from hapgpu.realign.projection.haplotype_cigars import end_to_end_cigars
from hapgpu.runtime.devices import CpuDevice


@dataclass(frozen=True, slots=True)
class AlignedPaths:
    """Paths of active regions, and the alignments of `pad_pairs` of them and their references."""

    paths: AssembledPaths
    alignments: AlignmentBatch

    @classmethod
    def left(cls, regions: int) -> AlignedPaths:
        """Return no paths of so many regions, which are left to the CPU."""
        rows, scores = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float64)
        texts = Ragged.from_lengths(np.empty(0, dtype=np.uint8), rows)
        outcomes = np.full(regions, LEFT, dtype=np.uint8)
        cigars = Ragged.from_lengths(np.empty(0, dtype=np.uint32), rows)
        return cls(
            AssembledPaths(rows.astype(np.int64), texts, scores, outcomes),
            AlignmentBatch(rows, rows, cigars),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[AlignedPaths]) -> AlignedPaths:
        """Return paths of all regions of the parts, of which there is at least one."""
        if len(parts) == 1:
            return parts[0]
        counts = [part.paths.outcomes.size for part in parts]
        firsts = np.cumsum(counts) - counts
        paths = AssembledPaths(
            np.concatenate(
                [part.paths.regions + at for part, at in zip(parts, firsts, strict=True)]
            ),
            Ragged.concatenate([part.paths.bases for part in parts]),
            np.concatenate([part.paths.scores for part in parts]),
            np.concatenate([part.paths.outcomes for part in parts]),
        )
        return cls(paths, AlignmentBatch.concatenate([part.alignments for part in parts]))

    def divided(self, counts: Sequence[int]) -> list[AlignedPaths]:
        """Divide regions into parts of so many, in order."""
        ends = np.cumsum(counts)
        rows = np.searchsorted(self.paths.regions, np.concatenate(([0], ends)))
        parts = []
        for number, (count, end) in enumerate(zip(counts, ends, strict=True)):
            start, part = end - count, slice(rows[number], rows[number + 1])
            paths = AssembledPaths(
                self.paths.regions[part] - start,
                self.paths.bases[part],
                self.paths.scores[part],
                self.paths.outcomes[start:end],
            )
            alignments = self.alignments
            cigars = alignments.cigars[part]
            parts.append(
                AlignedPaths(
                    paths, AlignmentBatch(alignments.scores[part], alignments.offsets[part], cigars)
                )
            )
        return parts


class GpuAssembly:
    """Assembly that computes, as `assembled_haplotypes`, haplotypes of active regions.

    Regions with a junction of split reads, whose haplotypes are aligned by other weights, are left
    to the CPU too.

    Parameters
    ----------
    aligned_paths
        Assembles on the GPU: `cuda.aligned_paths` for the options.
    options
        k-mers, pruning, and the number of haplotypes.
    """

    def __init__(
        self, aligned_paths: Callable[[CodedRegions], AlignedPaths], options: AssemblyOptions
    ) -> None:
        self._aligned_paths = aligned_paths
        self._options = options

    def __call__(
        self,
        reads: RegionReads,
        segment: SegmentReads,
        regions: ActiveRegions,
        has_junction: NDArray[np.bool_],
    ) -> tuple[RegionHaplotypes, NDArray[np.uint8]]:
        """Assemble; parameters and result as of `assembled_haplotypes`.

        The flags of regions that the CPU assembles have `LEFT` too.

        Raises
        ------
        DeviceError
            The GPU has too little memory, or failed.
        """
        references, bases = reference_texts(segment, regions), reads.bases(segment.reads)
        inputs = _Inputs(bases, reads, references)
        found = self._on_gpu(inputs.of_regions(~has_junction), np.flatnonzero(~has_junction))
        outcomes = np.full(len(regions), LEFT, dtype=np.uint8)
        outcomes[~has_junction] = found.paths.outcomes
        is_left = outcomes & LEFT != 0
        if is_left.any():
            own = self._on_cpu(inputs.of_regions(is_left), np.flatnonzero(is_left), has_junction)
            outcomes[is_left] |= own.paths.outcomes
            found = found.merged(own)
        paths = found.paths
        haplotypes = with_references(paths, found.cigars, found.is_aligned, references)
        return haplotypes, outcomes

    def _on_gpu(self, inputs: _Inputs, rows: NDArray[np.int64]) -> _PathsWithCigars:
        coded = coded_regions(*inputs.columns, self._options.min_base_quality)
        found = self._aligned_paths(coded)
        paths = found.paths
        queries = np.arange(len(paths.bases), dtype=np.int32)
        pairs = PairBatch(inputs.references, paths.bases, paths.regions.astype(np.int32), queries)
        return _PathsWithCigars(
            paths.with_regions(rows[paths.regions]), *end_to_end_cigars(pairs, found.alignments)
        )

    def _on_cpu(
        self, inputs: _Inputs, rows: NDArray[np.int64], has_junction: NDArray[np.bool_]
    ) -> _PathsWithCigars:
        paths = assembled_paths(*inputs.columns, self._options)
        cigars = path_cigars(paths, inputs.references, CpuDevice(1), has_junction[rows])
        return _PathsWithCigars(paths.with_regions(rows[paths.regions]), *cigars)


@dataclass(frozen=True, slots=True)
class _Inputs:
    """Bases of m reads, uint8 text; the reads of r active regions; their references, uint8 text."""

    bases: Ragged
    reads: RegionReads
    references: Ragged

    @property
    def columns(self) -> tuple[Ragged, RegionReads, Ragged]:
        """All columns."""
        return self.bases, self.reads, self.references

    def of_regions(self, kept: NDArray[np.bool_]) -> _Inputs:
        """Select active regions by a mask, bool[r]."""
        if kept.all():
            return self
        rows = kept[self.reads.regions]
        return _Inputs(
            self.bases.take(rows), self.reads.of_regions(kept), self.references.take(kept)
        )


@dataclass(frozen=True, slots=True)
class _PathsWithCigars:
    """p paths; their CIGARs, uint32 in BAM encoding; bool[p]: whether they have one."""

    paths: AssembledPaths
    cigars: Ragged
    is_aligned: NDArray[np.bool_]

    def merged(self, others: _PathsWithCigars) -> _PathsWithCigars:
        """Return the paths of both, by region; the two have no region in common."""
        one, other = self.paths, others.paths
        regions = np.concatenate((one.regions, other.regions))
        order = np.argsort(regions, kind="stable")
        paths = AssembledPaths(
            regions[order],
            Ragged.concatenate([one.bases, other.bases]).take(order),
            np.concatenate((one.scores, other.scores))[order],
            one.outcomes,
        )
        return _PathsWithCigars(
            paths,
            Ragged.concatenate([self.cigars, others.cigars]).take(order),
            np.concatenate((self.is_aligned, others.is_aligned))[order],
        )
