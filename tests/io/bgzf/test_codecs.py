"""All ways to inflate and to deflate blocks: equal verdicts, equal bytes."""

from __future__ import annotations

import gzip
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.io.bgzf import deflater, inflater
from hapgpu.io.bgzf.block_table import MAX_BLOCK_BYTES, BlockTable, scan_blocks
from hapgpu.io.bgzf.marks import EOF_BLOCK
from tests.io.bgzf_blocks import block

INFLATERS = [library.new_inflater() for library in inflater.libraries()]
DEFLATERS = [library.new_deflater() for library in deflater.libraries()]


def array_of(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8)


def block_of(deflated: bytes, content: bytes) -> bytes:
    size = len(deflated) + 26
    head = EOF_BLOCK[:16] + (size - 1).to_bytes(2, "little")
    footer = zlib.crc32(content).to_bytes(4, "little") + len(content).to_bytes(4, "little")
    return head + deflated + footer


CONTENTS = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda text, times: text * times, st.binary(max_size=30), st.integers(0, 2000)),
    st.builds(lambda seed: np.random.default_rng(seed).bytes(65_000), st.integers(0, 99)),
)


def test_every_way_is_found_and_sound() -> None:
    assert [library.name for library in inflater.libraries()] == [
        *("libdeflate", "ISA-L", "ISA-L, a call per block")
    ]
    assert [library.name for library in deflater.libraries()] == [
        *("ISA-L", "zlib, a call per block")
    ]
    assert all(map(inflater.is_sound, inflater.libraries()))
    assert all(map(deflater.is_sound, deflater.libraries()))
    assert inflater.inflate_library() is inflater.inflate_library()
    assert deflater.deflate_library().name == "ISA-L"


@given(st.lists(CONTENTS, max_size=4), st.integers(0, 9))
def test_blocks_are_inflated(contents: list[bytes], level: int) -> None:
    blocks = []
    for content in contents:
        compressor = zlib.compressobj(level, zlib.DEFLATED, -15)
        blocks.append(block_of(compressor.compress(content) + compressor.flush(), content))
    raw = array_of(b"".join(blocks))
    table, _ = scan_blocks(raw, 0, "x.bam")
    for inflate in INFLATERS:
        out = np.zeros(sum(map(len, contents)) + 3, dtype=np.uint8)
        assert inflate(raw, table, out) == -1
        assert out.tobytes() == b"".join(contents) + bytes(3)


def test_a_block_of_all_bytes() -> None:
    """The content of a block has up to 65,536 bytes."""
    content = np.random.default_rng(1).integers(0, 8, MAX_BLOCK_BYTES, dtype=np.uint8).tobytes()
    raw = array_of(block(content))
    table, _ = scan_blocks(raw, 0, "x.bam")
    for inflate in INFLATERS:
        out = np.zeros(MAX_BLOCK_BYTES, dtype=np.uint8)
        assert inflate(raw, table, out) == -1
        assert out.tobytes() == content


@given(st.data(), CONTENTS)
def test_damage_is_noticed_by_all(data: st.DataObject, content: bytes) -> None:
    whole = bytearray(block(b"before") + block(content[:65_000]) + block(b"after"))
    first = len(block(b"before"))
    at = data.draw(st.integers(first + 18, len(whole) - len(block(b"after")) - 1))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    raw = array_of(bytes(whole))
    tables = [scan_blocks(raw, 0, "x.bam")[0]]
    if tables[0].starts.size < 3:  # the size is too large for a block
        return
    for column, change in (("sizes", 1), ("sizes", -1), ("ends", -1), ("starts", 1)):
        changed = getattr(tables[0], column) + np.array([0, change, 0])
        tables.append(tables[0]._replace(**{column: changed}))
    for table in tables:
        verdicts = []
        for inflate in INFLATERS:
            out = np.full(int(table.sizes.clip(0).sum()) + 9, 7, dtype=np.uint8)
            verdicts.append(inflate(raw, table, out))
            assert (out[-9:] == 7).all()
            if verdicts[-1] == -1:
                found = out[len(b"before") :][: int(table.sizes[1])].tobytes()
                assert zlib.crc32(found) == table.crcs[1]
        sound = inflates(raw, table)
        # libdeflate takes incomplete codes too.
        assert verdicts[1:] == [-1 if sound else 1] * 2
        assert verdicts[0] == -1 if sound else verdicts[0] in {-1, 1}


