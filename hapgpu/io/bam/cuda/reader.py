"""Source of BAM records in GPU memory, and the worker of a pipeline that computes with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Final, Generic, TypeVar

import cupy
import numpy as np

from hapgpu.errors import InputError
from hapgpu.io.bam.cuda.decoder import DevicePieceDecoder, no_records
from hapgpu.io.bam.cuda.device_records import RECORDS, DeviceRecords
from hapgpu.io.bam.cuda.starts import StartLimits
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.bam.record_reader import PackedSource
from hapgpu.io.bgzf.pieces import PackedPiece
from hapgpu.runtime.closeable import Closeable
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import device_errors, retried, thread_streams
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Struct
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.memory_turns import memory_turns
from hapgpu.runtime.gpu.parts import computed_in_parts
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.runtime.processes.in_run import InRun

_THREADS: Final = 128

MARK_OVERLAPS: Final = Kernel(
    "io/bam/overlap.cu",
    "mark_overlaps",
    (
        RECORDS,
        Struct(
            "intervals",
            (
                Array("offsets", np.int64, "contigs", 1),
                Array("starts", np.int64, "count"),
                Array("ends", np.int64, "count"),
                *(Length("contigs"), Length("count")),
            ),
        ),
        Array("marks", np.uint8, "records.count"),
    ),
)

PIECE_BYTES: Final = 1 << 24
"""Bytes of a file per piece, unless the caller or the memory of a GPU sets another size."""

_Result = TypeVar("_Result")


class DeviceIntervals:
    """Intervals in the memory of each GPU that asks for them; for several threads.

    Parameters
    ----------
    intervals
        Intervals of the contigs of a header.
    """

    def __init__(self, intervals: Intervals) -> None:
        self._intervals = intervals
        further = intervals.further
        self._further = None if further is None else DeviceIntervals(further)
        self._lock = Lock()
        self._copies: dict[int, tuple[GpuArray, GpuArray, GpuArray]] = {}

    def overlapped(self, records: DeviceRecords) -> GpuArray:
        """Return bool[n] on the GPU: as `Intervals.overlapped`."""
        offsets, starts, ends = self._on(cupy.cuda.Device().id)
        marks = cupy.empty(len(records), dtype=np.uint8)
        if len(records):
            intervals = (offsets, starts, ends, offsets.size - 1, starts.size)
            load_kernel(MARK_OVERLAPS, cupy.cuda.Device().id).launch(
                -(-len(records) // _THREADS),
                _THREADS,
                (records.fields, intervals, marks),
            )
        found = marks.view(np.bool_)
        return found if self._further is None else found & self._further.overlapped(records)

    def _on(self, device: int) -> tuple[GpuArray, GpuArray, GpuArray]:
        with self._lock:
            if device not in self._copies:
                intervals = self._intervals
                columns = (intervals.offsets_by_contig(), intervals.starts, intervals.ends)
                offsets, starts, ends = map(cupy.asarray, columns)
                cupy.cuda.get_current_stream().synchronize()  # others use other streams
                self._copies[device] = (offsets, starts, ends)
            return self._copies[device]


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class DevicePiece:
    """A part of a file for one worker: compressed bytes in host memory, and their block table.

    Nothing in it is for the consumer: it goes from `DeviceReads.pieces` to `DeviceReads.records`.

    Attributes
    ----------
    number
        Number of the piece, from 0.
    content
        The blocks; after the last of them the error of the file, or None.
    """

    number: int
    content: PackedPiece | InputError | None


class DeviceReads(Closeable):
    """Source of BAM records in GPU memory, for a pipeline; a context manager.

        source: reads.pieces()           in the thread that reads
        worker: reads.records(piece)     in any thread, on any GPU

    Pieces are few and large; a piece may have no records. Workers must take them in their order,
    as the pipeline does: `records` waits for the piece before, for the record between the two.

    Parameters
    ----------
    source
        The file.
    release
        Called by `close`: releases files, threads and processes.

    Attributes
    ----------
    header
        Header of the file.
    is_fastq
        False.
    """

    is_fastq: Final = False

    def __init__(self, source: PackedSource, release: Callable[[], None]) -> None:
        self.header = source.header
        self._pieces = source.pieces
        self._is_sorted = source.is_sorted
        # Where the file is open: its converter, for instance, is a process of the run.
        self._explain = InRun(source.explain)
        self._check_end = InRun(source.check_end)
        self._release = release
        limits = StartLimits(len(source.header.reference_names), source.max_record)
        self._decoder = DevicePieceDecoder(source.name, limits)
        self._intervals = None
        if source.intervals is not None:
            self._intervals = DeviceIntervals(source.intervals)

    @property
    def is_sorted(self) -> bool:
        """Whether the header, or an index beside the file, says that records are sorted."""
        return self._is_sorted

    @property
    def pieces_read_again(self) -> int:
        """How many pieces the CPU has read, because of a fault or of too little GPU memory."""
        return self._decoder.pieces_read_again

    def pieces(self) -> Iterator[DevicePiece]:
        """Read the file, once, in pieces. Errors of the file are raised by `records`."""
        number = 0
        content: PackedPiece | InputError | None
        try:
            for content in self._pieces:
                yield self._piece(number, content)
                number += 1
            content = None
        except InputError as error:
            content = error
        yield self._piece(number, content)

    def records(self, piece: DevicePiece) -> DeviceRecords:
        """Return the checked records that end in a piece, on the current device and stream.

        Records outside the regions of the source are left out. Call this once for each piece.
        Waits for the stream.

        Raises
        ------
        InputError
            The file is damaged or truncated: the error of the CPU's reader.
        AbandonedError
            A piece before has an error, which a pipeline raises.
        MemoryError
            The GPU has too little memory for the piece, even without the work of decoding it.
        """
        try:
            records = self._decoded(piece)
        except InputError as error:
            self._explain(error, self._decoder.records_before(piece.number))
            raise
        if self._intervals is None or not len(records):
            return records
        return retried(partial(_taken, records, self._intervals))

    def _decoded(self, piece: DevicePiece) -> DeviceRecords:
        if isinstance(piece.content, PackedPiece):
            return self._decoder.decode(piece.number, piece.content)
        self._check_end(self._decoder.end(piece.number, piece.content))
        return no_records()

    def _piece(self, number: int, content: PackedPiece | InputError | None) -> DevicePiece:
        piece = DevicePiece(number, content)
        self._decoder.abandon_with(piece, number)
        return piece

    def close(self) -> None:
        """Release files, threads and processes."""
        self._release()


def _taken(records: DeviceRecords, intervals: DeviceIntervals) -> DeviceRecords:
    return records.take(intervals.overlapped(records))


class RecordWorker(Generic[_Result]):
    """Decodes pieces of a file on a GPU and computes with their records, in a thread of its own.

    Where the memory of the GPU is too small for the records of a piece, they are split.

    Parameters
    ----------
    reads
        The file.
    device
        The GPU.
    prepare
        Returns the function that computes; called with the GPU as the current one.
    join
        Joins results of consecutive records.
    """

    def __init__(
        self,
        reads: DeviceReads,
        device: CudaDevice,
        prepare: Callable[[CudaDevice], Callable[[DeviceRecords], _Result]],
        join: Callable[[Sequence[_Result]], _Result],
    ) -> None:
        self._reads = reads
        self._device = device
        self._turns = memory_turns(device)
        self._join = join
        with device_errors(device), cupy.cuda.Device(device.index):
            self._compute = retried(lambda: prepare(device))
            # Streams of other threads do not wait for the copies that this made.
            cupy.cuda.get_current_stream().synchronize()

    def __call__(self, piece: DevicePiece) -> _Result:
        """Decode a piece and compute with its records.

        Raises
        ------
        InputError, DeviceError
            The input is damaged, or the GPU fails or has too little memory.
        """
        index = self._device.index
        # The many short kernels of a worker need not wait for the long ones of another worker.
        stream = thread_streams(index, 1, urgent=True)[0]
        with device_errors(self._device), cupy.cuda.Device(index), stream:
            results = computed_in_parts(self._reads.records(piece), self._computed, _halves)
            return self._join(list(results))

    def _computed(self, records: DeviceRecords) -> _Result:
        return self._turns.compute(partial(self._compute, records))


def _halves(records: DeviceRecords) -> list[DeviceRecords]:
    """Divide records in two parts, which share their bytes; a single record has none."""
    middle = len(records) // 2
    if not middle:
        return []
    return [records.take(slice(0, middle)), records.take(slice(middle, len(records)))]
