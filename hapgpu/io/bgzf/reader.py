"""BGZF, the blocked gzip of BAM, inflated block by block on several threads."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import SEEK_END
from typing import BinaryIO, Final, cast

from isal import isal_zlib

from hapgpu.errors import InputError
from hapgpu.runtime.pool import Pool, Task

EOF_BLOCK: Final = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
MAX_BLOCK_BYTES: Final = 1 << 16
RAW_DEFLATE: Final = -15

_MAGIC = b"\x1f\x8b\x08\x04"
_GZIP_HEADER = struct.Struct("<4sIBBH")
_SUBFIELD = struct.Struct("<2sHH")
_FOOTER = struct.Struct("<II")
_INFLATE_ERROR = cast("type[Exception]", isal_zlib.error)
_MAX_TRAILING_BYTES = 1 << 20
_READ_BYTES = 1 << 19
_GROUP_BYTES = 1 << 19


def is_bgzf(head: bytes) -> bool:
    """Tell whether a file that begins with these bytes is BGZF, rather than another gzip."""
    return head.startswith(_MAGIC) and head[12:16] == b"BC\2\0"


def ends_closed(stream: BinaryIO, closing: bytes) -> bool:
    """Tell whether a file has its closing bytes, if there are any; it is left at another position.

    Up to a megabyte may follow them, unless it begins as a block does: that would be cut short.
    """
    if not closing:
        return True
    size = stream.seek(0, SEEK_END)
    for room in (0, _MAX_TRAILING_BYTES):
        stream.seek(max(size - len(closing) - room, 0))
        _, found, behind = stream.read().rpartition(closing)
        if found:
            return not behind.lstrip(b"\0").startswith(_MAGIC)
    return False


def trailing_bytes(name: str) -> InputError:
    """Return the error for a file in which something follows the compressed data.

    It may be a block whose beginning is damaged: passing over it could lose data.
    """
    return InputError(
        f"{name}: bytes that are no gzip follow the compressed data: cut them off, or copy it again"
    )


@dataclass(frozen=True, slots=True)
class VirtualRange:
    """A stretch of the inflated file, between two virtual offsets (block << 16 | byte in it)."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Block:
    """A block within the bytes read: its deflated data, its checks, its place in the file."""

    start: int
    stop: int
    crc: int
    size: int
    offset: int


class BgzfReader:
    """The inflated bytes of a BGZF stream.

    Parameters
    ----------
    stream
        Open at the beginning of a block; needs to be seekable only to read ranges.
    name
        The file's name for messages.
    pool
        Inflates ahead of the reader.
    """

    def __init__(self, stream: BinaryIO, name: str, pool: Pool) -> None:
        self._stream = stream
        self._name = name
        self._pool = pool

    def pieces(self) -> Iterator[bytes]:
        """Inflate to the end of the stream, a block at a time.

        Raises
        ------
        InputError
            A block is damaged or cut short, or the closing empty block is not there.
        """
        return self._inflated(self._all_groups())

    def pieces_of(self, ranges: Iterable[VirtualRange]) -> Iterator[bytes]:
        """Inflate ranges one after the other; they must end where a block or a record ends.

        Raises
        ------
        InputError
            A range does not lie within blocks of the file, or a block is damaged.
        """
        return self._inflated(group for part in ranges for group in self._groups_of(part))

    def _inflated(self, groups: Iterator[tuple[bytes, list[_Block], int, int]]) -> Iterator[bytes]:
        ahead: deque[Task[list[bytes]]] = deque()
        for raw, blocks, skip, stop in groups:
            ahead.append(self._pool.submit(_inflate, raw, blocks, self._name, skip, stop))
            if len(ahead) >= 2 * self._pool.threads:
                yield from ahead.popleft().result()
        while ahead:
            yield from ahead.popleft().result()

    def _all_groups(self) -> Iterator[tuple[bytes, list[_Block], int, int]]:
        offset = 0
        raw = b""
        last = b""
        while more := self._read(_READ_BYTES):
            raw += more
            blocks, used = _scan(raw, offset, self._name)
            for group in _grouped(blocks):
                yield raw, group, 0, MAX_BLOCK_BYTES
            last = (last + raw[max(0, used - len(EOF_BLOCK)) : used])[-len(EOF_BLOCK) :]
            offset += used
            raw = raw[used:]
            if last == EOF_BLOCK and _is_other(raw, 0):
                self._pass_zeros(raw)
                return
        if raw:
            raise InputError(f"{self._name} is truncated: its last block is cut short")
        if last != EOF_BLOCK:
            raise InputError(f"{self._name} is truncated: its closing (EOF) block is missing")

    def _pass_zeros(self, raw: bytes) -> None:
        """Read what follows the closing block: nothing but zeros, as tapes have them."""
        while raw:
            if raw.strip(b"\0"):
                raise trailing_bytes(self._name)
            raw = self._read(_READ_BYTES)

    def _groups_of(self, part: VirtualRange) -> Iterator[tuple[bytes, list[_Block], int, int]]:
        """Yield the blocks of a range, with what to leave out of the first and the last."""
        offset, skip = part.start >> 16, part.start & 0xFFFF
        end, stop = part.end >> 16, part.end & 0xFFFF
        limit = end + MAX_BLOCK_BYTES if stop else end
        self._stream.seek(offset)
        raw = b""
        position = offset
        while offset < end + (stop > 0):
            more = self._read(min(_READ_BYTES, limit - position))
            raw += more
            position += len(more)
            blocks, used = _scan(raw, offset, self._name)
            wanted = [b for b in blocks if b.offset < end or (b.offset == end and stop)]
            if not wanted:
                raise InputError(
                    f"{self._name} is truncated, or not the file that its index was made of"
                )
            for group in _grouped(wanted):
                is_last = group[-1].offset == end
                yield raw, group, skip, stop if is_last else MAX_BLOCK_BYTES
                skip = 0
            offset += used
            raw = raw[used:]

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except OSError as error:
            raise InputError(f"cannot read {self._name}: {error.strerror or error}") from error


