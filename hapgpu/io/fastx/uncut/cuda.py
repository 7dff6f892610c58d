"""Uncut blocks to text of whole records in GPU memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, TypeAlias

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import DeviceError, InputError
from hapgpu.io.bgzf.block_table import damaged_block
from hapgpu.io.bgzf.cuda import inflate_blocks
from hapgpu.io.bgzf.inflater import inflate_library
from hapgpu.io.bgzf.pieces import PackedPiece
from hapgpu.io.fastx.cuda import newlines_of
from hapgpu.io.fastx.fasta_lines import LineJoiner
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.uncut.blocks import SLACK, Content, UncutBlock, UncutFile
from hapgpu.io.fastx.uncut.hand_over import (
    LINES,
    FastaEnd,
    FastqEnd,
    PieceEnd,
    Unfinished,
    end_of_text,
)
from hapgpu.io.fastx.uncut.lines_cuda import join_lines, record_starts
from hapgpu.runtime.gpu.context import OUT_OF_MEMORY, download_pinned, release_memory, retried

_ROOM: Final = 1 << 16
"""Bytes before the content of a block, for the start of its first record; longer ones are moved."""
_LAST_LINES_BYTES: Final = 4096
"""Bytes at the end of a block that are searched for its last lines, at first."""
_Copy: TypeAlias = Callable[[int, int], NDArray[np.uint8]]
_MAX_TEXT: Final = 2**31 - 1
_MAX_FASTA: Final = 2**30  # joined lines take less than twice the bytes
_NEWLINE, _GREATER = b"\n>"


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
    _on_device: Any

    def __init__(self, on_device: Any, is_fasta: bool, first: int, name: str) -> None:  # noqa: FBT001  (as `ReadBlock`)
        object.__setattr__(self, "_on_device", on_device)
        object.__setattr__(self, "_host", None)
        object.__setattr__(self, "is_fasta", is_fasta)
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "name", name)

    @property
    def on_device(self) -> Any:
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
        try:
            data, end = retried(partial(_in_gpu_memory, content, file))
        except OUT_OF_MEMORY:
            release_memory()
            return _on_host(file, number, _host_text(content, file))
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


def _longest(newlines: NDArray[np.integer[Any]], file: UncutFile) -> int:
    """Return the bytes of the longest record of a text with these newlines."""
    lines = 2 if file.is_fasta else LINES
    return int(np.diff(newlines[lines - 1 :: lines], prepend=-1).max(initial=0))


def _in_gpu_memory(content: Content, file: UncutFile) -> tuple[Any, PieceEnd]:
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
    data = cupy.empty(_ROOM + content.size, dtype=np.uint8)
    data[_ROOM:].set(content, stream=cupy.cuda.get_current_stream())
    return data, _end_of(data[_ROOM:], file, lambda start, end: on_host[start:end].copy())


def _end_of(text: Any, file: UncutFile, copy: _Copy) -> PieceEnd:
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


def _whole_records(file: UncutFile, before: Unfinished, data: Any, cut: int) -> ReadBlock:
    """Return the text of whole records, which starts with the record that the block ends."""
    start, first = before.bytes(), before.records + 1
    if start.size + cut > (_MAX_FASTA if file.is_fasta else _MAX_TEXT):
        raise DeviceError(f"{file.name}, record {first}: too long for a GPU; use --device cpu")
    try:
        text = retried(partial(_joined, file, start, data, cut))
    except OUT_OF_MEMORY:
        text = None
    if text is None:
        release_memory()
        rest = data[_ROOM : _ROOM + cut].get()
        return _host_block(file, first, np.concatenate([start, rest]))
    if text.size >= file.max_record - SLACK:
        file.check_length(_longest(newlines_of(text).get(), file))
    return DeviceBlock(text, file.is_fasta, first, file.name)


def _joined(file: UncutFile, start: NDArray[np.uint8], data: Any, cut: int) -> Any:
    """Return uint8 on the GPU: bytes of the host, and after them the content up to a cut."""
    if start.size <= _ROOM:
        text = data[_ROOM - start.size : _ROOM + cut]
        if start.size:
            text[: start.size].set(start, stream=cupy.cuda.get_current_stream())
    else:
        text = cupy.concatenate([cupy.asarray(start), data[_ROOM : _ROOM + cut]])
    return join_lines(text) if file.is_fasta else text
