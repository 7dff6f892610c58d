"""Files of alignments opened as pieces of BAM: BAM itself, and SAM and CRAM through samtools."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

from hapgpu.errors import InputError
from hapgpu.io.alignments.formats import ReadFormat, ReadInput
from hapgpu.io.alignments.index_files import (
    find_index,
    has_entries,
    has_index,
    index_mismatch,
    ranges_of,
)
from hapgpu.io.alignments.samtools_convert import ConvertedInput
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.bam.record_reader import PackedSource, piece_reader, take_first_header
from hapgpu.io.bgzf.block_table import DamagedBlockError
from hapgpu.io.bgzf.pieces import PieceReader
from hapgpu.io.files.beside import BAM_INDEXES, CRAM_INDEXES
from hapgpu.io.files.file_state import FileState
from hapgpu.io.genome.regions import RegionChoice
from hapgpu.runtime.inputs import expect_file

_INDEX_KINDS: Final = {
    ReadFormat.BAM: BAM_INDEXES,
    ReadFormat.CRAM: CRAM_INDEXES,
    ReadFormat.SAM: (),
}
"""Suffixes of the indexes of each format."""
_MAX_HEADERS_KEPT: Final = 16


def index_of(source: ReadInput, *, needs_index: bool) -> Path | None:
    """Find the index through which records of regions are read; None to read the whole file."""
    kinds = _INDEX_KINDS[source.format]
    if not (source.path and kinds) or not (needs_index or has_index(source.path, kinds)):
        return None
    index = find_index(source.path, kinds)
    is_usable = source.format is ReadFormat.BAM or has_entries(index, source.path)
    return index if is_usable else None


def index_for(source: ReadInput, regions: RegionChoice, *, needs_index: bool) -> Path | None:
    """Find the index for some regions, as `index_of` does; an error closes the source."""
    try:
        return None if regions.is_everything else index_of(source, needs_index=needs_index)
    except BaseException:
        source.stream.close()
        raise


def packed_bam(
    source: ReadInput, reader: PieceReader, regions: RegionChoice, index: Path | None
) -> PackedSource:
    """Open BAM; an error that an index causes is replaced by one that names the index.

    Parameters
    ----------
    source
        The file or the stream.
    reader
        Reads its pieces.
    regions
        The records to read.
    index
        Index to find the records of regions; None to read the whole file.

    Raises
    ------
    InputError
        The header is damaged, too long, or lacks the contig of a region.
    """
    if source.path and index:
        header = _header_of(source.path, FileState.of(source.path), source.max_record)
        intervals = Intervals.from_choice(regions, header, source.name)
        pieces = reader.pieces_of(ranges_of(source.path, intervals))
    else:
        if source.path:
            expect_file(source.name, source.path)
        header, pieces = take_first_header(reader.pieces(), source.name, source.max_record)
        intervals = Intervals.from_choice(regions, header, source.name)

    def explain(error: InputError, _records: int) -> None:
        if index and source.path and not isinstance(error, DamagedBlockError):
            reason = str(error).rsplit("; ", 1)[0]  # without the remedy
            raise index_mismatch(index, source.path, f"or {reason}") from error

    return PackedSource(
        source.name,
        header,
        pieces,
        intervals,
        source.max_record,
        is_sorted=_is_sorted(source, header),
        explain=explain,
        check_end=lambda _records: None,
    )


def packed_conversion(
    source: ReadInput, samtools: ConvertedInput, reader: PieceReader, regions: RegionChoice
) -> PackedSource:
    """Open the output of samtools; its failure explains faults of the output.

    Parameters
    ----------
    source
        SAM or CRAM.
    samtools
        Converts it.
    reader
        Reads the pieces of the output.
    regions
        The records to read.

    Raises
    ------
    InputError
        The header is damaged, too long, or lacks the contig of a region.
    """

    def explain(_error: InputError, records: int) -> None:
        if samtools.has_ended:  # else samtools would wait for this reader
            samtools.check(records)

    try:
        header, pieces = take_first_header(reader.pieces(), source.name, source.max_record)
    except InputError as error:
        explain(error, 0)
        raise
    return PackedSource(
        source.name,
        header,
        pieces,
        Intervals.from_choice(regions, header, source.name),
        source.max_record,
        is_sorted=_is_sorted(source, header),
        explain=explain,
        check_end=samtools.check,
    )


def _is_sorted(source: ReadInput, header: SamHeader) -> bool:
    """Tell whether the header, or an index beside the file, says that records are sorted."""
    indexed = source.path is not None and has_index(source.path, _INDEX_KINDS[source.format])
    return header.is_coordinate_sorted or indexed


@lru_cache(_MAX_HEADERS_KEPT)
def _header_of(path: Path, _state: FileState, max_record: int) -> SamHeader:
    """Read the header of a BAM file, once while the file is unchanged.

    The header of an assembly with thousands of contigs takes longer than the reads of a small
    region.
    """
    with path.open("rb") as stream:
        pieces = piece_reader(stream, str(path), 1).pieces()
        return take_first_header(pieces, str(path), max_record)[0]
