"""Text batches on a GPU (`cuda/pairhmm/text_batches/*.cu`): parser, tables, and the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.arrays.cuda import offsets_of as device_offsets_of
from hapgpu.arrays.ragged import offsets_of
from hapgpu.errors import DeviceError
from hapgpu.io.bgzf.pieces import Allocate
from hapgpu.io.fastx.cuda import newlines_of
from hapgpu.io.text.decimals import POWERS_OF_TEN
from hapgpu.pairhmm.batches import HmmBatch, TextOutput
from hapgpu.pairhmm.cuda.batches import READ_COLUMNS, DeviceHmmBatch, DeviceHmmReads
from hapgpu.pairhmm.forward.cuda import device_log10_likelihoods
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.pairhmm.text_batches.lines import PHRED_OFFSET, READ_FIELDS
from hapgpu.pairhmm.text_batches.parser import TextPiece, parse_piece
from hapgpu.pairhmm.text_batches.reader import text_pieces
from hapgpu.pairhmm.text_batches.tables import likelihood_text, text_output
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import (
    OUT_OF_MEMORY,
    device_errors,
    download_pinned,
    release_memory,
    thread_streams,
)
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar, Struct
from hapgpu.runtime.gpu.memory_turns import memory_turns
from hapgpu.runtime.gpu.shared_input import pin_shared
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.runtime.relay import Relay

_PIECE_BYTES: Final = 1 << 25
"""Bytes of text per piece: some milliseconds of a GPU."""
_THREADS: Final = 256
_FOUND_FIELDS: Final = 4  # kFoundFields in parse.cu
_HEADER_ENTRIES: Final = 3
_EXPECTED_HEADERS: Final = 1 << 14
"""Headers that are downloaded together with their number; few pieces have more."""

_TEXT = Array("text", np.uint8, "size")
_STARTS = Array("starts", np.int32, "lines", width=READ_FIELDS)
_FOUND = Array("found", np.int32, "found_size")


MEASURE_LINES: Final = Kernel(
    "pairhmm/text_parse.cu",
    "measure_lines",
    (
        *(_TEXT, Length("size")),
        Array("newlines", np.int32, "lines"),
        Array("fields", np.int32, "lines"),
        _STARTS,
        Array("lengths", np.int32, "lines"),
        *(_FOUND, Length("found_size"), Scalar("lines", np.int32)),
    ),
)
_HEADERS = Struct(
    "headers",
    (
        Array("lines", np.int32, "count"),
        Array("first_reads", np.int32, "count", 1),
        Array("first_haplotypes", np.int32, "count", 1),
        Scalar("count", np.int32),
    ),
)
ASSIGN_LINES: Final = Kernel(
    "pairhmm/text_parse.cu",
    "assign_lines",
    (
        *(Array("fields", np.int32, "lines"), Array("lengths", np.int32, "lines"), _HEADERS),
        *(Array("read_lines", np.int32, "reads"), Array("read_lengths", np.int32, "reads")),
        Array("haplotype_lines", np.int32, "haplotypes"),
        Array("haplotype_lengths", np.int32, "haplotypes"),
        *(Length("reads"), Length("haplotypes")),
        *(_FOUND, Length("found_size"), Scalar("lines", np.int32)),
    ),
)


def _line_rows(name: str) -> Struct:
    fields = (
        Array("lines", np.int32, "count"),
        Array("offsets", np.int64, "count", 1),
        Scalar("count", np.int32),
    )
    return Struct(name, fields)


COPY_ROWS: Final = Kernel(
    "pairhmm/text_parse.cu",
    "copy_rows",
    (
        *(_TEXT, Length("size"), _STARTS),
        *(_line_rows("reads"), _line_rows("haplotypes"), READ_COLUMNS),
        Array("continuations", np.uint8, "continuation_count"),
        *(Array("haplotype_bases", np.uint8, "haplotype_bytes"), Length("haplotype_bytes")),
        *(Scalar("lines", np.int32), Scalar("continuation_count", np.int32)),
    ),
)

_TABLE_INPUTS: Final = (
    Struct(
        "groups",
        (
            *(Array("items", np.int64, "count", 1), Array("pairs", np.int64, "count", 1)),
            *(Array("reads", np.int64, "count"), Array("haplotypes", np.int64, "count")),
            *(Scalar("count", np.int32), Scalar("first", np.int64)),
        ),
    ),
    *(Array("likelihoods", np.float64, "pair_count"), Length("pair_count")),
    *(Array("powers", np.float64, "power_count"), Length("power_count")),
)
_ITEMS: Final = (Scalar("item_count", np.int64), Scalar("as_matrix", np.int32))
MEASURE_TABLE: Final = Kernel(
    "pairhmm/text_tables.cu",
    "measure_table",
    (*_TABLE_INPUTS, Array("sizes", np.int64, "item_count"), *_ITEMS),
)
WRITE_TABLE: Final = Kernel(
    "pairhmm/text_tables.cu",
    "write_table",
    (
        *(*_TABLE_INPUTS, Array("ends", np.int64, "item_count")),
        *(Array("text", np.uint8, "text_size"), Length("text_size"), *_ITEMS),
    ),
)

_Result = TypeVar("_Result")


class TextBatchScorer:
    """Source and workers of a run.

    Parameters
    ----------
    path
        Text batches; `-` for standard input.
    max_record
        Bytes of the longest text batch that is read.
    as_matrix
        Whether to write a matrix per text batch, instead of a line per pair.
    """

    def __init__(self, path: str, max_record: int, *, as_matrix: bool) -> None:
        self._path = path
        self._max_record = max_record
        self._as_matrix = as_matrix
        self._numbers = Relay(0)  # of the first text batch of each piece

    def pieces(self, threads: int, allocate: Allocate) -> Iterator[TextPiece]:
        """Read the file with a number of threads; see `text_pieces`."""
        pieces = text_pieces(
            self._path, _PIECE_BYTES, allocate, threads, max_record=self._max_record
        )
        for piece in pieces:
            self._numbers.abandon_with(piece, piece.number)
            yield piece

    def score(self, device: CudaDevice, piece: TextPiece) -> TextOutput:
        """Compute the likelihoods of a piece on a GPU; pieces must be started in their order.

        Raises
        ------
        InputError
            A line is malformed, or a text batch is not whole.
        AbandonedError
            A piece before has an error, which a pipeline raises.
        DeviceError
            A read with its haplotypes does not fit the memory of the GPU, or the GPU failed.
        """
        index = device.index
        # Other kernels are urgent beside those of the forward algorithm, which fill the GPU.
        stream = thread_streams(index, 1, urgent=True)[0]
        try:
            with device_errors(device), cupy.cuda.Device(index), stream:
                return self._scored(device, piece)
        finally:
            self._numbers.abandon(piece.number)  # without effect after `put`

    def _scored(self, device: CudaDevice, piece: TextPiece) -> TextOutput:
        batch: HmmBatch | DeviceHmmBatch | None
        batch = _if_memory_suffices(device, partial(_parsed, device, piece))
        if batch is None:
            batch = parse_piece(piece)
        first = self._numbers.wait(piece.number)
        self._numbers.put(piece.number, first + len(batch))
        if isinstance(batch, DeviceHmmBatch):
            compute = partial(_device_text, device, first, batch, as_matrix=self._as_matrix)
            text = _if_memory_suffices(device, compute)
            if text is not None:
                return text_output(batch, [text])
            batch = batch.download()
        likelihoods = log10_likelihoods(batch, device)
        text = likelihood_text(first, batch, likelihoods, as_matrix=self._as_matrix)
        return text_output(batch, [text])


def _if_memory_suffices(device: CudaDevice, compute: Callable[[], _Result]) -> _Result | None:
    """Call a function in a turn; return None if the GPU has too little memory for it."""
    try:
        return memory_turns(device).compute(compute)
    except OUT_OF_MEMORY:
        pass
    release_memory()  # not in `except`, where the traceback still holds arrays
    return None


def _parsed(device: CudaDevice, piece: TextPiece) -> DeviceHmmBatch:
    pin_shared(piece.text)
    text = cupy.empty(piece.text.size, dtype=np.uint8)
    text.set(piece.text, stream=cupy.cuda.get_current_stream())
    batch = parse_on_gpu(text)
    if batch is None:
        parse_piece(piece)
        message = f"{device.name}: internal error; use --device cpu and report this"
        raise DeviceError(message)
    return batch


def _device_text(
    device: CudaDevice, first_group: int, batch: DeviceHmmBatch, *, as_matrix: bool
) -> NDArray[np.uint8]:
    likelihoods = device_log10_likelihoods(batch, device)
    return download_pinned(table_text(first_group, batch, likelihoods, as_matrix=as_matrix))


@dataclass(frozen=True, slots=True)
class _Headers:
    """Headers of a piece in host memory.

    Attributes
    ----------
    lines
        int64[b]: the lines of the headers, ascending.
    reads, haplotypes
        int64[b]: the counts of each text batch.
    min_continuation, max_continuation
        Characters of the gap continuations; without reads, the minimum is above the maximum.
    """

    lines: NDArray[np.int64]
    reads: NDArray[np.int64]
    haplotypes: NDArray[np.int64]
    min_continuation: int
    max_continuation: int

    def fit(self, lines: int) -> bool:
        """Tell whether each text batch has lines enough before the next."""
        ends = np.append(self.lines[1:], lines)
        return bool((self.lines + self.reads + self.haplotypes < ends).all())


def parse_on_gpu(text: GpuArray) -> DeviceHmmBatch | None:
    """Parse a piece of text batches on the current device and stream; same as `parse_piece`.

    Waits for the stream three times.

    Parameters
    ----------
    text
        uint8 on the device: whole lines.

    Returns
    -------
    DeviceHmmBatch | None
        None if a line is malformed or a text batch is not whole; `parse_piece` raises the error.
    """
    newlines = newlines_of(text)
    lines = int(newlines.size)
    fields, lengths = (cupy.empty(lines, dtype=np.int32) for _ in range(2))
    starts = cupy.empty(READ_FIELDS * lines, dtype=np.int32)
    found = cupy.empty(_FOUND_FIELDS + _HEADER_ENTRIES * lines, dtype=np.int32)
    found[:_FOUND_FIELDS] = cupy.asarray(np.array([0, 256, -1, 0], dtype=np.int32))
    arguments = (text, text.size, newlines, fields, starts, lengths, found, found.size, lines)
    launch_threads(MEASURE_LINES, _THREADS, lines * WARP, arguments)
    headers = _headers(found)
    if headers is None or not headers.fit(lines):
        return None
    return _batch(text, (fields, starts, lengths), found, headers)


def _headers(found: GpuArray) -> _Headers | None:
    """Download the headers; return None if a line is malformed."""
    first = found[: _FOUND_FIELDS + _HEADER_ENTRIES * _EXPECTED_HEADERS].get()
    is_faulty, low, high, count = first[:_FOUND_FIELDS].tolist()
    if is_faulty:
        return None
    entries = slice(_FOUND_FIELDS, _FOUND_FIELDS + _HEADER_ENTRIES * count)
    all_entries = first[entries] if count <= _EXPECTED_HEADERS else found[entries].get()
    table = all_entries.reshape(count, _HEADER_ENTRIES).astype(np.int64)
    table = table[np.argsort(table[:, 0])]
    rows, reads, haplotypes = table.T
    return _Headers(rows, reads, haplotypes, low, high)


def _batch(
    text: GpuArray,
    measured: tuple[GpuArray, GpuArray, GpuArray],
    found: GpuArray,
    headers: _Headers,
) -> DeviceHmmBatch | None:
    """Copy the rows of text batches with these headers; return None if a line is malformed."""
    fields, starts, lengths = measured
    lines = int(fields.size)
    read_offsets, haplotype_offsets = offsets_of(headers.reads), offsets_of(headers.haplotypes)
    reads, haplotypes = int(read_offsets[-1]), int(haplotype_offsets[-1])
    columns = _uploaded([headers.lines, read_offsets, haplotype_offsets])
    read_lines, read_lengths = (cupy.empty(reads, dtype=np.int32) for _ in range(2))
    haplotype_lines, haplotype_lengths = (cupy.empty(haplotypes, dtype=np.int32) for _ in range(2))
    rows = (read_lines, read_lengths, haplotype_lines, haplotype_lengths, reads, haplotypes)
    of_headers = (*columns, headers.lines.size)
    arguments = (fields, lengths, of_headers, *rows, found, found.size, lines)
    launch_threads(ASSIGN_LINES, _THREADS, lines, arguments)
    bases, haplotype_bases = device_offsets_of(read_lengths), device_offsets_of(haplotype_lengths)
    known = cupy.concatenate((bases[columns[1]], haplotype_bases, found[:1])).get()
    if known[-1]:
        return None
    base_offsets, column_offsets = known[: read_offsets.size], known[read_offsets.size : -1]
    total, haplotype_total = int(base_offsets[-1]), int(column_offsets[-1])
    is_uniform = headers.min_continuation >= headers.max_continuation
    columns_of_reads = [cupy.empty(total, dtype=np.uint8) for _ in range(4)]
    continuations = cupy.empty(0 if is_uniform else total, dtype=np.uint8)
    columns_of_haplotypes = cupy.empty(haplotype_total, dtype=np.uint8)
    launch_threads(
        COPY_ROWS,
        _THREADS,
        (reads + haplotypes) * WARP,
        (
            *(text, text.size, starts),
            (read_lines, bases, reads),
            (haplotype_lines, haplotype_bases, haplotypes),
            *((*columns_of_reads, total), continuations),
            *(columns_of_haplotypes, haplotype_total, lines, continuations.size),
        ),
    )
    texts, base_qualities, insertions, deletions = columns_of_reads
    continuation = max(headers.max_continuation - PHRED_OFFSET, 0) if is_uniform else continuations
    return DeviceHmmBatch(
        DeviceHmmReads(
            DeviceRagged(texts, bases), base_qualities, insertions, deletions, continuation
        ),
        DeviceRagged(columns_of_haplotypes, haplotype_bases),
        read_offsets,
        haplotype_offsets,
        base_offsets,
        column_offsets,
    )


def _uploaded(columns: list[NDArray[np.int64]]) -> list[GpuArray]:
    """Copy columns to the device as int32, together."""
    joined = np.concatenate(columns).astype(np.int32)
    on_device = cupy.asarray(joined)
    ends = np.cumsum([column.size for column in columns]).tolist()
    starts = [0, *ends[:-1]]
    return [on_device[start:end] for start, end in zip(starts, ends, strict=True)]


def table_text(
    first_group: int, batch: DeviceHmmBatch, likelihoods: GpuArray, *, as_matrix: bool
) -> GpuArray:
    """Write a line per pair, or a matrix per text batch; waits for the GPU.

    Parameters
    ----------
    first_group
        Number in the file of the first text batch.
    batch
        The pairs.
    likelihoods
        float64[batch.pairs] on the current GPU, in the order of `HmmBatch`.
    as_matrix
        Whether to write `likelihood_matrix`; otherwise `likelihood_table`.

    Returns
    -------
    uint8 text on the GPU, the same as on the CPU.
    """
    reads, haplotypes = np.diff(batch.read_offsets), np.diff(batch.haplotype_offsets)
    items = offsets_of(np.maximum(reads * haplotypes, 1))
    if not (count := int(items[-1])):
        return cupy.empty(0, dtype=np.uint8)
    columns = (items, batch.pair_offsets, reads, haplotypes)
    table = cupy.asarray(np.concatenate([*columns, POWERS_OF_TEN.view(np.int64)]))
    cuts = np.cumsum([column.size for column in columns]).tolist()
    *groups, powers = (
        table[start:end] for start, end in zip([0, *cuts], [*cuts, table.size], strict=True)
    )
    inputs = (
        *((*groups, reads.size, first_group), likelihoods, likelihoods.size),
        *(powers.view(np.float64), powers.size),
    )
    item_sizes = cupy.empty(count, dtype=np.int64)
    launch_threads(MEASURE_TABLE, _THREADS, count, (*inputs, item_sizes, count, as_matrix))
    ends = cupy.cumsum(item_sizes)
    text = cupy.empty(int(ends[-1]), dtype=np.uint8)
    if text.size:
        arguments = (*inputs, ends, text, text.size, count, as_matrix)
        launch_threads(WRITE_TABLE, _THREADS, count, arguments)
    return text