def inflates(raw: NDArray[np.uint8], table: BlockTable) -> bool:
    """Return whether zlib finds the second block sound: not every bit has a meaning."""
    start, end, crc, size = (int(column[1]) for column in table[:4])
    try:
        data = zlib.decompress(raw[start:end].tobytes(), -15)
    except zlib.error:
        return False
    return len(data) == size and zlib.crc32(data) == crc


@pytest.mark.parametrize(
    ("column", "value"),
    [("starts", -1), ("ends", 1 << 40), ("ends", 0), ("sizes", -1), ("sizes", 1 << 17)],
)
def test_impossible_sizes_never_reach_the_libraries(column: str, value: int) -> None:
    raw = array_of(block(b"ACGT") * 2)
    table, _ = scan_blocks(raw, 0, "x.bam")
    changed = getattr(table, column).copy()
    changed[1] = value
    out = np.zeros(8, dtype=np.uint8)
    for inflate in INFLATERS[:2]:
        assert inflate(raw, table._replace(**{column: changed}), out) == 1
        assert inflate(raw, table, out[:7]) == 1


@given(st.lists(CONTENTS, max_size=4), st.booleans())
def test_blocks_hold_the_content_by_any_way(parts: list[bytes], compressed: bool) -> None:
    content = b"".join(parts)
    for deflate in DEFLATERS:
        made = deflate(array_of(content), compressed=compressed).tobytes()
        assert gzip.decompress(made + EOF_BLOCK) == content
        table, used = scan_blocks(array_of(made), 0, "x.bam")
        assert used == len(made)
        assert (table.sizes[:-1] == deflater.PAYLOAD_BYTES).all()


def test_equal_content_makes_equal_bytes() -> None:
    """Neither the memory of a deflater counts, nor what it made before, nor what lies around.

    Few letters make many matches of the shortest length, each of which shows a lost entry of the
    table of matches; the addresses of 64 deflaters differ in the bits that ISA-L hashes.
    """
    random = np.random.default_rng(5)
    texts = [random.integers(0, 4, random.integers(1, 90)).astype(np.uint8) for _ in range(400)]
    texts += [random.integers(0, 4, 66_000).astype(np.uint8), np.zeros(140_000, dtype=np.uint8)]
    deflaters = [deflater.deflate_library().new_deflater() for _ in range(64)]
    expected = [deflaters[0](text, compressed=True).tobytes() for text in texts]
    for deflate in deflaters[1:]:
        order = random.permutation(len(texts))
        found = {k: deflate(texts[k].copy(), compressed=True).tobytes() for k in order.tolist()}
        assert [found[k] for k in range(len(texts))] == expected


def test_bytes_before_a_block_never_make_a_match() -> None:
    """A block begins with what stands a window before it, in each place of a task's content."""
    random = np.random.default_rng(6)
    period = random.integers(0, 256, 1 << 15).astype(np.uint8)
    for size in (1, 3, 4, 7, 8, 9, 40, 300, 5000, deflater.PAYLOAD_BYTES):
        content = np.resize(period, 2 * deflater.PAYLOAD_BYTES + size)
        made = DEFLATERS[0](content, compressed=True).tobytes()
        assert gzip.decompress(made) == content.tobytes()
        last = DEFLATERS[0](content[-size:].copy(), compressed=True).tobytes()
        assert made.endswith(last)
