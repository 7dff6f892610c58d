"""Pieces of BGZF files and of ranges, whose content zlib inflates."""

from __future__ import annotations

import io
import zlib
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.bgzf.block_table import MAX_BLOCK_BYTES
from hapgpu.io.bgzf.marks import EOF_BLOCK
from hapgpu.io.bgzf.pieces import PackedPiece, PieceReader, VirtualRange
from tests.io.bgzf_blocks import block

SIZES = st.lists(st.sampled_from([0, 1, 5, 100, 3000, 65_000]), max_size=12)


def contents_of(sizes: list[int]) -> list[bytes]:
    return [bytes([k + 1]) * size for k, size in enumerate(sizes)]


class Trickle(io.BytesIO):
    """A stream that returns fewer bytes than it is asked for, as pipes do."""

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return super().readinto(buffer[:7000])


def reader(raw: bytes, inflated_bytes: int = 70_000, packed_bytes: int = 1) -> PieceReader:
    return PieceReader(
        Trickle(raw), "x.bam", packed_bytes=packed_bytes, inflated_bytes=inflated_bytes
    )


def content_of(piece: PackedPiece) -> bytes:
    raw = piece.raw.tobytes()
    found = b""
    for start, end, crc, size, _ in zip(*(x.tolist() for x in piece.table), strict=True):
        inflated = zlib.decompress(raw[start:end], -15)
        assert len(inflated) == size
        assert zlib.crc32(inflated) == crc
        found += inflated
    assert len(found) == piece.size
    return found


def stretches_of(pieces: list[PackedPiece]) -> list[bytes]:
    """Return the stretches of all pieces, those that were cut joined again."""
    found: list[bytes] = []
    before = False
    for piece in pieces:
        assert piece.continues == before
        content = content_of(piece)
        parts = [content[a:b] for a, b in zip(piece.starts, piece.ends, strict=True)]
        assert parts
        assert (np.diff(np.ravel([piece.starts, piece.ends], "F")) >= 0).all()
        if before:
            assert piece.starts[0] == 0
            found[-1] += parts.pop(0)
        found += parts
        before = piece.goes_on
    return found


@given(SIZES, st.sampled_from([1, 5000, 70_000, 1 << 20]), st.integers(0, 3))
def test_pieces_hold_the_file(sizes: list[int], inflated_bytes: int, zeros: int) -> None:
    contents = contents_of(sizes)
    raw = b"".join(map(block, contents)) + EOF_BLOCK + bytes(100_000 * zeros)
    pieces = list(reader(raw, inflated_bytes).pieces())
    assert b"".join(stretches_of(pieces)) == b"".join(contents)
    assert all(piece.size <= inflated_bytes + MAX_BLOCK_BYTES for piece in pieces)
    assert all(piece.goes_on for piece in pieces)


@given(st.data(), SIZES, st.sampled_from([1, 5000, 70_000, 1 << 20]))
def test_pieces_hold_the_ranges(data: st.DataObject, sizes: list[int], inflated_bytes: int) -> None:
    contents = contents_of(sizes)
    blocks = [block(content) for content in contents]
    raw = b"".join(blocks) + EOF_BLOCK
    packed = [0, *accumulate(map(len, blocks))]
    inflated = [0, *accumulate(map(len, contents))]
    whole = b"".join(contents)
    cuts = []
    for k, content in enumerate([*contents, b""]):
        most = min(len(content), MAX_BLOCK_BYTES - 1)
        chosen = {data.draw(st.integers(0, most)) for _ in range(data.draw(st.integers(0, 2)))}
        cuts += [(packed[k] << 16 | at, inflated[k] + at) for at in sorted(chosen)]
    cuts = cuts[: len(cuts) // 2 * 2]
    pairs = list(zip(cuts[::2], cuts[1::2], strict=True))
    ranges = [VirtualRange(start[0], end[0]) for start, end in pairs]
    pieces = list(reader(raw, inflated_bytes).pieces_of(ranges))
    found = [stretch for stretch in stretches_of(pieces) if stretch]
    expected = [whole[start[1] : end[1]] for start, end in pairs]
    assert found == [stretch for stretch in expected if stretch]
    assert all(piece.size <= max(inflated_bytes, MAX_BLOCK_BYTES) for piece in pieces)


def test_pieces_before_a_fault_come_first() -> None:
    raw = block(b"A") + block(b"C") + b"no block at all" + EOF_BLOCK
    pieces = reader(raw, 1).pieces()
    assert [content_of(next(pieces)) for _ in range(2)] == [b"A", b"C"]
    at = 2 * len(block(b"A"))
    with pytest.raises(InputError, match=f"^x.bam: damaged \\(no BGZF block at byte {at}\\)"):
        next(pieces)


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        (b"", r"truncated \(no closing EOF block\); copy it again"),
        (EOF_BLOCK[:20], r"truncated \(within its last block\); copy it again"),
        (EOF_BLOCK + b"xyz", "bytes that are not gzip follow the compressed data; remove them"),
        (EOF_BLOCK + bytes(300_000) + b"x", "bytes that are not gzip follow the compressed data"),
        (EOF_BLOCK + b"\x1f", r"truncated \(within its last block\); copy it again"),
    ],
)
def test_ends_of_files(tail: bytes, message: str) -> None:
    pieces = reader(block(b"A") + tail).pieces()
    assert content_of(next(pieces)) == b"A"
    with pytest.raises(InputError, match=f"^x.bam: {message}"):
        list(pieces)


def test_files_with_closing_blocks_inside() -> None:
    raw = block(b"A") + EOF_BLOCK + block(b"C") + EOF_BLOCK + EOF_BLOCK
    assert stretches_of(list(reader(raw).pieces())) == [b"AC"]


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (2, 5, "x.bam: does not match its index; run: samtools index x.bam"),
        (0, 2, "x.bam: does not match its index; run: samtools index x.bam"),
        (1 << 40, (1 << 40) + 5, "x.bam: truncated, or does not match its index; run: samtools"),
        (3 << 16, 3 << 16 | 1, "no BGZF block at byte 3"),
    ],
)
def test_ranges_outside_the_blocks(start: int, end: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(reader(block(b"A") + EOF_BLOCK).pieces_of([VirtualRange(start, end)]))
