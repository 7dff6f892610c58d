"""Likelihoods of batches of aligned reads on any device: pairs, qualities, pair-HMM, limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, Protocol, Self, TypeAlias, TypeVar

from hapgpu.errors import InputError
from hapgpu.haplotypes.pairing.extended_haplotypes import Extender
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.alignments.reader import ReadSelection
from hapgpu.io.bam.header import SamHeader
from hapgpu.pairhmm.options import QualityOptions
from hapgpu.runtime.gpu_array import GpuArray

REMEDY: Final = "add them, or remove the read"
"""Of a read without base qualities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerOptions:
    """Options of the likelihoods.

    Attributes
    ----------
    qualities
        Options of the qualities.
    normalize
        Raise likelihoods to at least the best of their read and locus less 4.5, and exclude reads
        at loci where no haplotype explains them.
    whole_reads
        Use all bases of a read at each of its loci, instead of the bases aligned within the
        locus; haplotypes are not extended.
    require_flags, exclude_flags
        A read must have all of the first flags and none of the second.
    """

    qualities: QualityOptions
    normalize: bool
    whole_reads: bool
    require_flags: int
    exclude_flags: int


@dataclass(frozen=True, slots=True)
class ScoringTask:
    """Reads of a run, and what they are compared with.

    Attributes
    ----------
    reads
        The reads.
    haplotypes
        The haplotypes; each read is paired with the haplotypes of the loci that it overlaps.
    options
        Options of the likelihoods.
    reference
        FASTA with its index, of CRAM. If given, haplotypes with loci are also extended by its
        bases as far as each read reaches, and reads are not clipped.
    """

    reads: ReadSelection
    haplotypes: HaplotypeSet
    options: ScorerOptions
    reference: Path | None = None

    def new_extender(self, header: SamHeader) -> Extender | None:
        """Return a new extender of the haplotypes; None if they are not extended.

        Raises
        ------
        InputError
            The reference cannot be read, lacks a contig, or ends before a locus.
        """
        if self.reference is None or not self.haplotypes.loci or self.options.whole_reads:
            return None
        return Extender(self.haplotypes, self.reference, header)

    def without_alignments(self) -> InputError:
        """Return the error for reads of FASTQ."""
        return InputError(
            f"{self.reads.path}: FASTQ, but likelihoods need the orientation and mapping quality of"
            " aligned reads; map the reads to BAM first"
        )


class _Overlaps(Protocol):
    """`PairsByLocus`, or `DevicePairsByLocus`."""

    @property
    def order(self) -> GpuArray:
        """int64[p], the row of each pair in the input, in the order of the likelihoods."""

    def take(self, overlaps: GpuArray, /) -> Self:
        """Keep the overlaps of a mask, bool[m]."""

    def pairs_of(self, overlaps: GpuArray, /) -> GpuArray:
        """Return bool[p]: a mask of pairs, in `order`, from a mask of overlaps, bool[m]."""


class _Parts(Protocol):
    """`ReadParts`, or `DeviceReadParts`."""

    @property
    def lengths(self) -> GpuArray:
        """int64[m]: bases of the parts."""

    def take(self, rows: GpuArray, /) -> Self:
        """Keep the parts of a mask, bool[m]."""


class _Batch(Protocol):
    """`HmmBatch`, or `DeviceHmmBatch`."""

    @property
    def cells(self) -> int:
        """Matrix cells of all pairs."""


ScoredPairs: TypeAlias = tuple[GpuArray, GpuArray]
"""float64[k], log10, and int64[k], the row of the pair of each; `numpy.ndarray` on the CPU."""

Reads = TypeVar("Reads", bound=Sized)
Pairs = TypeVar("Pairs", bound=Sized)
Haplotypes = TypeVar("Haplotypes")
Overlaps = TypeVar("Overlaps", bound=_Overlaps)
Parts = TypeVar("Parts", bound=_Parts)
Prepared = TypeVar("Prepared")
Batch = TypeVar("Batch", bound=_Batch)
Scored = TypeVar("Scored")


