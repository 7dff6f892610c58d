"""Files read by several threads at a time are read as by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hapgpu.io.files import byte_source
from hapgpu.io.files.byte_source import ParallelStream
from hapgpu.runtime.pool import Pool


@pytest.mark.parametrize("threads", [1, 3, 8])
@pytest.mark.parametrize("size", [0, 1, 99, 5000])
def test_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, size: int) -> None:
    monkeypatch.setattr(byte_source, "_MIN_SHARE", 10)
    path = tmp_path / "data"
    content = np.random.default_rng(1).integers(0, 256, size, dtype=np.uint8)
    path.write_bytes(content.tobytes())
    with path.open("rb") as file, Pool(threads) as pool:
        stream = ParallelStream(file, pool)
        for start, count in (0, 7), (7, 1000), (1007, 3993), (5000, 10), (50, 60), (90, 0):
            stream.seek(start)
            buffer = np.empty(count, dtype=np.uint8)
            found = stream.readinto(buffer.data)
            expected = content[start : start + count]
            assert found == expected.size
            assert (buffer[:found] == expected).all()
        stream.seek(0)
        parts = []
        while count := stream.readinto((part := np.empty(77, dtype=np.uint8)).data):
            parts.append(part[:count])
        assert b"".join(part.tobytes() for part in parts) == content.tobytes()
