"""Start of base alignment on the GPU against the CPU."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.longread.align import start as on_cpu
from hapgpu.longread.options import MappingOptions
from hapgpu.runtime.devices import CudaDevice
from tests.longread.align.start.device_starts import OPTIONS, Starter, check_codes, check_start

pytestmark = pytest.mark.gpu


def starter() -> Starter:
    cupy = pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align import start  # noqa: PLC0415  (needs CuPy)

    return Starter(start.start_mappings, start.code_reads, cupy.asarray, cupy.asnumpy)


@pytest.mark.parametrize("options", OPTIONS)
def test_mappings(options: MappingOptions) -> None:
    for seed in range(20):
        check_start(starter(), seed, 20, options)


@pytest.mark.parametrize("reads", [0, 1])
def test_few_reads(reads: int) -> None:
    check_start(starter(), 0, reads, OPTIONS[0])


@settings(max_examples=100)
@given(
    st.integers(0, 99),
    st.lists(st.sampled_from([0, 1, 7, 15, 16, 17, 100, 1000, 30_000]), max_size=40),
)
def test_codes(seed: int, lengths: list[int]) -> None:
    check_codes(starter(), seed, lengths)


def test_long_and_short_reads() -> None:
    check_codes(starter(), 0, [*[150] * 1000, 3_000_000, *[1] * 1000, 0, 900_001])


def test_targets_stay_while_they_are_in_use() -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align.start import resident_targets  # noqa: PLC0415  (needs CuPy)

    targets = on_cpu.code_targets(Ragged.from_sequences([b"ACGTN", b"", b"acgtu"]))
    copied = resident_targets(targets, CudaDevice(0))
    for column, of_cpu in zip(copied, targets, strict=True):
        np.testing.assert_array_equal(column.get(), of_cpu)
    assert resident_targets(targets, CudaDevice(0)) is copied
    others = on_cpu.code_targets(Ragged.from_sequences([b"ACGTN"]))
    assert resident_targets(others, CudaDevice(0)).codes.size == len("ACGTN")
    codes = weakref.ref(copied.codes)
    del copied, targets, column, of_cpu
    gc.collect()
    assert codes() is None