@dataclass(frozen=True, slots=True)
class ScoringStages(Generic[Reads, Pairs, Haplotypes, Overlaps, Parts, Prepared, Batch, Scored]):
    """Stages of the likelihoods of reads on one kind of device, in their order.

    Attributes
    ----------
    find
        Finds the haplotypes of reads, in one part or several, and counts the excluded reads: by
        their flags, at no locus, unmapped (their orientation is unknown), without bases and, where
        haplotypes are extended, spliced.
    check_qualities
        Raises an error for reads without base qualities.
    extend
        Returns the haplotypes as used for the reads, and the pairs with row numbers of these: an
        extended haplotype has a row for each pair of flanks.
    group
        Groups pairs by locus, in m overlaps.
    clip
        Returns the part of the read that each overlap uses; it may have no bases.
    prepare
        Prepares the qualities of parts of reads.
    join
        Returns the batch of the pair-HMM.
    likelihoods
        Returns float64[p], log10, in the order of the overlaps.
    normalize
        Raises low likelihoods; returns them, and which overlaps a haplotype explains, bool[m].
    result
        Returns likelihoods in the order of the pairs; None for none.
    """

    find: Callable[[Reads, Counter[str]], Iterable[tuple[Reads, Pairs]]]
    check_qualities: Callable[[Reads], None]
    extend: Callable[[Reads, Pairs], tuple[Haplotypes, Pairs]]
    group: Callable[[Pairs, Haplotypes], Overlaps]
    clip: Callable[[Overlaps, Reads, Haplotypes], Parts]
    prepare: Callable[[Reads, Parts], Prepared]
    join: Callable[[Overlaps, Prepared, Haplotypes], Batch]
    likelihoods: Callable[[Batch], GpuArray]
    normalize: Callable[[GpuArray, Overlaps, Parts], tuple[GpuArray, GpuArray]]
    result: Callable[[Reads, Pairs, ScoredPairs | None], Scored]


class Scorer(Generic[Reads, Pairs, Haplotypes, Overlaps, Parts, Prepared, Batch, Scored]):
    """Computes the likelihoods of batches of reads on one device.

    Parameters
    ----------
    stages
        Stages of the device; threads must not share them.
    is_normalized
        See `ScorerOptions.normalize`.
    """

    def __init__(
        self,
        stages: ScoringStages[Reads, Pairs, Haplotypes, Overlaps, Parts, Prepared, Batch, Scored],
        *,
        is_normalized: bool,
    ) -> None:
        self._stages = stages
        self._is_normalized = is_normalized
        poor = ("poorly_modelled",) if is_normalized else ()
        self._counted = ("without_bases_at_locus", *poor, "likelihoods", "cells")

    def __call__(self, reads: Reads) -> Iterator[tuple[Scored, Counter[str]]]:
        """Compute the likelihoods of reads, in order, in at least one part, with its counts.

        Excluded are the reads that `ScoringStages.find` names, and reads without bases at
        their loci.

        Raises
        ------
        InputError
            A read has no base qualities, a tag `BI` or `BD` without one quality per base, or
            fewer bases than its CIGAR clips; or the reference is damaged.
        MemoryError
            The reads do not fit the memory of the GPU.
        """
        counts = Counter(reads=len(reads))
        for part, pairs in self._stages.find(reads, counts):
            counts.update(dict.fromkeys(self._counted, 0))
            scored = self._scored(part, pairs, counts) if len(pairs) else None
            yield self._stages.result(part, pairs, scored), counts
            counts = Counter()

    def _scored(self, reads: Reads, pairs: Pairs, counts: Counter[str]) -> ScoredPairs:
        """Compute the likelihoods of reads with at least one haplotype each; add to counts."""
        stages = self._stages
        stages.check_qualities(reads)
        haplotypes, pairs = stages.extend(reads, pairs)
        overlaps = stages.group(pairs, haplotypes)
        parts = stages.clip(overlaps, reads, haplotypes)
        if without_bases := _count(parts.lengths == 0):
            has_bases = parts.lengths > 0
            overlaps, parts = overlaps.take(has_bases), parts.take(has_bases)
        batch = stages.join(overlaps, stages.prepare(reads, parts), haplotypes)
        likelihoods, order = stages.likelihoods(batch), overlaps.order
        counts["without_bases_at_locus"] += without_bases
        if self._is_normalized:
            likelihoods, is_explained = stages.normalize(likelihoods, overlaps, parts)
            counts["poorly_modelled"] += _count(~is_explained)
            kept = overlaps.pairs_of(is_explained)
            likelihoods, order = likelihoods[kept], order[kept]
        counts["likelihoods"] += int(order.size)
        counts["cells"] += batch.cells
        return likelihoods, order


def _count(mask: GpuArray) -> int:
    """Count the rows of a mask: not a sum, as CuPy compiles its reductions in each process."""
    return int(mask.nonzero()[0].size)
