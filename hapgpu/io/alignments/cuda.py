"""Aligned reads in GPU memory: BAM, and SAM and CRAM through samtools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, cast

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.alignments.formats import ReadFormat, ReadInput, open_input
from hapgpu.io.alignments.index.file_state import FileState
from hapgpu.io.alignments.index.open import index_mismatch, ranges_of
from hapgpu.io.alignments.reader import FastqSource, ReadSource, header_of, index_of
from hapgpu.io.alignments.samtools.convert import ConvertedInput
from hapgpu.io.alignments.source import is_sorted
from hapgpu.io.bam.cuda.first_pieces import take_first_header
from hapgpu.io.bam.cuda.reader import PIECE_BYTES, DeviceReads, PackedSource
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.bgzf.block_table import DamagedBlockError
from hapgpu.io.bgzf.pieces import PieceReader
from hapgpu.io.files.parallel_stream import ParallelStream
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.regions import EVERYTHING, RegionChoice
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import pinned_array
from hapgpu.runtime.inputs import expect_file
from hapgpu.runtime.pool import Pool

_MAX_RATIO: Final = 8
"""Content of a piece in units of its packed bytes; a file that inflates more has more pieces."""
_MEMORY_SHARE: Final = 32
"""Pieces whose content would fill a GPU: others are in work, and arrays are as large."""
_FASTQ_BASES: Final = 4_000_000
"""Bases of a batch of FASTQ."""
_MAX_READING_THREADS: Final = 8  # per GPU; more copy no faster than the bus takes the bytes


def open_device_reads(
    path: str,
    devices: Sequence[CudaDevice],
    *,
    threads: int = 1,
    piece_bytes: int = PIECE_BYTES,
    reference: Path | None = None,
    regions: RegionChoice = EVERYTHING,
    needs_index: bool = True,
    name: str | None = None,
    max_record: int = MAX_RECORD,
    takes_empty: bool = False,
) -> DeviceReads | ReadSource:
    """Open reads as `open_reads` does, with their records in GPU memory.

    Parameters
    ----------
    path
        A file, or `-` for standard input.
    devices
        The GPUs on which `DeviceReads.records` may be called, at least one.
    threads
        CPU threads that read the file, and threads of samtools for CRAM.
    piece_bytes
        Bytes of the file per piece; pieces are smaller if the memory of a GPU is.
    reference, regions, needs_index, name, max_record, takes_empty
        As in `open_reads`; records outside the regions are left out.

    Returns
    -------
    DeviceReads | ReadSource
        The source of `open_reads` for FASTQ, which has no alignments.

    Raises
    ------
    InputError
        As `open_reads`.
    """
    sizes = _piece_sizes(piece_bytes, devices)
    source = open_input(path, name, max_record, takes_empty=takes_empty)
    if source.format is ReadFormat.FASTQ:
        return FastqSource(source, _FASTQ_BASES)
    try:
        is_partial = not regions.is_everything
        index = index_of(source, needs_index=needs_index) if is_partial else None
    except BaseException:
        source.stream.close()
        raise
    make_reader = partial(_reader, source, *sizes)
    with ExitStack() as stack:
        if source.format is ReadFormat.BAM:
            stack.callback(source.stream.close)
            most = _MAX_READING_THREADS * len(set(devices))
            pool = stack.enter_context(Pool(min(threads, most)))
            stream = ParallelStream(source.stream, pool) if source.path else source.stream
            opened = _bam(source, cast("BinaryIO", stream), make_reader, regions, index)
        else:
            # It closes the stream itself, also if it fails: its feeder may wait for the stream.
            samtools = ConvertedInput(source, threads, reference, regions, index)
            stack.callback(samtools.close)
            opened = _converted(source, samtools, make_reader, regions)
        return DeviceReads(opened, stack.pop_all().close)


def _piece_sizes(piece_bytes: int, devices: Sequence[CudaDevice]) -> tuple[int, int]:
    """Return the maximum of packed bytes and of content of a piece."""
    most = min(device.memory_budget() for device in devices) // _MEMORY_SHARE
    packed = max(min(piece_bytes, most), 1)
    return packed, max(min(_MAX_RATIO * packed, most), 1)


def _reader(source: ReadInput, packed: int, inflated: int, stream: BinaryIO) -> PieceReader:
    return PieceReader(
        stream,
        source.name,
        packed_bytes=packed,
        inflated_bytes=inflated,
        allocate=_pinned,
    )


def _pinned(size: int) -> NDArray[np.uint8]:
    return pinned_array(size, np.uint8)


def _bam(
    source: ReadInput,
    stream: BinaryIO,
    make_reader: Callable[[BinaryIO], PieceReader],
    regions: RegionChoice,
    index: Path | None,
) -> PackedSource:
    reader = make_reader(stream)
    if source.path and index:
        header = header_of(source.path, FileState.of(source.path), source.max_record)
        intervals = Intervals.from_choice(regions, header, source.name)
        chosen = cast("Intervals", intervals)  # an index is only used with regions
        pieces = reader.pieces_of(ranges_of(source.path, chosen))
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
        is_sorted=is_sorted(source, header),
        explain=explain,
        check_end=lambda _records: None,
    )


def _converted(
    source: ReadInput,
    samtools: ConvertedInput,
    make_reader: Callable[[BinaryIO], PieceReader],
    regions: RegionChoice,
) -> PackedSource:
    """Open the output of samtools; its failure explains faults of the output."""

    def explain(_error: InputError, records: int) -> None:
        if samtools.has_ended:  # else samtools would wait for this reader
            samtools.check(records)

    reader = make_reader(samtools.stream)
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
        is_sorted=is_sorted(source, header),
        explain=explain,
        check_end=samtools.check,
    )
