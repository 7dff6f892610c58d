"""A batch of reads that checks look at."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hapgpu.arrays.batches import ReadBatch
from hapgpu.errors import InputError
from hapgpu.io.alignments.alt_contigs import AlignedFile
from hapgpu.io.alignments.formats import ReadFormat, open_input
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.genome.regions import RegionChoice

_MAX_BASES: Final = 1_500_000
"""Bases of the batch: 10,000 reads of 150 bases."""
_MIN_CONVERTED: Final = 1 << 25
"""Bytes of a CRAM or SAM file that is looked at: samtools takes 0.1 s to start."""


def first_batch(
    file: AlignedFile, regions: RegionChoice, reference: Path, max_record: int
) -> ReadBatch | None:
    """Return the first reads of a file in some regions; None if there are none.

    None, too, for streams, which are read once, for small CRAM and SAM files, and for damaged ones:
    the run may need no damaged read; if it does, it finds the damage itself.

    Parameters
    ----------
    file
        The file.
    regions
        The regions, or everything.
    reference
        FASTA of CRAM.
    max_record
        Bytes of a record, at most.
    """
    try:
        if not _is_cheap(file.path, by_index=not regions.is_everything):
            return None
        with open_reads(
            file.path,
            batch_bases=_MAX_BASES,
            reference=reference,
            regions=regions,
            max_record=max_record,
        ) as source:
            return next(source.batches(), None)
    except InputError:
        return None


def _is_cheap(path: str, *, by_index: bool) -> bool:
    """Tell whether a file can be read twice, and the run takes long enough to look at it.

    By index, SAM is not: it would be read from its start.
    """
    file = Path(path)
    if path == "-" or not file.is_file():
        return False
    opened = open_input(path)
    opened.stream.close()
    if opened.format is ReadFormat.BAM:
        return True
    is_indexed = opened.format is ReadFormat.CRAM
    return (is_indexed or not by_index) and file.stat().st_size >= _MIN_CONVERTED
