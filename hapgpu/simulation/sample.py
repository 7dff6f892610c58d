"""Aligned paired reads of a sample of which every genotype is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.bam.header import SamHeader
from hapgpu.simulation.copies import CopyEdits, chromosome_copy, copy_edits
from hapgpu.simulation.fragments import PairedReadModel, drawn_fragments
from hapgpu.simulation.paired_reads import PairColumns, read_pairs
from hapgpu.simulation.phased_variants import PhasedVariants

_READS_AT_ONCE: Final = 1 << 16
_MIN_STRETCH: Final = 1000
_SPARE_BASES: Final = 1000
"""Beyond what a fragment or a variant can reach: room for indels to be moved to the left."""
_PAIRED, _PROPER, _REVERSE, _MATE_REVERSE, _FIRST, _SECOND = 0x1, 0x2, 0x10, 0x20, 0x40, 0x80
_MAPPING_QUALITY: Final = 60
_DIGITS: Final = 9


def sample_header(sample: str, contig: str, contig_length: int) -> SamHeader:
    """Make the header of the reads of a sample: one contig, one read group of the same name."""
    header = SamHeader.from_references([contig], [contig_length], "SO:coordinate")
    return header.with_line(f"@RG\tID:{sample}\tSM:{sample}\tPL:ILLUMINA")


def simulated_reads(
    reference: ReferenceSlice,
    variants: PhasedVariants,
    sample: str,
    model: PairedReadModel | None = None,
    seed: int = 1,
) -> Iterator[ReadBatch]:
    """Draw the reads of a sample from its chromosome copies, and align them as the truth is.

    Fragments begin anywhere on the copies, on either strand. Alignments are true, with indels as
    far left as they go; what lies beyond an indel within a few bases of the end of a read is
    clipped, and a read that ends within a repeat is aligned without an indel there. Fragments
    with a letter other than A, C, G and T, and those with a read of which next to nothing is
    aligned, are left out.

    Parameters
    ----------
    reference
        Bases of the contig, the first one of the header.
    variants
        What the sample carries.
    sample
        Its name, which is that of the read group, too; names of reads begin with it.
    model
        What fragments and reads are like.
    seed
        For other reads.

    Yields
    ------
    Reads sorted by position, from batch to batch, too; memory does not grow with the contig.

    Raises
    ------
    ValueError
        The variants do not fit the reference, or two of them overlap on a copy.
    """
    model = PairedReadModel() if model is None else model
    variants.check(reference)
    copies = copy_edits(variants)
    stretch = max(int(_READS_AT_ONCE * model.read_length / model.depth), _MIN_STRETCH)
    pending: ReadBatch | None = None
    made = 0
    for start in range(reference.start, reference.end, stretch):
        end = min(start + stretch, reference.end)
        pairs = _pairs_of_stretch(reference, variants, copies, model, (start, end), seed)
        drawn = _batch(pairs, made, sample)
        made += len(drawn) // 2
        reads = drawn if pending is None else ReadBatch.concatenate([pending, drawn])
        reads = reads.take(np.argsort(reads.positions, kind="stable"))
        is_ready = reads.positions < end if end < reference.end else np.ones(len(reads), np.bool_)
        pending = reads.take(~is_ready)
        yield reads.take(is_ready)


def _pairs_of_stretch(
    reference: ReferenceSlice,
    variants: PhasedVariants,
    copies: list[CopyEdits],
    model: PairedReadModel,
    stretch: tuple[int, int],
    seed: int,
) -> PairColumns:
    """Draw the pairs of all copies whose fragments begin within a stretch of the reference."""
    start, end = stretch
    longest = int((variants.ends - variants.starts).max(initial=0))
    margin = model.longest_fragment + longest + _SPARE_BASES
    low, high = max(start - margin, reference.start), min(end + margin, reference.end)
    rng = np.random.default_rng([seed, start])
    parts = []
    for edits in copies:
        copy = chromosome_copy(reference, edits, low, high)
        first, behind = copy.first_from(start), copy.first_from(end)
        fragments = drawn_fragments(copy.bases, first, behind, len(copies), model, rng)
        parts.append(read_pairs(copy, fragments, reference, model, rng))
    return PairColumns.concatenate(parts)


def _batch(pairs: PairColumns, made: int, sample: str) -> ReadBatch:
    """Put pairs into rows, left and right read side by side; numbers count on from `made`."""
    count, _, width = pairs.bases.shape
    rows = 2 * count
    positions = pairs.positions.astype(np.int32)
    is_element = np.arange(pairs.cigars.shape[2]) < pairs.cigar_lengths[..., None]
    group = np.frombuffer(f"RGZ{sample}\0".encode("ascii"), dtype=np.uint8)
    widths = np.full(rows, width)
    return ReadBatch(
        names=_names(sample, np.repeat(np.arange(made, made + count), 2)),
        flags=_flags(pairs.is_first_left).ravel(),
        reference_ids=np.zeros(rows, dtype=np.int32),
        positions=positions.ravel(),
        mapping_qualities=np.full(rows, _MAPPING_QUALITY, dtype=np.uint8),
        cigars=Ragged.from_lengths(pairs.cigars[is_element], pairs.cigar_lengths.ravel()),
        mate_reference_ids=np.zeros(rows, dtype=np.int32),
        mate_positions=positions[:, ::-1].ravel(),
        template_lengths=_template_lengths(positions, pairs.ends).ravel(),
        bases=Ragged.from_lengths(pairs.bases.ravel(), widths),
        qualities=Ragged.from_lengths(pairs.qualities.ravel(), widths),
        tags=Ragged.from_lengths(np.tile(group, rows), np.full(rows, group.size)),
    )


def _names(sample: str, numbers: NDArray[np.int64]) -> Ragged:
    start = np.frombuffer(f"{sample}:".encode("ascii"), dtype=np.uint8)
    text = np.empty((numbers.size, start.size + _DIGITS), dtype=np.uint8)
    text[:, : start.size] = start
    text[:, start.size :] = numbers[:, None] // 10 ** np.arange(_DIGITS - 1, -1, -1) % 10 + ord("0")
    return Ragged.from_lengths(text.ravel(), np.full(numbers.size, text.shape[1]))


def _flags(is_first_left: NDArray[np.bool_]) -> NDArray[np.uint16]:
    """uint16[f, 2]: the left read is the forward one."""
    flags = np.full((is_first_left.size, 2), _PAIRED | _PROPER, dtype=np.uint16)
    flags |= np.array([_MATE_REVERSE, _REVERSE], dtype=np.uint16)
    left = np.where(is_first_left, _FIRST, _SECOND)
    flags[:, 0] |= left.astype(np.uint16)
    flags[:, 1] |= (_FIRST + _SECOND - left).astype(np.uint16)
    return flags


def _template_lengths(positions: NDArray[np.int32], ends: NDArray[np.int64]) -> NDArray[np.int32]:
    """int32[f, 2]: from the leftmost base to the rightmost; negative for the read further right."""
    spans = (ends.max(axis=1) - positions.min(axis=1)).astype(np.int32)
    left = np.where(positions[:, 0] <= positions[:, 1], spans, -spans)
    return np.stack([left, -left], axis=1)
