"""Reads of segments, for the tests of all stages: without downsampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import LEAD, REFERENCE_ROOM, Segment, SegmentReads
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import Region, RegionChoice

ROOM = 1000
"""Default of the bases of a window beside a segment and its lead."""

_FLAGS_EXCLUDED = 0x704
_REGULAR = np.frombuffer(b"ACGT", dtype=np.uint8)


def regular_bases(bases: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the text in upper case, with N for all but A, C, G, T."""
    upper = bases & 0xDF
    return np.where(np.isin(upper, _REGULAR), upper, ord("N")).astype(np.uint8)


def filtered(reads: ReadBatch) -> ReadBatch:
    """Return the reads that HaplotypeCaller uses: by flags, MAPQ, CIGAR and bases only."""
    operations, lengths = reads.cigars.data & 15, reads.cigars.data >> 4
    spans = [
        int(lengths[start:end][np.isin(operations[start:end], [0, 2, 7, 8])].sum())
        for start, end in zip(reads.cigars.offsets[:-1], reads.cigars.offsets[1:], strict=True)
    ]
    kept = (
        reads.has_flags(0, _FLAGS_EXCLUDED)
        & (reads.mapping_qualities >= 20)
        & (reads.mapping_qualities != 255)
        & (np.array(spans, dtype=np.int64) > 0)
        & (reads.bases.lengths > 0)
    )
    reads = reads.take(kept)
    return replace(reads, bases=Ragged(regular_bases(reads.bases.data), reads.bases.offsets))


def reads_of(path: Path, region: Region) -> ReadBatch:
    """Return the filtered reads of a region of an indexed file."""
    with open_reads(str(path), regions=RegionChoice((region,))) as source:
        batches = list(source.batches())
        if not batches:
            message = f"{path}: no reads at {region}"
            raise ValueError(message)
        return filtered(ReadBatch.concatenate(batches))


def segment_reads(
    bam: Path | Sequence[Path],
    contig: str,
    start: int,
    end: int,
    interval: tuple[int, int] | None = None,
    *,
    reference: Path | None = None,
    room: int = ROOM,
) -> SegmentReads:
    """Read a segment.

    Parameters
    ----------
    bam
        A file with index, or several: the reads of file k are of sample k.
    contig, start, end
        The segment, 0-based, half-open.
    interval
        The calling interval; by default, the segment.
    reference
        Indexed FASTA; by default, `chr20.hg19.fa.gz` beside the (first) file.
    room
        The window ends so many bases before the segment and its lead, and after the segment.
    """
    paths = [bam] if isinstance(bam, Path) else list(bam)
    reference = reference or paths[0].parent / "chr20.hg19.fa.gz"
    with ReferenceFasta(reference) as fasta:
        length = fasta.lengths[contig]
        window_start, window_end = max(start - LEAD - room, 0), min(end + room, length)
        first = max(window_start - REFERENCE_ROOM, 0)
        last = min(window_end + REFERENCE_ROOM, length)
        bases = np.frombuffer(fasta.fetch(Region(contig, first, last)), dtype=np.uint8)
    files = [reads_of(path, Region(contig, window_start, window_end)) for path in paths]
    samples = np.repeat(np.arange(len(paths), dtype=np.int32), [len(reads) for reads in files])
    reads = ReadBatch.concatenate(files)
    order = np.argsort(reads.positions, kind="stable")
    return SegmentReads(
        Segment(contig, length, start, end, *(interval or (start, end))),
        window_start,
        window_end,
        ReferenceSlice(first, regular_bases(bases)),
        reads.take(order),
        samples[order],
    )
