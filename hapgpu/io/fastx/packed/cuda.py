"""Blocks of packed FASTQ to text of whole records in GPU memory."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import DeviceError, InputError
from hapgpu.io.bgzf.block_table import damaged_block
from hapgpu.io.bgzf.cuda import inflate_blocks
from hapgpu.io.bgzf.inflater import inflate_library
from hapgpu.io.bgzf.pieces import PackedPiece
from hapgpu.io.fastx.cuda import newlines_of
from hapgpu.io.fastx.packed.blocks import PackedBlock, PackedFile
from hapgpu.io.fastx.packed.hand_over import LINES, PieceEnd, Unfinished, end_of_text
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.runtime.gpu.context import OUT_OF_MEMORY, download_pinned, release_memory, retried

_ROOM: Final = 1 << 16
"""Bytes before the content of a block, for the start of its first record; longer ones are moved."""
_MAX_TEXT: Final = 2**31 - 1
_NEWLINE: Final = ord("\n")


class DeviceBlock(ReadBlock):
    """Block of FASTQ in GPU memory, which is copied to host memory if its text is asked for.

    Parameters
    ----------
    on_device
        uint8 on the GPU: the text.
    first, name
        As in `ReadBlock`.
    """

    __slots__ = ("_host", "_on_device")
    _host: NDArray[np.uint8] | None
    _on_device: Any

    def __init__(self, on_device: Any, first: int, name: str) -> None:
        object.__setattr__(self, "_on_device", on_device)
        object.__setattr__(self, "_host", None)
        object.__setattr__(self, "is_fasta", False)
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
        text = self.text
        object.__setattr__(self, "_on_device", None)
        return ReadBlock(text, self.is_fasta, self.first, self.name).halves()


def decoded(block: PackedBlock) -> ReadBlock | None:
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
        before, cut = _cut(file, number, end)
        return _joined(file, before, data, cut) if cut else None
    finally:
        file.relay.abandon(number)  # without effect after a hand-over


def _rest(file: PackedFile, number: int, error: InputError | None) -> ReadBlock | None:
    """Return the text after the last whole record, with a newline at its end."""
    before = file.relay.wait(number)
    if error is not None:
        raise error
    text = before.bytes()
    if not text.tobytes().strip():
        return None
    if text[-1] != _NEWLINE:
        text = np.append(text, np.uint8(_NEWLINE))
    return ReadBlock(text, is_fasta=False, first=before.records + 1, name=file.name)


def _in_gpu_memory(
    content: PackedPiece | NDArray[np.uint8], file: PackedFile
) -> tuple[Any, PieceEnd]:
    """Return uint8 with `_ROOM` bytes before the content, and the end of the content."""
    if isinstance(content, PackedPiece):
        size = content.size
        inflated = inflate_blocks(content.raw, content.table, _ROOM)
        data = inflated.data[: _ROOM + size]
        if not int(inflated.fault[0]):  # waits
            return data, _end_on_device(data[_ROOM:])
        content = _host_text(content, file)
    data = cupy.empty(_ROOM + content.size, dtype=np.uint8)
    data[_ROOM:].set(content, stream=cupy.cuda.get_current_stream())
    return data, _end_on_device(data[_ROOM:])


def _end_on_device(text: Any) -> PieceEnd:
    newlines = newlines_of(text)
    last = newlines[-LINES:].get()
    start = int(last[0]) + 1 if newlines.size >= LINES else 0
    return PieceEnd(int(newlines.size), last, text[start:].get())


def _host_text(content: PackedPiece | NDArray[np.uint8], file: PackedFile) -> NDArray[np.uint8]:
    """Return the content in host memory, inflated on the CPU."""
    if not isinstance(content, PackedPiece):
        return content
    text = np.empty(content.size, dtype=np.uint8)
    row = inflate_library().new_inflater()(content.raw, content.table, text)
    if row >= 0:
        raise file.error() or damaged_block(file.name, int(content.table.offsets[row]))
    return text


def _cut(file: PackedFile, number: int, end: PieceEnd) -> tuple[Unfinished, int]:
    """Return what the block before hands over, and the end of the last whole record."""
    before = file.relay.wait(number)
    cut, after = end.cut(before)
    if after.size > file.max_record - 2:  # without its last newline
        raise _too_long(file)
    file.relay.put(number, after)
    return before, cut


def _on_host(file: PackedFile, number: int, text: NDArray[np.uint8]) -> ReadBlock | None:
    before, cut = _cut(file, number, end_of_text(text))
    if not cut:
        return None
    joined = np.concatenate([*before.parts, text[:cut]])
    newlines = np.flatnonzero(joined == _NEWLINE)
    _check_lengths(file, newlines)
    return ReadBlock(joined, is_fasta=False, first=before.records + 1, name=file.name)


def _joined(file: PackedFile, before: Unfinished, data: Any, cut: int) -> ReadBlock:
    """Return the text of whole records, which starts with the record that the block ends."""
    start, first = before.bytes(), before.records + 1
    if start.size + cut > _MAX_TEXT:
        raise DeviceError(f"{file.name}, record {first}: too long for a GPU; use --device cpu")
    if start.size <= _ROOM:
        text = data[_ROOM - start.size : _ROOM + cut]
        text[: start.size].set(start, stream=cupy.cuda.get_current_stream())
    else:
        text = cupy.concatenate([cupy.asarray(start), data[_ROOM : _ROOM + cut]])
    if text.size >= file.max_record:
        _check_lengths(file, newlines_of(text).get())
    return DeviceBlock(text, first, file.name)


def _check_lengths(file: PackedFile, newlines: NDArray[np.integer]) -> None:
    ends = newlines[LINES - 1 :: LINES]
    if (np.diff(ends, prepend=-1) >= file.max_record).any():
        raise _too_long(file)


def _too_long(file: PackedFile) -> InputError:
    error = file.error()
    assert error is not None  # noqa: S101  (the CPU has the same limit)
    return error
