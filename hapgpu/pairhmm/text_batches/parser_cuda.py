"""Parser of pieces of text batches on a GPU (`cuda/pairhmm/text_batches/parse.cu`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.arrays.cuda import offsets_of as device_offsets_of
from hapgpu.arrays.ragged import offsets_of
from hapgpu.io.fastx.cuda import newlines_of
from hapgpu.pairhmm.device_batches import DeviceHmmBatch, DeviceHmmReads
from hapgpu.pairhmm.text_batches.lines import PHRED_OFFSET, READ_FIELDS
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads

_THREADS: Final = 256
_FOUND_FIELDS: Final = 4  # kFoundFields in parse.cu
_HEADER_ENTRIES: Final = 3
_EXPECTED_HEADERS: Final = 1 << 14
"""Headers that are downloaded together with their number; few pieces have more."""

_TEXT = Array("text", np.uint8, "size")
_STARTS = Array("starts", np.int32, "lines", width=READ_FIELDS)
_FOUND = Array("found", np.int32, "found_size")


def _sizes(*names: str) -> tuple[Scalar, ...]:
    return tuple(Scalar(name, np.int32) for name in names)


MEASURE_LINES: Final = Kernel(
    "pairhmm/text_batches/parse.cu",
    "measure_lines",
    (
        _TEXT,
        Array("newlines", np.int32, "lines"),
        Array("fields", np.int32, "lines"),
        _STARTS,
        Array("lengths", np.int32, "lines"),
        _FOUND,
        *_sizes("size", "lines", "found_size"),
    ),
)
ASSIGN_LINES: Final = Kernel(
    "pairhmm/text_batches/parse.cu",
    "assign_lines",
    (
        Array("fields", np.int32, "lines"),
        Array("lengths", np.int32, "lines"),
        Array("headers", np.int32, "groups"),
        Array("first_reads", np.int32, "groups", 1),
        Array("first_haplotypes", np.int32, "groups", 1),
        Array("read_lines", np.int32, "reads"),
        Array("read_lengths", np.int32, "reads"),
        Array("haplotype_lines", np.int32, "haplotypes"),
        Array("haplotype_lengths", np.int32, "haplotypes"),
        _FOUND,
        *_sizes("lines", "groups", "reads", "haplotypes", "found_size"),
    ),
)
COPY_ROWS: Final = Kernel(
    "pairhmm/text_batches/parse.cu",
    "copy_rows",
    (
        _TEXT,
        _STARTS,
        Array("read_lines", np.int32, "reads"),
        Array("read_offsets", np.int64, "reads", 1),
        Array("haplotype_lines", np.int32, "haplotypes"),
        Array("haplotype_offsets", np.int64, "haplotypes", 1),
        Array("bases", np.uint8, "base_count"),
        Array("base_qualities", np.uint8, "base_count"),
        Array("insertion_qualities", np.uint8, "base_count"),
        Array("deletion_qualities", np.uint8, "base_count"),
        Array("continuations", np.uint8, "continuation_count"),
        Array("haplotype_bases", np.uint8, "haplotype_base_count"),
        *_sizes("size", "lines", "reads", "haplotypes", "base_count", "continuation_count"),
        *_sizes("haplotype_base_count"),
    ),
)


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


def parse_on_gpu(text: Any) -> DeviceHmmBatch | None:
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
    arguments = (text, newlines, fields, starts, lengths, found, text.size, lines, found.size)
    launch_threads(MEASURE_LINES, _THREADS, lines * WARP, arguments)
    headers = _headers(found)
    if headers is None or not headers.fit(lines):
        return None
    return _batch(text, (fields, starts, lengths), found, headers)


def _headers(found: Any) -> _Headers | None:
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
    text: Any, measured: tuple[Any, Any, Any], found: Any, headers: _Headers
) -> DeviceHmmBatch | None:
    """Copy the rows of text batches with these headers; return None if a line is malformed."""
    fields, starts, lengths = measured
    lines = int(fields.size)
    read_offsets, haplotype_offsets = offsets_of(headers.reads), offsets_of(headers.haplotypes)
    reads, haplotypes = int(read_offsets[-1]), int(haplotype_offsets[-1])
    groups = [headers.lines, read_offsets, haplotype_offsets]
    columns = _uploaded(groups)
    read_lines, read_lengths = (cupy.empty(reads, dtype=np.int32) for _ in range(2))
    haplotype_lines, haplotype_lengths = (cupy.empty(haplotypes, dtype=np.int32) for _ in range(2))
    rows = (read_lines, read_lengths, haplotype_lines, haplotype_lengths)
    sizes = (lines, headers.lines.size, reads, haplotypes, found.size)
    launch_threads(ASSIGN_LINES, _THREADS, lines, (fields, lengths, *columns, *rows, found, *sizes))
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
            text,
            starts,
            read_lines,
            bases,
            haplotype_lines,
            haplotype_bases,
            *columns_of_reads,
            continuations,
            columns_of_haplotypes,
            *(text.size, lines, reads, haplotypes, total, continuations.size, haplotype_total),
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


def _uploaded(columns: list[NDArray[np.int64]]) -> list[Any]:
    """Copy columns to the device as int32, together."""
    joined = np.concatenate(columns).astype(np.int32)
    on_device = cupy.asarray(joined)
    ends = np.cumsum([column.size for column in columns]).tolist()
    starts = [0, *ends[:-1]]
    return [on_device[start:end] for start, end in zip(starts, ends, strict=True)]
