"""New alignments of reads with the reference, through the haplotypes that explain them best."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch, ReadBatch
from hapgpu.arrays.kinds import HOST
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.clips import Clips, clips_of, with_hard_clips
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.haplotypes.pairing.extended_haplotypes import ExtendedHaplotypes, Extender
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import Region
from hapgpu.realign.align.dispatch import align_pairs, score_pairs
from hapgpu.realign.projection.clip_ends import clip_end_insertions
from hapgpu.realign.projection.placement import Placement, place_haplotypes
from hapgpu.realign.projection.project import project_alignments
from hapgpu.realign.scoring import PRESETS, Overhang
from hapgpu.realign.selection.cpu import first_of_best
from hapgpu.realign.selection.queries import ClipVariants
from hapgpu.report.sites.evidence import SiteReads
from hapgpu.runtime.devices import CpuDevice

_SCORING: Final = PRESETS["read-to-haplotype"]
_DEVICE: Final = CpuDevice(1)
_NOT_PLACED: Final = -1


@dataclass(frozen=True, slots=True)
class Realignment:
    """New alignments of r reads, and the haplotypes that they use.

    Attributes
    ----------
    positions
        int32[r], 0-based; the old position where there is no new alignment.
    cigars
        uint32 in BAM encoding; the old CIGAR where there is no new alignment.
    haplotypes
        int64[h], ascending rows of `batch.haplotypes`: the haplotypes with an alignment.
    sequences
        uint8 text, h rows: these haplotypes with flanks of the reference.
    haplotype_starts
        int64[h], 0-based: where they start.
    haplotype_cigars
        uint32 in BAM encoding, h rows: the alignments of haplotypes with the reference.
    """

    positions: NDArray[np.int32]
    cigars: Ragged
    haplotypes: NDArray[np.int64]
    sequences: Ragged
    haplotype_starts: NDArray[np.int64]
    haplotype_cigars: Ragged


def realignment_of(
    found: SiteReads, reference: Path, fasta: ReferenceFasta, source: str
) -> Realignment:
    """Align each read to the haplotype that explains its fragment best, as in GATK's bamout.

    Soft-clipped ends are aligned if the haplotype explains them, as `hapgpu realign` does.

    Parameters
    ----------
    found
        The reads.
    reference, fasta
        The reference, by its path and open.
    source
        Name of the reads, for errors.

    Raises
    ------
    InputError
        The reference cannot be read, or a read has fewer bases than its CIGAR clips.
    """
    batch, reads = found.batch, found.reads
    references = batch.haplotypes.offsets[:-1]  # the first haplotype of a locus is the reference
    used = np.union1d(references, found.haplotypes)
    haplotypes = _haplotype_set(batch, used, fasta)
    header = SamHeader.from_references((batch.contig,), (fasta.lengths[batch.contig],))
    placement = place_haplotypes(haplotypes, reference, header, _DEVICE)
    placed = np.array(placement.haplotypes.names, dtype=np.int64)
    numbers = np.full(len(batch.haplotypes.sequences), _NOT_PLACED, dtype=np.int32)
    numbers[placed] = np.arange(placed.size)
    own = numbers[found.haplotypes]
    rows = np.flatnonzero(own != _NOT_PLACED)
    cigars, positions = reads.cigars, reads.positions.copy()
    if rows.size:
        chosen = reads.take(rows)
        new_positions, new_cigars, ok = _projected(chosen, own[rows], placement, header, source)
        positions[rows[ok]] = new_positions[ok]
        both = Ragged.concatenate([cigars, new_cigars])
        source_rows = np.arange(len(reads))
        source_rows[rows[ok]] = len(reads) + np.flatnonzero(ok)
        cigars = both.take(source_rows)
    loci = np.array([locus.start for locus in placement.haplotypes.loci], dtype=np.int64)
    return Realignment(
        positions,
        cigars,
        placed,
        _with_flanks(placement, fasta),
        loci[placement.haplotypes.locus_index] - placement.flanks[0],
        placement.cigars,
    )


def _haplotype_set(
    batch: LocusBatch, rows: NDArray[np.int64], fasta: ReferenceFasta
) -> HaplotypeSet:
    """Return haplotypes named by their rows, with the reference instead of N in their flanks."""
    haplotypes, loci = batch.haplotypes, batch.loci
    locus_of_row = np.searchsorted(haplotypes.offsets, rows, side="right") - 1
    regions = [
        Region(batch.contig, start, end)
        for start, end in zip(haplotypes.starts.tolist(), haplotypes.ends.tolist(), strict=True)
    ]
    bases = [fasta.fetch(region).upper() for region in regions]
    lefts = (loci.starts - haplotypes.starts).tolist()
    rights = (haplotypes.ends - loci.ends).tolist()
    sequences = []
    for row, locus in zip(rows.tolist(), locus_of_row.tolist(), strict=True):
        sequence = haplotypes.sequences[row].tobytes()
        left, right = lefts[locus], rights[locus]
        middle = sequence[left : len(sequence) - right]
        sequences.append(bases[locus][:left] + middle + bases[locus][len(bases[locus]) - right :])
    return HaplotypeSet(
        tuple(map(str, rows.tolist())),
        Ragged.from_sequences(sequences),
        tuple(regions),
        locus_of_row.astype(np.int32),
    )


def _projected(
    reads: ReadBatch,
    haplotypes: NDArray[np.int32],
    placement: Placement,
    header: SamHeader,
    source: str,
) -> tuple[NDArray[np.int64], Ragged, NDArray[np.bool_]]:
    """Return positions, CIGARs, and whether reads have a new alignment."""
    clips = clips_of(reads, source)
    extender = Extender(placement.haplotypes, placement.reference, header)
    read_index = np.arange(len(reads), dtype=np.int32)
    needed = extender.flanks_needed(reads, clips, read_index, haplotypes)
    extended, rows = extender.extend(haplotypes, needed)
    variants, best = _best_variants(reads.bases, clips, extended, rows)
    bases = variants.bases.take(best)
    pairs = PairBatch(extended.sequences, bases, rows, read_index)
    alignments: AlignmentBatch = align_pairs(pairs, _SCORING, Overhang.SOFTCLIP, _DEVICE)
    projections = project_alignments(
        bases,
        alignments,
        rows,
        placement.place(extended),
        variants.leading[best],
        variants.trailing[best],
        clip_ends=True,
    )
    cigars, positions = clip_end_insertions(projections.cigars, projections.positions)
    cigars = with_hard_clips(cigars, clips.leading_hard, clips.trailing_hard)
    return positions, cigars, projections.ok & (cigars.lengths > 0)


def _best_variants(
    bases: Ragged, clips: Clips, extended: ExtendedHaplotypes, rows: NDArray[np.int32]
) -> tuple[ClipVariants[Ragged], NDArray[np.int64]]:
    """Return reads with and without clipped ends, and the better variant of each, int64[n]."""
    variants = ClipVariants.of(bases, clips, HOST)
    pairs = ReadHaplotypePairs(
        variants.offsets, np.repeat(rows, np.diff(variants.offsets)).astype(np.int32)
    )
    numbers = np.arange(len(variants), dtype=np.int32)
    batch = PairBatch(extended.sequences, variants.bases, pairs.haplotypes, numbers)
    scores = score_pairs(batch, _SCORING, Overhang.SOFTCLIP, _DEVICE)
    return variants, first_of_best(pairs, scores)


def _with_flanks(placement: Placement, fasta: ReferenceFasta) -> Ragged:
    """Return the sequences of haplotypes with the flanks of their alignments."""
    haplotypes = placement.haplotypes
    sequences = []
    for row, (left, right) in enumerate(placement.flanks.T.tolist()):
        locus = haplotypes.loci[haplotypes.locus_index[row]]
        around = fasta.fetch(Region(locus.contig, locus.start - left, locus.end + right)).upper()
        own = haplotypes.sequences[row].tobytes()
        sequences.append(around[:left] + own + around[len(around) - right :])
    return Ragged.from_sequences(sequences)
