"""Blocks inflated on a GPU: the bytes of zlib, and the verdicts of the CPU's inflater."""

from __future__ import annotations

import cupy
import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.io.bgzf.block_table import BlockTable
from hapgpu.io.bgzf.cuda import inflate_blocks
from hapgpu.io.bgzf.inflater import inflate_library
from tests.io.bgzf.deflate_streams import (
    STRATEGIES,
    by_zlib,
    damaged,
    deflated,
    some_contents,
    some_streams,
    table_of,
)

pytestmark = pytest.mark.gpu


def inflated(raw: NDArray[np.uint8], table: BlockTable, room: int) -> tuple[bytes, list[int]]:
    """Inflate on the GPU; return the content and the verdicts."""
    found = inflate_blocks(raw, table, room)
    verdicts = found.verdicts.get()
    assert bool(found.fault[0]) == verdicts.any()
    size = int(table.sizes.sum())
    return found.data[room : room + size].get().tobytes(), verdicts.tolist()


@pytest.mark.parametrize("room", [0, 1, 64])
def test_streams_of_zlib(room: int) -> None:
    random = np.random.default_rng(room)
    contents = [b"", b"A", *some_contents(random, 60, 3000), *some_contents(random, 5, 1 << 16)]
    contents += [
        bytes(1 << 16),
        random.integers(0, 256, 1 << 16, dtype=np.uint8).tobytes()[:65_000],
    ]
    streams = [
        deflated(content, k % 10, STRATEGIES[k % 4], k % 3) for k, content in enumerate(contents)
    ]
    raw, table = table_of(streams, contents)
    data, verdicts = inflated(raw, table, room)
    assert verdicts == [0] * len(streams)
    assert data == b"".join(contents)


@pytest.mark.parametrize("seed", range(3))
def test_damaged_streams(seed: int) -> None:
    damaged_streams(seed, 400, 1500)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_damaged_streams(seed: int) -> None:
    damaged_streams(100 + seed, 1000, 4000)


def damaged_streams(seed: int, count: int, most: int) -> None:
    """Damage most of some streams: the verdicts are the CPU's, and sound neighbours are right."""
    random = np.random.default_rng(seed)
    raw, table = damaged(*some_streams(random, count, most), random)
    expected, right = verdicts_of_cpu(raw, table)
    data, verdicts = inflated(raw, table, 5)
    for k in np.flatnonzero(np.array(verdicts) != expected):
        # libdeflate takes two codes that zlib refuses; such a block is read again by the CPU.
        stream = raw[table.starts[k] : table.ends[k]].tobytes()
        assert verdicts[k]
        assert by_zlib(stream, int(table.sizes[k])) is None
    assert 0 < sum(expected) < count
    offsets = np.concatenate([[0], np.cumsum(table.sizes)])
    for k in np.flatnonzero(np.array(verdicts) == 0):
        assert data[offsets[k] : offsets[k + 1]] == right[k]


def verdicts_of_cpu(raw: NDArray[np.uint8], table: BlockTable) -> tuple[list[int], list[bytes]]:
    """Return 1 for each block that the CPU refuses, and the content of all others."""
    inflate = inflate_library().new_inflater()
    verdicts, contents = [], []
    for k in range(table.starts.size):
        out = np.empty(int(table.sizes[k]), dtype=np.uint8)
        verdicts.append(int(inflate(raw, table.slice(k, k + 1), out) >= 0))
        contents.append(out.tobytes())
    return verdicts, contents


def test_a_faulty_block_writes_nothing_into_others() -> None:
    """Blocks of the wrong size, with a gap behind the last, leave the bytes around them alone."""
    content = bytes(range(256)) * 20
    streams = [deflated(content, 6)] * 40
    raw, table = table_of(streams, [content] * 40)
    sizes = table.sizes - 1000 * (np.arange(40) % 2)
    table = table._replace(sizes=sizes)
    found = inflate_blocks(raw, table, 100)
    cupy.cuda.get_current_stream().synchronize()
    assert found.verdicts.get().tolist() == [0, 1] * 20
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    data = found.data.get().tobytes()[100:]
    for k in range(0, 40, 2):
        assert data[offsets[k] : offsets[k + 1]] == content
