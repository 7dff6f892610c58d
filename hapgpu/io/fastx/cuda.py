"""FASTQ and FASTA on a GPU (`cuda/io/fastx/`): uncut blocks to whole records, records to spans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from math import inf
from threading import Lock
from typing import Final, Generic, TypeAlias, TypeVar

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import DeviceError, InputError
from hapgpu.io.bgzf.block_table import damaged_block
from hapgpu.io.bgzf.cuda import inflate_blocks
from hapgpu.io.bgzf.inflater import inflate_library
from hapgpu.io.bgzf.pieces import PackedPiece
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import ReadLimits
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.read_blocks import LineJoiner
from hapgpu.io.fastx.uncut_blocks import (
    LINES,
    SLACK,
    Content,
    FastaEnd,
    FastqEnd,
    PieceEnd,
    UncutBlock,
    UncutFile,
    end_of_text,
)
from hapgpu.io.files.unfinished import Unfinished
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import (
    OUT_OF_MEMORY,
    device_errors,
    download_pinned,
    retried_or_none,
    thread_streams,
)
from hapgpu.runtime.gpu.kernel import Array, Kernel, KernelArgument, Length, Scalar, Struct
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.memory_turns import memory_turns
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.shared_input import pin_shared
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.runtime.output import Divided

_THREADS: Final = 256
_WARPS_PER_BLOCK: Final = _THREADS // 32
_MAX_BLOCKS: Final = 4096
_TILE_BYTES: Final = 1024  # kTileBytes in fastx.cu

_TEXT = Array("text", np.uint8, "size")
_NEWLINES = Array("newlines", np.int32, "newline_count")

_ROOM: Final = 1 << 16
"""Bytes before the content of a block, for the start of its first record; longer ones are moved."""
_LAST_LINES_BYTES: Final = 4096
"""Bytes at the end of a block that are searched for its last lines, at first."""
_Result = TypeVar("_Result")
_Copy: TypeAlias = Callable[[int, int], NDArray[np.uint8]]
_MAX_TEXT: Final = 2**31 - 1
_MAX_FASTA: Final = 2**30  # joined lines take less than twice the bytes
_NEWLINE, _GREATER = b"\n>"
_SOURCE: Final = "io/fastx/fasta_lines.cu"
_UNCUT_TEXT: Final = (Array("text", np.uint8, "size"), Array("newlines", np.int32, "newline_count"))
_SIZES: Final = (Scalar("size", np.int32), Scalar("newline_count", np.int32))
FIND_RECORD_STARTS: Final = Kernel(
    _SOURCE,
    "find_record_starts",
    (*_UNCUT_TEXT, Array("starts", np.int32, "two"), *_SIZES, Length("two")),
)
MEASURE_FASTA_LINES: Final = Kernel(
    _SOURCE,
    "measure_fasta_lines",
    (
        *_UNCUT_TEXT,
        Array("sizes", np.int32, "newline_count", 1),
        *(Length("size"), Scalar("newline_count", np.int32)),
    ),
)
JOIN_FASTA_LINES: Final = Kernel(
    _SOURCE,
    "join_fasta_lines",
    (
        *_UNCUT_TEXT,
        Array("offsets", np.int32, "newline_count", 1),
        Array("joined", np.uint8, "joined_size"),
        *_SIZES,
        Scalar("joined_size", np.int32),
    ),
)


def _sizes(*names: str) -> tuple[Scalar, ...]:
    return tuple(Scalar(name, np.int32) for name in names)


COUNT_NEWLINES: Final = Kernel(
    "io/fastx/fastx.cu",
    "count_newlines",
    (_TEXT, Array("counts", np.int32, "tiles"), *_sizes("size", "tiles")),
)
LIST_NEWLINES: Final = Kernel(
    "io/fastx/fastx.cu",
    "list_newlines",
    (
        *(_TEXT, Array("ends", np.int32, "tiles"), _NEWLINES),
        *_sizes("size", "tiles"),
        Length("newline_count"),
    ),
)
_SPAN_COLUMNS: Final = ("name_starts", "name_lengths", "base_starts", "quality_starts", "lengths")
SPANS: Final = Struct(
    "spans",
    (*(Array(name, np.int32, "reads") for name in _SPAN_COLUMNS), Scalar("reads", np.int32)),
)
FIND_READS: Final = Kernel(
    "io/fastx/fastx.cu",
    "find_reads",
    (
        Struct(
            "text",
            (
                Array("bytes", np.uint8, "size"),
                _NEWLINES,
                *(Scalar("size", np.int32), Length("newline_count")),
            ),
        ),
        SPANS,
        Struct(
            "limits",
            (
                *_sizes("max_name", "max_bases", "for_sam"),
                *(Scalar("low_bases", np.uint64), Scalar("high_bases", np.uint64)),
            ),
        ),
        *(Array("is_faulty", np.int32, "one"), Length("one")),
        Scalar("is_fasta", np.int32),
    ),
)


@dataclass(frozen=True, slots=True)
class DeviceSpans:
    """`ReadSpans` in CuPy arrays.

    Attributes
    ----------
    name_starts, name_lengths, base_starts, quality_starts, lengths, has_qualities
        As in `ReadSpans`.
    """

    name_starts: GpuArray
    name_lengths: GpuArray
    base_starts: GpuArray
    quality_starts: GpuArray
    lengths: GpuArray
    has_qualities: bool

    def __len__(self) -> int:
        return int(self.lengths.size)

    @property
    def fields(self) -> tuple[GpuArray | int, ...]:
        """The fields of `SPANS`: int32[n] columns, and their size."""
        return (
            *(self.name_starts, self.name_lengths, self.base_starts, self.quality_starts),
            *(self.lengths, len(self)),
        )


def parse_text(text: GpuArray, limits: ReadLimits, *, is_fasta: bool) -> DeviceSpans | None:
    """Find and check all reads of a text; same as `hapgpu.io.fastx.cpu.parse_block`.

    Runs on the current stream of the device of the text, which must be the current device, and
    waits for the stream twice.

    Parameters
    ----------
    text
        uint8 on the device, less than 2**31 bytes, ending with a newline.
    limits
        Limits of the reads.
    is_fasta
        Whether the text is FASTA of two lines per record; otherwise FASTQ of four.

    Returns
    -------
    DeviceSpans | None
        None if a record is malformed; `parse_block` then raises the error.
    """
    newlines = newlines_of(text)
    reads = newlines.size // (2 if is_fasta else 4)
    columns = [cupy.empty(reads, dtype=np.int32) for _ in _SPAN_COLUMNS]
    is_faulty = cupy.zeros(1, dtype=np.int32)
    load_kernel(FIND_READS, text.device.id).launch(
        _blocks(min(reads, _MAX_BLOCKS * _WARPS_PER_BLOCK)),
        _THREADS,
        (
            (text, newlines, text.size, newlines.size),
            (*columns, reads),
            (limits.max_name, limits.max_bases, limits.for_sam, *limits.bit_masks()),
            *(is_faulty, 1, is_fasta),
        ),
    )
    if any(last_values(is_faulty)):
        return None
    return DeviceSpans(**dict(zip(_SPAN_COLUMNS, columns, strict=True)), has_qualities=not is_fasta)


def newlines_of(text: GpuArray) -> GpuArray:
    """Return int32 on the device: offsets of the newlines of `text`, uint8; wait for the stream."""
    device = text.device.id
    tiles = max(-(-text.size // _TILE_BYTES), 1)
    counts = cupy.empty(tiles, dtype=np.int32)
    load_kernel(COUNT_NEWLINES, device).launch(
        _blocks(tiles), _THREADS, (text, counts, text.size, tiles)
    )
    ends = cupy.cumsum(counts, dtype=np.int32)
    newlines = cupy.empty(*last_values(ends), dtype=np.int32)
    load_kernel(LIST_NEWLINES, device).launch(
        _blocks(tiles), _THREADS, (text, ends, newlines, text.size, tiles, newlines.size)
    )
    return newlines


def _blocks(warps: int) -> int:
    """Return the number of thread blocks for `warps` warps, at least 1."""
    return max(-(-warps // _WARPS_PER_BLOCK), 1)


class GpuWorker(ABC, Generic[_Result]):
    """Worker that computes results from blocks of reads on one GPU; one stream per calling thread.

    Parameters
    ----------
    device
        The GPU.
    limits
        Limits of the reads.
    no_reads
        Result of a block without whole records.
    """

    def __init__(self, device: CudaDevice, limits: ReadLimits, no_reads: _Result) -> None:
        self._device = device
        self._limits = limits
        self._no_reads = no_reads
        self._turns = memory_turns(device)
        self._largest: float = inf  # bytes of a block that may fit; shared by the threads
        self._start = Lock()
        self._has_started = False
        _limit_memory(device)

    def __call__(self, block: ReadBlock | UncutBlock) -> _Result | Divided[ReadBlock, _Result]:
        """Compute one block; it is divided if it does not fit into the memory of the GPU.

        Raises
        ------
        InputError
            A record is malformed; the message names the file and the record.
        DeviceError
            A single read does not fit the GPU, or the GPU failed.
        """
        number = self._device.index
        with device_errors(self._device), cupy.cuda.Device(number), thread_streams(number, 1)[0]:
            text = decoded(block) if isinstance(block, UncutBlock) else block
            return self._started(text) if text is not None else self._no_reads

    def _started(self, block: ReadBlock) -> _Result | Divided[ReadBlock, _Result]:
        """Compute one block; the first one alone.

        It loads kernels and compiled functions that all need. Side by side, that takes longer.
        """
        if not self._has_started:
            with self._start:
                if not self._has_started:
                    try:
                        return self._divided(block)
                    finally:
                        self._has_started = True
        return self._divided(block)

    @abstractmethod
    def _result_of(
        self, block: ReadBlock, text: GpuArray, spans: DeviceSpans
    ) -> _Result | Divided[ReadBlock, _Result]:
        """Compute one block on the current stream.

        Parameters
        ----------
        block
            The block.
        text
            uint8: its text on the device.
        spans
            Spans of the reads in the text.
        """

    def _divided(self, block: ReadBlock) -> _Result | Divided[ReadBlock, _Result]:
        halves = block.halves() if block.size > self._largest else [block]
        if len(halves) == 1:
            try:
                return self._turns.compute(partial(self._computed, block))
            except OUT_OF_MEMORY as error:
                halves = block.halves()
                if len(halves) == 1:
                    raise DeviceError(
                        f"{block.name}, record {block.first}: does not fit into the memory of "
                        f"{self._device.name}; raise --gpu-mem or use --device cpu"
                    ) from error
                self._largest = min(max(half.size for half in halves), self._largest)
        outcome = self._divided(halves[0])
        first = outcome if isinstance(outcome, Divided) else Divided(outcome, ())
        return Divided(first.result, [*first.rest, halves[1]])

    def _computed(self, block: ReadBlock) -> _Result | Divided[ReadBlock, _Result]:
        return self._result_of(block, *_parsed(block, self._limits, self._device))


def _limit_memory(device: CudaDevice) -> None:
    """Limit the memory that CuPy takes on a device to the limit of the user."""
    if device.memory_limit is not None:
        with cupy.cuda.Device(device.index):
            cupy.get_default_memory_pool().set_limit(size=device.memory_limit)


def _parsed(
    block: ReadBlock, limits: ReadLimits, device: CudaDevice
) -> tuple[GpuArray, DeviceSpans]:
    """Parse the text of a block on the current device, and copy it there if it is not there.

    Returns
    -------
    The text, uint8 on the device, and the spans of the reads in it.

    Raises
    ------
    InputError
        A record is malformed; the message names the file and the record.
    """
    if isinstance(block, DeviceBlock):
        text = block.on_device
    else:
        text = cupy.empty(block.text.size, dtype=np.uint8)
        text.set(block.text, stream=cupy.cuda.get_current_stream())
    spans = parse_text(text, limits, is_fasta=block.is_fasta)
    if spans is None:
        parse_block(block, limits)
        raise DeviceError(f"{device.name}: internal error; use --device cpu and report this")
    return text, spans


class DeviceBlock(ReadBlock):
    """Block in GPU memory, which is copied to host memory if its text is asked for.

    Parameters
    ----------
    on_device
        uint8 on the GPU: the text.
    is_fasta, first, name
        As in `ReadBlock`.
    """

    __slots__ = ("_host", "_on_device")
    _host: NDArray[np.uint8] | None
    _on_device: GpuArray

    def __init__(self, on_device: GpuArray, is_fasta: bool, first: int, name: str) -> None:  # noqa: FBT001  (as `ReadBlock`)
        object.__setattr__(self, "_on_device", on_device)
        object.__setattr__(self, "_host", None)
        object.__setattr__(self, "is_fasta", is_fasta)
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "name", name)

    @property
    def on_device(self) -> GpuArray:
        """uint8 on the GPU: the text."""
        return self._on_device

    @property
    def text(self) -> NDArray[np.uint8]:
        """uint8 in host memory."""
        host = self._host
        if host is None:
            host = download_pinned(self._on_device)
            object.__setattr__(self, "_host", host)
        return host

    @property
    def size(self) -> int:
        """Bytes of the text."""
        return int(self._on_device.size)

    def halves(self) -> list[ReadBlock]:
        """Split the block as `ReadBlock` does, in host memory; GPU memory is released."""
        return self._on_host().halves()

    def split(self, cuts: Iterable[tuple[int, int]]) -> list[ReadBlock]:
        """Split the block as `ReadBlock` does, in host memory; GPU memory is released."""
        return self._on_host().split(cuts)

    def _on_host(self) -> ReadBlock:
        text = self.text
        object.__setattr__(self, "_on_device", None)
        return ReadBlock(text, self.is_fasta, self.first, self.name)


def decoded(block: UncutBlock) -> ReadBlock | None:
    """Return the records that end in a block, on the current device and stream; None without one.

    Waits for the stream. They are in host memory if GPU memory is too small for them.

    Raises
    ------
    InputError
        The file is damaged or truncated, or has a record that is too long.
    AbandonedError
        A block before has an error, which a pipeline raises.
    """
    file, number, content = block.file, block.number, block.content
    try:
        if content is None or isinstance(content, InputError):
            return _rest(file, number, content)
        found = retried_or_none(partial(_in_gpu_memory, content, file))
        if found is None:
            return _on_host(file, number, _host_text(content, file))
        data, end = found
        before = file.relay.wait(number)
        cut = _hand_over(file, number, before, end)
        return _whole_records(file, before, data, cut) if cut >= 0 else None
    finally:
        file.relay.abandon(number)  # without effect after a hand-over


def _rest(file: UncutFile, number: int, error: InputError | None) -> ReadBlock | None:
    """Return the text after the last whole record, with a newline at its end."""
    before = file.relay.wait(number)
    if error is not None:
        raise error
    text = before.bytes()
    if not text.tobytes().strip():
        return None
    if text[-1] != _NEWLINE:
        text = np.append(text, np.uint8(_NEWLINE))
    return _host_block(file, before.records + 1, text)


def _host_block(file: UncutFile, first: int, text: NDArray[np.uint8]) -> ReadBlock:
    """Return whole records, which end with a newline, as a block in host memory."""
    if file.is_fasta:
        joiner = LineJoiner(np.empty(2 * text.size + 8, dtype=np.uint8))
        joiner.append(text)
        joiner.close()
        text = joiner.buffer[: joiner.used]
    file.check_length(_longest(np.flatnonzero(text == _NEWLINE), file))
    return ReadBlock(text, file.is_fasta, first, file.name)


def _longest(newlines: NDArray[np.integer], file: UncutFile) -> int:
    """Return the bytes of the longest record of a text with these newlines."""
    lines = 2 if file.is_fasta else LINES
    return int(np.diff(newlines[lines - 1 :: lines], prepend=-1).max(initial=0))


def _in_gpu_memory(content: Content, file: UncutFile) -> tuple[GpuArray, PieceEnd]:
    """Return uint8 with `_ROOM` bytes before the content, and the end of the content."""
    if isinstance(content, PackedPiece):
        size = content.size
        inflated = inflate_blocks(content.raw, content.table, _ROOM)
        data = inflated.data[: _ROOM + size]
        if not int(inflated.fault[0]):  # waits
            text = data[_ROOM:]
            return data, _end_of(text, file, lambda start, end: text[start:end].get())
        content = _host_text(content, file)
    on_host = content
    pin_shared(on_host)
    data = cupy.empty(_ROOM + content.size, dtype=np.uint8)
    data[_ROOM:].set(content, stream=cupy.cuda.get_current_stream())
    return data, _end_of(data[_ROOM:], file, lambda start, end: on_host[start:end].copy())


def _end_of(text: GpuArray, file: UncutFile, copy: _Copy) -> PieceEnd:
    """Return the end of a text on the GPU; `copy` returns a part of it in host memory."""
    newlines = newlines_of(text)
    size = int(text.size)
    if file.is_fasta:
        starts, last = record_starts(text, newlines)
        return FastaEnd(starts, last, copy(0, 1).tolist() == [_GREATER], copy(last, size))
    # The last lines are short, unless the reads are long.
    room = _LAST_LINES_BYTES
    while True:
        start = max(size - room, 0)
        suffix = copy(start, size)
        last_newlines = np.flatnonzero(suffix == _NEWLINE)[-LINES:]
        if not start or last_newlines.size == LINES:
            break
        room *= 16
    skipped = int(last_newlines[0]) + 1 if newlines.size >= LINES else 0
    return FastqEnd(int(newlines.size), last_newlines + start, suffix[skipped:])


def _host_text(content: Content, file: UncutFile) -> NDArray[np.uint8]:
    """Return the content in host memory, inflated on the CPU."""
    if not isinstance(content, PackedPiece):
        return content
    text = np.empty(content.size, dtype=np.uint8)
    row = inflate_library().new_inflater()(content.raw, content.table, text)
    if row >= 0:
        raise file.error() or damaged_block(file.name, int(content.table.offsets[row]))
    return text


def _hand_over(file: UncutFile, number: int, before: Unfinished, end: PieceEnd) -> int:
    """Put what the next block needs; return the end of the last whole record, -1 without one."""
    cut = end.cut(before)
    file.check_length(cut.after.size)
    file.relay.put(number, cut.after)
    return cut.end if cut.after.records > before.records else -1


def _on_host(file: UncutFile, number: int, text: NDArray[np.uint8]) -> ReadBlock | None:
    before = file.relay.wait(number)
    cut = _hand_over(file, number, before, end_of_text(text, is_fasta=file.is_fasta))
    if cut < 0:
        return None
    return _host_block(file, before.records + 1, np.concatenate([*before.parts, text[:cut]]))


def _whole_records(file: UncutFile, before: Unfinished, data: GpuArray, cut: int) -> ReadBlock:
    """Return the text of whole records, which starts with the record that the block ends."""
    start, first = before.bytes(), before.records + 1
    if start.size + cut > (_MAX_FASTA if file.is_fasta else _MAX_TEXT):
        raise DeviceError(f"{file.name}, record {first}: too long for a GPU; use --device cpu")
    text = retried_or_none(partial(_joined, file, start, data, cut))
    if text is None:
        rest = data[_ROOM : _ROOM + cut].get()
        return _host_block(file, first, np.concatenate([start, rest]))
    if text.size >= file.max_record - SLACK:
        file.check_length(_longest(newlines_of(text).get(), file))
    return DeviceBlock(text, file.is_fasta, first, file.name)


def _joined(file: UncutFile, start: NDArray[np.uint8], data: GpuArray, cut: int) -> GpuArray:
    """Return uint8 on the GPU: bytes of the host, and after them the content up to a cut."""
    if start.size <= _ROOM:
        text = data[_ROOM - start.size : _ROOM + cut]
        if start.size:
            text[: start.size].set(start, stream=cupy.cuda.get_current_stream())
    else:
        text = cupy.concatenate([cupy.asarray(start), data[_ROOM : _ROOM + cut]])
    return join_lines(text) if file.is_fasta else text


def record_starts(text: GpuArray, newlines: GpuArray) -> tuple[int, int]:
    """Return how many records start after a newline, and where the last does; 0 without one.

    Waits for the stream.

    Parameters
    ----------
    text, newlines
        uint8 on the GPU, and the offsets of its newlines.
    """
    starts = cupy.zeros(2, dtype=np.int32)
    count = int(newlines.size)
    if count:
        _launch(FIND_RECORD_STARTS, count, (text, newlines, starts, text.size, count, 2))
    records, last = starts.get().tolist()
    return records, last


def join_lines(text: GpuArray) -> GpuArray:
    """Return uint8 text: records with a header line and a sequence line, as of `LineJoiner`.

    Waits for the stream.

    Parameters
    ----------
    text
        uint8 on the GPU: whole records, which end with a newline. The result must have less than
        2**31 bytes.
    """
    newlines = newlines_of(text)
    count = int(newlines.size)
    sizes = cupy.empty(count + 1, dtype=np.int32)
    _launch(MEASURE_FASTA_LINES, count, (text, newlines, sizes, text.size, count))
    offsets = cupy.cumsum(sizes, dtype=np.int32)
    joined = cupy.empty(int(offsets[-1]) + 1, dtype=np.uint8)
    tiles = -(-text.size // _TILE_BYTES)
    arguments = (text, newlines, offsets, joined, text.size, count, joined.size)
    load_kernel(JOIN_FASTA_LINES, text.device.id).launch(
        -(-tiles // _WARPS_PER_BLOCK), _THREADS, arguments
    )
    return joined


def _launch(kernel: Kernel, threads: int, arguments: tuple[KernelArgument, ...]) -> None:
    """Launch a kernel on the current GPU with at least `threads` threads."""
    device = cupy.cuda.Device().id
    load_kernel(kernel, device).launch(-(-threads // _THREADS), _THREADS, arguments)
