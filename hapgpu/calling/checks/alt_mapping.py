"""Check whether reads were aligned with knowledge of ALT contigs, by their mapping qualities."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np

from hapgpu.arrays.batches import ReadBatch
from hapgpu.calling.checks.batch import first_batch
from hapgpu.io.alignments.alt_contigs import (
    AlignedFile,
    alt_contigs_with_reads,
    warn_of_alt_contigs,
)
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.regions import Region, RegionChoice

logger = logging.getLogger(__name__)

_SUFFIX: Final = "_alt"
_CONTIGS: Final = ("chr6", "6")
_LENGTH: Final = 170_805_979
"""Of chromosome 6 of GRCh38, where all ALT contigs of the MHC belong."""
_STARTS: Final = range(28_800_000, 33_200_000, 400_000)
_SIZE: Final = 1000
"""Bases of each window in the MHC."""
_MIN_READS: Final = 200
_NOT_PRIMARY: Final = 0xF04
"""Flags: unmapped, secondary, failed vendor checks, duplicate, supplementary."""


def warn_of_alt_mapping(
    files: Iterable[AlignedFile], reference: Path, max_record: int = MAX_RECORD
) -> None:
    """Warn of the first file whose reads had been split among ALT contigs.

    Without a list of ALT contigs (`.alt`), reads of the MHC map as well to its ALT contigs, so
    that they have mapping quality 0. Where windows of the MHC have too few reads to tell, the list
    itself is looked for, see `warn_of_alt_contigs`.

    Parameters
    ----------
    files
        The inputs; streams are not read.
    reference
        FASTA.
    max_record
        Bytes of a record, at most.

    Raises
    ------
    InputError
        A file cannot be read, or its index is damaged.
    """
    unknown = []
    for file in files:
        if _SUFFIX not in file.header.text:
            continue
        total, lost = _mhc_reads(file, reference, max_record)
        if total < _MIN_READS:
            unknown.append(file)
        elif 2 * lost > total and alt_contigs_with_reads(file):
            logger.warning(
                "%s: %d of %d reads in the MHC have mapping quality 0: aligned without knowledge of"
                " ALT contigs; align again, with %s.alt",
                file.name,
                lost,
                total,
                reference,
            )
            return
    warn_of_alt_contigs(unknown, reference)


def _mhc_reads(file: AlignedFile, reference: Path, max_record: int) -> tuple[int, int]:
    """Return the numbers of primary reads in windows of the MHC, and of those with MAPQ 0."""
    contigs = dict(zip(file.header.reference_names, file.header.reference_lengths, strict=True))
    name = next((name for name in _CONTIGS if contigs.get(name) == _LENGTH), None)
    if name is None:
        return 0, 0
    windows = RegionChoice(tuple(Region(name, start, start + _SIZE) for start in _STARTS))
    reads = first_batch(file, windows, reference, max_record)
    return (0, 0) if reads is None else _counts(reads)


def _counts(reads: ReadBatch) -> tuple[int, int]:
    is_primary = reads.has_flags(0, _NOT_PRIMARY)
    is_lost = is_primary & (reads.mapping_qualities == 0)
    return int(np.count_nonzero(is_primary)), int(np.count_nonzero(is_lost))
