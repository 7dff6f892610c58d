"""A batch of reads that checks look at."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hapgpu.arrays.batches import ReadBatch
from hapgpu.errors import InputError
from hapgpu.io.alignments.alt_contigs import AlignedFile
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.genome.regions import RegionChoice

_MAX_BASES: Final = 1_500_000
"""Bases of the batch: 10,000 reads of 150 bases."""


def first_batch(
    file: AlignedFile, regions: RegionChoice, reference: Path, max_record: int
) -> ReadBatch | None:
    """Return the first reads of a file in some regions; None if there are none, or it is damaged.

    The run may need no damaged read; if it does, it finds the damage itself.

    Parameters
    ----------
    file
        The file, no stream.
    regions
        The regions, or everything.
    reference
        FASTA of CRAM.
    max_record
        Bytes of a record, at most.
    """
    try:
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
