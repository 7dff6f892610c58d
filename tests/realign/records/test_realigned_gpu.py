"""Reads to finished records on the GPU, byte for byte as on the CPU."""

from __future__ import annotations

from dataclasses import replace

import cupy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.arrays.ragged import Ragged
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.realign.realigner import Realigner, RealignOptions
from hapgpu.realign.realigner_cuda import DeviceRealigner
from hapgpu.realign.records.cuda import finished_records
from hapgpu.realign.scoring import PRESETS
from hapgpu.realign.selection.by_score import BestBy
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
    with Pool(1) as pool:
        done = Realigner(haplotypes, None, HEADER, options, CpuDevice(1), "x.bam")(made.reads)
        expected = encode_records(done.records, header, pool)
        records = DeviceRecords.upload(encode_block(made.reads, HEADER, pool))
    contigs = DeviceRagged.upload(Ragged.from_sequences(HEADER.reference_names))
    on_gpu = DeviceRealigner(
        haplotypes, HEADER, options, CudaDevice(0, memory_limit=memory), "x.bam"
    )
    found = [
        finished_records(records, piece.alignments, contigs, len(header.reference_names))[0]
        for piece in on_gpu.pieces(records)
    ]
    np.testing.assert_array_equal(cupy.concatenate(found).get(), expected)
