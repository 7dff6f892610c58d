"""Checks of the first reads of files: read groups, base qualities, duplicates, and lengths."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.calling.checks.batch import first_batch
from hapgpu.calling.options import CallOptions
from hapgpu.io.alignments.alt_contigs import AlignedFile
from hapgpu.io.bam.constants import MISSING_QUALITY
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.read_groups import NO_GROUP, ReadGroups, SampleTable, group_numbers
from hapgpu.io.genome.regions import EVERYTHING

logger = logging.getLogger(__name__)

_MIN_READS: Final = 1000
"""Fewer reads may have constant qualities by chance."""
_MIN_FOR_DUPLICATES: Final = 5000
"""Fewer reads may have no duplicates by chance."""
_MIN_LONG: Final = 20
_MAX_LENGTH: Final = 1000
_MAX_QUALITY: Final = 60
_DUPLICATE: Final = 0x400
_NOT_PRIMARY: Final = 0x904
_MARKING: Final = re.compile(
    r"dup|samblaster|umi_?tools|fgbio|consensus|dragen|pbrun", re.IGNORECASE
)
"""Words in @PG lines of programs that mark or remove duplicates."""


def warn_of_first_reads(
    files: Iterable[AlignedFile],
    table: SampleTable,
    options: CallOptions,
    reference: Path,
    max_record: int,
) -> None:
    """Warn of what the first reads of files show; streams and small CRAM and SAM are not read.

    Parameters
    ----------
    files
        The inputs.
    table
        The samples of the inputs.
    options
        Options of the run.
    reference
        FASTA of CRAM.
    max_record
        Bytes of a record, at most.
    """
    if not logger.isEnabledFor(logging.WARNING):
        return
    for file, groups in zip(files, table.files, strict=True):
        reads = first_batch(file, EVERYTHING, reference, max_record)
        if reads is None or not len(reads):
            continue
        for words in _findings(reads, file.header, groups, options):
            logger.warning("%s: %s", file.name, words)


def _findings(
    reads: ReadBatch, header: SamHeader, groups: ReadGroups, options: CallOptions
) -> Iterator[str]:
    first = f"the first {len(reads)} reads"
    if without := _without_group(reads, groups):
        yield f"{without} of {first} have no read group (RG), and count for its only sample"
    yield from _of_qualities(reads, first)
    primary = reads.has_flags(0, _NOT_PRIMARY)
    if _lacks_duplicates(reads, primary, header, options):
        yield (
            f"no duplicate among {first}, none marked (run: samtools markdup); right for amplicons"
        )
    lengths = reads.bases.lengths[primary]
    if lengths.size >= _MIN_LONG and np.median(lengths) > _MAX_LENGTH:
        median = int(np.median(lengths))
        yield f"median length {median} of {first}; the method is made for short reads"


def _without_group(reads: ReadBatch, groups: ReadGroups) -> int:
    """Return the number of reads without group; if these are errors, or all are, it is 0."""
    if not len(groups.identifiers) or groups.only_sample < 0:
        return 0
    return int(np.count_nonzero(group_numbers(reads, groups.identifiers) == NO_GROUP))


def _of_qualities(reads: ReadBatch, first: str) -> Iterator[str]:
    qualities = _known(reads)
    if len(reads) < _MIN_READS or not qualities.size:
        return
    low, high = int(qualities.min()), int(qualities.max())
    if low == high:
        yield f"all bases of {first} have quality {low}: errors cannot be told from variants"
    elif low > _MAX_QUALITY:
        yield f"all bases of {first} have a quality above {_MAX_QUALITY}; check their encoding"


def _known(reads: ReadBatch) -> NDArray[np.uint8]:
    """Return the qualities of all bases that have one."""
    data: NDArray[np.uint8] = reads.qualities.data
    return data[data != MISSING_QUALITY] if np.any(data == MISSING_QUALITY) else data


def _lacks_duplicates(
    reads: ReadBatch, primary: NDArray[np.bool_], header: SamHeader, options: CallOptions
) -> bool:
    """Tell whether no read is marked as duplicate, and no program was run that does it."""
    is_filtered = options.reads.exclude_flags & _DUPLICATE != 0
    if not is_filtered or np.count_nonzero(primary) < _MIN_FOR_DUPLICATES:
        return False
    has_duplicates = bool(np.any(reads.flags & _DUPLICATE))
    return not has_duplicates and not any(map(_MARKING.search, header.lines_of("@PG")))
