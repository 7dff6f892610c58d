"""Aligned paired reads of a sample with known genotypes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.bam.header import SamHeader
from hapgpu.simulation.paired_reads import PairColumns, PairedReadModel, drawn_fragments, read_pairs
from hapgpu.simulation.phased_variants import CopyEdits, PhasedVariants, chromosome_copy, copy_edits
from hapgpu.simulation.sequences import numbered_names

_READS_PER_BATCH: Final = 1 << 16
_MIN_INTERVAL: Final = 1000
_SPARE_BASES: Final = 1000
"""Bases on either side, in addition to the longest fragment and variant, to left-align indels."""
_PAIRED, _PROPER, _REVERSE, _MATE_REVERSE, _FIRST, _SECOND = 0x1, 0x2, 0x10, 0x20, 0x40, 0x80
_MAPPING_QUALITY: Final = 60


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
    """Draw the reads of a sample from its chromosome copies, with their true alignments.

    Fragments start at random positions of the copies, on either strand. Indels are left-aligned;
    an indel within a few bases of the end of a read is clipped with these, and a read that ends
    within a repeat is aligned without an indel there. Fragments are excluded if they hold a letter
    other than A, C, G and T, or if fewer than 20 bases of a read are aligned.

    Parameters
    ----------
    reference
        Bases of the contig, which is the first of the header.
    variants
        Variants of the sample.
    sample
        Name of the sample and of its read group; the names of the reads start with it.
    model
        Depth, lengths and errors.
    seed
        Seed of the random numbers.

    Yields
    ------
    ReadBatch
        Sorted by position, across batches too; memory does not grow with the contig.

    Raises
    ------
    ValueError
        The variants do not fit the reference, or two of them overlap on a copy.
    """
    model = PairedReadModel() if model is None else model
    variants.check(reference)
    copies = copy_edits(variants)
    interval = max(int(_READS_PER_BATCH * model.read_length / model.depth), _MIN_INTERVAL)
    pending: ReadBatch | None = None
    made = 0
    for start in range(reference.start, reference.end, interval):
        end = min(start + interval, reference.end)
        pairs = _pairs_of_interval(reference, variants, copies, model, (start, end), seed)
        drawn = _batch(pairs, made, sample)
        made += len(drawn) // 2
        reads = drawn if pending is None else ReadBatch.concatenate([pending, drawn])
        reads = reads.take(np.argsort(reads.positions, kind="stable"))
        is_ready = reads.positions < end if end < reference.end else np.ones(len(reads), np.bool_)
        pending = reads.take(~is_ready)
        yield reads.take(is_ready)


def _pairs_of_interval(
    reference: ReferenceSlice,
    variants: PhasedVariants,
    copies: list[CopyEdits],
    model: PairedReadModel,
    interval: tuple[int, int],
    seed: int,
) -> PairColumns:
    """Draw the pairs of all copies whose fragments start within an interval of the reference."""
    start, end = interval
    longest = int((variants.ends - variants.starts).max(initial=0))
    margin = model.longest_fragment + longest + _SPARE_BASES
    low, high = max(start - margin, reference.start), min(end + margin, reference.end)
    rng = np.random.default_rng([seed, start])
    parts = []
    for edits in copies:
        copy = chromosome_copy(reference, edits, low, high)
        first, last = copy.first_from(start), copy.first_from(end)
        fragments = drawn_fragments(copy.bases, first, last, len(copies), model, rng)
        parts.append(read_pairs(copy, fragments, reference, model, rng))
    return PairColumns.concatenate(parts)


def _batch(pairs: PairColumns, made: int, sample: str) -> ReadBatch:
    """Put pairs into rows, left and right read side by side; their numbers start at `made`."""
    count, _, width = pairs.bases.shape
    rows = 2 * count
    positions = pairs.positions.astype(np.int32)
    is_element = np.arange(pairs.cigars.shape[2]) < pairs.cigar_lengths[..., None]
    names = numbered_names(
        f"{sample}:".encode("ascii"), np.repeat(np.arange(made, made + count), 2)
    )
    group = np.frombuffer(f"RGZ{sample}\0".encode("ascii"), dtype=np.uint8)
    widths = np.full(rows, width)
    return ReadBatch(
        names=Ragged.from_lengths(names.ravel(), np.full(rows, names.shape[1])),
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


def _flags(is_first_left: NDArray[np.bool_]) -> NDArray[np.uint16]:
    """Return the flags of pairs, uint16[f, 2]; the left read is on the forward strand."""
    flags = np.full((is_first_left.size, 2), _PAIRED | _PROPER, dtype=np.uint16)
    flags |= np.array([_MATE_REVERSE, _REVERSE], dtype=np.uint16)
    left = np.where(is_first_left, _FIRST, _SECOND)
    flags[:, 0] |= left.astype(np.uint16)
    flags[:, 1] |= (_FIRST + _SECOND - left).astype(np.uint16)
    return flags


def _template_lengths(positions: NDArray[np.int32], ends: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return TLEN, int32[f, 2]: leftmost to rightmost base; negative for the read further right."""
    spans = (ends.max(axis=1) - positions.min(axis=1)).astype(np.int32)
    left = np.where(positions[:, 0] <= positions[:, 1], spans, -spans)
    return np.stack([left, -left], axis=1)
