"""Start of base alignment by the kernels, run on the CPU, against the CPU's own."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.longread.align.start import code_reads
from tests.emulation.emulator import emulate
from tests.longread.align.start.device_starts import OPTIONS, Starter, check_codes, check_start


@pytest.fixture
def starter(monkeypatch: pytest.MonkeyPatch) -> Starter:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align import start  # noqa: PLC0415  (imports CuPy)

    emulate(monkeypatch, start)
    return Starter(start.start_mappings, start.code_reads, np.asarray, np.asarray)


def test_mappings(starter: Starter) -> None:
    retained = [check_start(starter, seed, 6, options) for options in OPTIONS for seed in range(12)]
    assert 0 < sum(retained) < len(retained)


@pytest.mark.parametrize("reads", [0, 1])
def test_few_reads(reads: int, starter: Starter) -> None:
    check_start(starter, 0, reads, OPTIONS[0])


@pytest.mark.parametrize(
    "lengths",
    [
        [],
        [0],
        [1],
        [0, 0, 1, 0, 2, 3, 0, 15, 16, 17, 31, 32, 33, 0],
        [1] * 40,
        [100, 0, 0, 1000, 7, 64, 0],
    ],
)
def test_codes(lengths: list[int], starter: Starter) -> None:
    for seed in range(8):
        check_codes(starter, seed, lengths)


def test_every_byte_has_its_code(starter: Starter) -> None:
    text = np.arange(256, dtype=np.uint8)
    starts, lengths = np.zeros(1, dtype=np.int32), np.full(1, 256, dtype=np.int32)
    found = starter.code_reads(text, starts, lengths)
    np.testing.assert_array_equal(found.codes, code_reads(text, starts, lengths).codes)
