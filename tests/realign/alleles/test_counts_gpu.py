"""Reads per sample and haplotype, counted on a GPU, against the counts of the CPU."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.read_groups import SampleTable
from hapgpu.realign import cpu
from hapgpu.realign.alleles import AlleleTally
from hapgpu.realign.options import BestBy
from hapgpu.realign.realigner import RealignOptions, RealignTask
from hapgpu.realign.scoring import PRESETS
from hapgpu.runtime.devices import CpuDevice, CudaDevice
from hapgpu.runtime.pool import Pool
from tests.io.bam.encoded_blocks import encode_block
from tests.realign.batches.made_reads import HEADER, made_reads

pytestmark = pytest.mark.gpu

GROUPED = SamHeader.from_text(
    f"{HEADER.text}@RG\tID:1\tSM:s\n@RG\tID:2\tSM:t\n@RG\tID:other\tSM:s\n"
)


@settings(max_examples=30)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0, 1, 40, 150]),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 0.9]),
    st.sampled_from([*BestBy]),
    st.booleans(),
)
def test_same_counts(
    seed: int, count: int, with_loci: bool, min_score: float, best_by: BestBy, write_all: bool
) -> None:
    pytest.importorskip("cupy")
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (needs CuPy)
    from hapgpu.realign import cuda  # noqa: PLC0415  (needs CuPy)

    made = made_reads(seed, count, per_locus=4, is_in_order=True, with_loci=with_loci)
    # Twice the same haplotypes: ties are frequent.
    haplotypes = made.haplotypes
    rows = np.repeat(np.arange(len(haplotypes)), 1 + np.arange(len(haplotypes)) % 2)
    twice = (
        haplotypes.take(rows)
        if with_loci
        else replace(
            haplotypes,
            names=tuple(map(str, range(rows.size))),
            sequences=haplotypes.sequences.take(rows),
            locus_index=haplotypes.locus_index[rows],
        )
    )
    groups = (b"RGZ1\0", b"RGZother\0ASC\7", b"ASC\7RGZ2\0")
    tags = Ragged.from_sequences(groups[row * row % 3] for row in range(len(made.reads)))
    reads = replace(made.reads, tags=tags)
    options = RealignOptions(
        scoring=PRESETS["read-to-haplotype"],
        best_by=best_by,
        min_score=min_score,
        always=False,
        write_all=write_all,
        require_flags=0,
        exclude_flags=0x704,
    )
    own = SampleTable.of([GROUPED], ["x.bam"]).files[0]
    task = RealignTask(twice, None, GROUPED, options, "x.bam", own)
    on_cpu = cpu.open_realigner(task, CpuDevice(1))(reads)
    with Pool(1) as pool:
        block = encode_block(reads, GROUPED, pool)
    device = CudaDevice(0, memory_limit=1 << 20)
    on_gpu = cuda.open_realigner(task, device)(DeviceRecords.upload(block))
    tallies = [AlleleTally(2, rows.size), AlleleTally(2, rows.size)]
    for tally, done in zip(tallies, (on_cpu, on_gpu), strict=True):
        assert done.content.alleles
        for counts in done.content.alleles:
            tally.add(counts)
    for name in ("alone", "tied", "unexplained"):
        found, expected = getattr(tallies[1], name), getattr(tallies[0], name)
        np.testing.assert_array_equal(found, expected, name)
