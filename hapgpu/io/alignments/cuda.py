"""Aligned reads in GPU memory: BAM, and SAM and CRAM through samtools."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from hapgpu.io.alignments.formats import ReadFormat, ReadInput, open_input
from hapgpu.io.alignments.packed import index_for, packed_bam, packed_conversion
from hapgpu.io.alignments.reader import FastqSource, ReadSource
from hapgpu.io.alignments.samtools_convert import ConvertedInput
from hapgpu.io.bam.cuda.reader import PIECE_BYTES, DeviceReads
from hapgpu.io.bgzf.pieces import Allocate, PieceReader, Readable
from hapgpu.io.files.byte_source import ParallelStream
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.regions import EVERYTHING, RegionChoice
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu_processes import input_memory
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
    allocate: Allocate | None = None,
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
    allocate
        Allocates the memory of pieces; None: pinned memory.

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
    index = index_for(source, regions, needs_index=needs_index)
    make_reader = partial(_reader, source, *sizes, allocate or input_memory(1))
    with ExitStack() as stack:
        if source.format is ReadFormat.BAM:
            stack.callback(source.stream.close)
            most = _MAX_READING_THREADS * len(set(devices))
            pool = stack.enter_context(Pool(min(threads, most)))
            stream = ParallelStream(source.stream, pool) if source.path else source.stream
            packed = packed_bam(source, make_reader(stream), regions, index)
        else:
            # It closes the stream itself, also if it fails: its feeder may wait for the stream.
            samtools = ConvertedInput(source, threads, reference, regions, index)
            stack.callback(samtools.close)
            reader = make_reader(samtools.stream)
            packed = packed_conversion(source, samtools, reader, regions)
        return DeviceReads(packed, stack.pop_all().close)


def _piece_sizes(piece_bytes: int, devices: Sequence[CudaDevice]) -> tuple[int, int]:
    """Return the maximum of packed bytes and of content of a piece."""
    most = min(device.expected_budget() for device in devices) // _MEMORY_SHARE
    packed = max(min(piece_bytes, most), 1)
    return packed, max(min(_MAX_RATIO * packed, most), 1)


def _reader(
    source: ReadInput, packed: int, inflated: int, allocate: Allocate, stream: Readable
) -> PieceReader:
    return PieceReader(
        stream,
        source.name,
        packed_bytes=packed,
        inflated_bytes=inflated,
        allocate=allocate,
    )
