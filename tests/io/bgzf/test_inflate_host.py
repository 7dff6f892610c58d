"""The inflating code of the GPU, compiled for one lane by a C++ compiler, against zlib."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from hapgpu.runtime.gpu.launch import read_source
from tests.io.bgzf.deflate_streams import by_zlib, damaged, some_streams

COMPILER = shutil.which("g++") or shutil.which("clang++")
PRELUDE = """
#define INFLATE_LANES 1
#define __device__
static inline void __syncwarp() {}
static inline unsigned __brev(unsigned value) {
    unsigned out = 0;
    for (int k = 0; k < 32; ++k) out |= (value >> k & 1) << (31 - k);
    return out;
}
"""
ENTRY = """
extern "C" int inflate_one(const u8* data, u32 packed, u8* out, u32 size) {
    static Tables tables;
    return !inflate(data, packed, out, size, tables, 0);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Return the code as a library."""
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    directory = tmp_path_factory.mktemp("inflate")
    source, target = directory / "inflate.cpp", directory / "inflate.so"
    source.write_text(PRELUDE + read_source("io/bgzf/inflate.cuh") + ENTRY)
    flags = ["-std=c++17", "-O1", "-shared", "-fPIC"]
    subprocess.run([COMPILER, *flags, "-o", target, source], check=True)
    return ctypes.CDLL(str(target))


@pytest.mark.parametrize("seed", range(2))
def test_one_lane_against_zlib(library: ctypes.CDLL, seed: int) -> None:
    random = np.random.default_rng(seed)
    sound = some_streams(random, 300, 4000)
    for raw, table in sound, damaged(*sound, random):
        accepted = 0
        rows = zip(*(column.tolist() for column in (table.starts, table.ends)), strict=True)
        for (start, end), size in zip(rows, table.sizes.tolist(), strict=True):
            out = np.full(size + 64, 0xEE, dtype=np.uint8)
            here = raw[start:].ctypes.data
            refused = library.inflate_one(
                ctypes.c_void_p(here), end - start, ctypes.c_void_p(out.ctypes.data), size
            )
            assert (out[size:] == 0xEE).all()
            expected = by_zlib(raw[start:end].tobytes(), size)
            assert refused == (expected is None)
            if expected is not None:
                assert out[:size].tobytes() == expected
            accepted += expected is not None
        assert accepted == 300 if raw is sound[0] else 0 < accepted < 300
