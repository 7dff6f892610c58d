"""Reads to finished records on the GPU, byte for byte as on the CPU."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import ReadBatch
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.realign import cpu, cuda
from hapgpu.realign.options import BestBy
from hapgpu.realign.realigner import RealignOptions, RealignTask
from hapgpu.realign.scoring import PRESETS
from hapgpu.runtime.devices import CpuDevice, CudaDevice
from hapgpu.runtime.pool import Pool
from tests.io.bam.encoded_blocks import encode_block, encode_records
from tests.realign.batches.made_reads import HEADER, made_reads

pytestmark = pytest.mark.gpu

OPTIONS = RealignOptions(
    scoring=PRESETS["read-to-haplotype"],
    best_by=BestBy.SCORE,
    min_score=0.5,
    always=False,
    write_all=False,
    require_flags=0,
    exclude_flags=0,
)


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**32),
    count=st.sampled_from([0, 1, 60]),
    write_all=st.booleans(),
    memory=st.sampled_from([None, 8 * 30_000]),
)
def test_finished_records(seed: int, count: int, write_all: bool, memory: int | None) -> None:
    made = made_reads(seed, count)
    options = replace(OPTIONS, write_all=write_all)
    haplotypes = made.haplotypes
    header = HEADER.with_references(haplotypes.names, [1000] * len(haplotypes.names))
    task = RealignTask(haplotypes, None, HEADER, options, "x.bam")
    with Pool(1) as pool:
        (on_cpu,) = cpu.open_realigner(task, CpuDevice(1))(made.reads).content.records
        assert isinstance(on_cpu, ReadBatch)
        expected = encode_records(on_cpu, header, pool)
        records = DeviceRecords.upload(encode_block(made.reads, HEADER, pool))
    on_gpu = cuda.open_realigner(task, CudaDevice(0, memory_limit=memory))
    found = on_gpu(records).content.records
    np.testing.assert_array_equal(np.concatenate(found), expected)
