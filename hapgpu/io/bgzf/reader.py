"""Reader of BGZF, the blocked gzip of BAM, on several threads."""

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
    """Tell whether a file that starts with these bytes is BGZF; plain gzip is not."""
    return head.startswith(_MAGIC) and head[12:16] == b"BC\2\0"


def has_closing_bytes(stream: BinaryIO, closing: bytes) -> bool:
    """Tell whether a file has its closing bytes, if there are any; moves the file position.

    Up to a megabyte may follow them, unless it starts as a block does: a truncated block.
    """
    if not closing:
        return True
    size = stream.seek(0, SEEK_END)
    for room in (0, _MAX_TRAILING_BYTES):
        stream.seek(max(size - len(closing) - room, 0))
        _, found, trailing = stream.read().rpartition(closing)
        if found:
            return not trailing.lstrip(b"\0").startswith(_MAGIC)
    return False


def trailing_bytes(name: str) -> InputError:
    """Return the error for a file with other bytes after the compressed data.

    They may be a block whose start is damaged: skipping them could lose data.
    """
    return InputError(
        f"{name}: bytes that are not gzip follow the compressed data; remove them or copy it again"
    )


def missing_eof_block(name: str) -> InputError:
    """Return the error for a file without its closing block."""
    return InputError(f"{name}: truncated (no closing EOF block); copy it again")


@dataclass(frozen=True, slots=True)
class VirtualRange:
    """Range of the inflated file between two virtual offsets (block << 16 | byte in it)."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Block:
    """BGZF block: range of its deflated data in the bytes read, checks, offset in the file."""

    start: int
    end: int
    crc: int
    size: int
    offset: int


class BgzfReader:
    """Reader of the inflated bytes of a BGZF stream.

    Parameters
    ----------
    stream
        Open at the start of a block; must be seekable only to read ranges.
    name
        The file's name for messages.
    pool
        Inflates ahead of the caller.
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
            A block is damaged or truncated, or the closing empty block is missing.
        """
        return self._inflated(self._all_groups())

    def pieces_of(self, ranges: Iterable[VirtualRange]) -> Iterator[bytes]:
        """Inflate ranges in order; each must end where a block or a record ends.

        Raises
        ------
        InputError
            A range is not within blocks of the file, or a block is damaged.
        """
        return self._inflated(group for part in ranges for group in self._groups_of(part))

    def _inflated(self, groups: Iterator[tuple[bytes, list[_Block], int, int]]) -> Iterator[bytes]:
        tasks: deque[Task[list[bytes]]] = deque()
        for raw, blocks, skip, end in groups:
            tasks.append(self._pool.submit(_inflate, raw, blocks, self._name, skip, end))
            if len(tasks) >= 2 * self._pool.threads:
                yield from tasks.popleft().result()
        while tasks:
            yield from tasks.popleft().result()

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
                self._skip_zeros(raw)
                return
        if raw:
            raise InputError(f"{self._name}: truncated (within its last block); copy it again")
        if last != EOF_BLOCK:
            raise missing_eof_block(self._name)

    def _skip_zeros(self, raw: bytes) -> None:
        """Read the rest of the stream after the closing block, which may be zeros, as on tapes."""
        while raw:
            if raw.strip(b"\0"):
                raise trailing_bytes(self._name)
            raw = self._read(_READ_BYTES)

    def _groups_of(self, part: VirtualRange) -> Iterator[tuple[bytes, list[_Block], int, int]]:
        """Yield the blocks of a range, the first byte of the first and the end in the last."""
        offset, skip = part.start >> 16, part.start & 0xFFFF
        last, end = part.end >> 16, part.end & 0xFFFF
        limit = last + MAX_BLOCK_BYTES if end else last
        self._stream.seek(offset)
        raw = b""
        position = offset
        while offset < last + (end > 0):
            more = self._read(min(_READ_BYTES, limit - position))
            raw += more
            position += len(more)
            blocks, used = _scan(raw, offset, self._name)
            within = [b for b in blocks if b.offset < last or (b.offset == last and end)]
            if not within:
                raise InputError(
                    f"{self._name}: truncated, or does not match its index; run: samtools index"
                    f" {self._name}"
                )
            for group in _grouped(within):
                is_last = group[-1].offset == last
                yield raw, group, skip, end if is_last else MAX_BLOCK_BYTES
                skip = 0
            offset += used
            raw = raw[used:]

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except OSError as error:
            raise InputError(f"{self._name}: cannot be read ({error.strerror or error})") from error


def _scan(raw: bytes, offset: int, name: str) -> tuple[list[_Block], int]:
    """Find the whole blocks at the start of `raw`, and the number of their bytes.

    The search ends where other bytes follow an empty block.
    """
    blocks: list[_Block] = []
    at = 0
    while span := _block_span(raw, at, offset + at, name):
        start, block_end = span
        if block_end > len(raw):
            break
        end = block_end - _FOOTER.size
        crc, inflated = _FOOTER.unpack_from(raw, end)
        if inflated > MAX_BLOCK_BYTES:
            raise _damaged(name, offset + at)
        blocks.append(_Block(start, end, crc, inflated, offset + at))
        at = block_end
        if not inflated and _is_other(raw, at):
            break
    return blocks, at


def _is_other(raw: bytes, at: int) -> bool:
    """Tell whether bytes follow that cannot start a block."""
    return not _MAGIC.startswith(raw[at : at + len(_MAGIC)])


def _block_span(raw: bytes, at: int, offset: int, name: str) -> tuple[int, int] | None:
    """Find the start of the data of a block and the end of the block; None without its header."""
    field = at + _GZIP_HEADER.size
    if field > len(raw):
        return None
    magic, _, _, _, extra = _GZIP_HEADER.unpack_from(raw, at)
    if magic != _MAGIC:
        raise InputError(f"{name}: damaged (no BGZF block at byte {offset}); copy it again")
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
    raise InputError(f"{name}: damaged (the block at byte {offset} is not BGZF); copy it again")


def _grouped(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    """Split blocks into groups that inflate to about `_GROUP_BYTES` each."""
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


def _inflate(raw: bytes, blocks: list[_Block], name: str, skip: int, end: int) -> list[bytes]:
    view = memoryview(raw)
    inflated = [_inflate_block(view[block.start : block.end], block, name) for block in blocks]
    if skip > len(inflated[0]) or len(inflated[-1]) < end < MAX_BLOCK_BYTES:
        raise InputError(f"{name}: does not match its index; run: samtools index {name}")
    inflated[-1] = inflated[-1][:end]
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
    """A block fails its own checksum, so its index is not the cause."""


def _damaged(name: str, offset: int) -> InputError:
    return DamagedBlockError(
        f"{name}: damaged (checksum of the BGZF block at byte {offset}); copy it again"
    )
