"""Block tables of BGZF, compared with a reader of gzip headers in plain Python."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.bgzf.block_table import may_start_block, scan_blocks
from hapgpu.io.bgzf.marks import EOF_BLOCK
from tests.io.bgzf_blocks import block

Row = tuple[int, int, int, int, int]

CONTENTS = [b"", b"A", b"ACGT" * 9, bytes(range(256)) * 4, bytes(65_000)]


def with_subfield(whole: bytes, extra: bytes) -> bytes:
    """Insert a subfield before BC."""
    (size,) = struct.unpack_from("<H", whole, 16)
    head = whole[:10] + struct.pack("<H", 6 + len(extra)) + extra
    return head + b"BC\2\0" + struct.pack("<H", size + len(extra)) + whole[18:]


BLOCKS = st.builds(
    lambda content, extra: with_subfield(block(content), extra),
    st.sampled_from(CONTENTS),
    st.sampled_from([b"", b"XY\1\0a", b"BC\1\0a", b"AB\0\0CD\2\0zz"]),
)


def expected_rows(raw: bytes, base: int) -> list[Row]:
    """Return starts, ends, CRCs, sizes and offsets up to the first fault or incomplete block."""
    rows: list[Row] = []
    at = 0
    while len(raw) - at >= 12 and raw.startswith(b"\x1f\x8b\x08\x04", at):
        start = at + 12 + int.from_bytes(raw[at + 10 : at + 12], "little")
        field, size = at + 12, 0
        while not size and field + 6 <= start <= len(raw):
            name, length, value = struct.unpack_from("<2sHH", raw, field)
            size = value + 1 if (name, length) == (b"BC", 2) else 0
            field += 4 + length
        end = at + size - 8
        if not size or end < start or at + size > len(raw):
            break
        crc, inflated = struct.unpack_from("<II", raw, end)
        if inflated > 1 << 16:
            break
        rows.append((start, end, crc, inflated, base + at))
        at += size
        if not inflated and not b"\x1f\x8b\x08\x04".startswith(raw[at : at + 4]):
            break
    return rows


@given(st.data())
def test_blocks_are_found_up_to_a_fault(data: st.DataObject) -> None:
    whole = bytearray(b"".join(data.draw(st.lists(BLOCKS, min_size=1, max_size=6))))
    if data.draw(st.booleans()):
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    whole += data.draw(st.sampled_from([b"", b"\0" * 30, b"x", b"\x1f\x8b", EOF_BLOCK]))
    raw = np.frombuffer(bytes(whole[: data.draw(st.integers(0, len(whole)))]), dtype=np.uint8)
    expected = expected_rows(raw.tobytes(), 1 << 40)
    try:
        table, used = scan_blocks(raw, 1 << 40, "x.bam")
    except InputError:
        assert not expected
    else:
        assert list(zip(*(column.tolist() for column in table), strict=True)) == expected
        assert used == (expected[-1][1] + 8 if expected else 0)


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, 0, "no BGZF block at byte 77"),
        (12, 0, "the block at byte 77 is not BGZF"),
        (16, 0, "the block at byte 77 is not BGZF"),
        (-1, 9, "checksum of the BGZF block at byte 77"),
    ],
)
def test_a_fault_at_the_start_is_named(at: int, value: int, message: str) -> None:
    whole = bytearray(block(b"ACGT"))
    whole[at] = value
    raw = np.frombuffer(bytes(whole), dtype=np.uint8)
    with pytest.raises(InputError, match=f"^x.bam: damaged \\({message}\\); copy it again$"):
        scan_blocks(raw, 77, "x.bam")


@pytest.mark.parametrize("kept", range(28))
def test_an_incomplete_block_is_no_fault(kept: int) -> None:
    raw = np.frombuffer(EOF_BLOCK[:kept], dtype=np.uint8)
    table, used = scan_blocks(raw, 0, "x.bam")
    assert (table.starts.size, used) == (0, 0)
    assert may_start_block(raw)