def _scan(raw: bytes, offset: int, name: str) -> tuple[list[_Block], int]:
    """Find the whole blocks at the beginning of `raw`, and the number of bytes they take.

    They end where something else follows an empty one.
    """
    blocks: list[_Block] = []
    at = 0
    while span := _block_span(raw, at, offset + at, name):
        start, end = span
        if end > len(raw):
            break
        stop = end - _FOOTER.size
        crc, inflated = _FOOTER.unpack_from(raw, stop)
        if inflated > MAX_BLOCK_BYTES:
            raise _damaged(name, offset + at)
        blocks.append(_Block(start, stop, crc, inflated, offset + at))
        at = end
        if not inflated and _is_other(raw, at):
            break
    return blocks, at


def _is_other(raw: bytes, at: int) -> bool:
    """Tell whether bytes follow that no block begins with."""
    return not _MAGIC.startswith(raw[at : at + len(_MAGIC)])


def _block_span(raw: bytes, at: int, offset: int, name: str) -> tuple[int, int] | None:
    """Find where a block's data begins and where it ends; None if its header is not all there."""
    field = at + _GZIP_HEADER.size
    if field > len(raw):
        return None
    magic, _, _, _, extra = _GZIP_HEADER.unpack_from(raw, at)
    if magic != _MAGIC:
        raise InputError(f"{name} is damaged: there is no BGZF block at byte {offset}")
    start = field + extra
    if start > len(raw):
        return None
    while field + _SUBFIELD.size <= start:
        identifier, length, last = _SUBFIELD.unpack_from(raw, field)
        if identifier == b"BC" and length == 2:
            end = at + last + 1
            if end < start + _FOOTER.size:
                break
            return start, end
        field += 4 + length
    raise InputError(f"{name} is damaged: the block at byte {offset} is not BGZF")


def _grouped(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    """Cut a run of blocks so that none of the parts inflates to much more than a group."""
    group: list[_Block] = []
    inflated = 0
    for block in blocks:
        group.append(block)
        inflated += block.size
        if inflated >= _GROUP_BYTES:
            yield group
            group, inflated = [], 0
    if group:
        yield group


def _inflate(raw: bytes, blocks: list[_Block], name: str, skip: int, stop: int) -> list[bytes]:
    view = memoryview(raw)
    inflated = [_inflate_block(view[block.start : block.stop], block, name) for block in blocks]
    if skip > len(inflated[0]) or len(inflated[-1]) < stop < MAX_BLOCK_BYTES:
        raise InputError(f"{name} is not the file that its index was made of")
    inflated[-1] = inflated[-1][:stop]
    inflated[0] = inflated[0][skip:]
    return inflated


def _inflate_block(deflated: memoryview, block: _Block, name: str) -> bytes:
    try:
        data = isal_zlib.decompress(deflated, wbits=RAW_DEFLATE, bufsize=max(block.size, 1))
    except _INFLATE_ERROR:
        raise _damaged(name, block.offset) from None
    if len(data) != block.size or isal_zlib.crc32(data) != block.crc:
        raise _damaged(name, block.offset)
    return data


class DamagedBlockError(InputError):
    """A block is not what was written, by its own checksum: no index can be to blame."""


def _damaged(name: str, offset: int) -> InputError:
    return DamagedBlockError(
        f"{name} is damaged: the block at byte {offset} is not what was written"
    )
