"""Costs of alignments and hashes of names on the GPU against the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.io.bam.decode import decode_block
from hapgpu.realign.projection import alignment_costs as on_cpu
from hapgpu.realign.projection.moves import name_hashes
from hapgpu.realign.scoring import PRESETS, Scoring
from hapgpu.runtime.pool import Pool
from tests.cigar.made_alignments import (
    ALL_BYTES,
    BASES,
    MadeAlignments,
    block_of,
    made_alignments,
    made_reads,
)

pytestmark = pytest.mark.gpu


def check(made: MadeAlignments, scoring: Scoring) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.arrays.cuda import DeviceRagged  # noqa: PLC0415  (needs CuPy)
    from hapgpu.realign.projection.cuda import alignment_costs  # noqa: PLC0415  (as above)

    positions = made.positions.astype(np.int64)
    expected = on_cpu.alignment_costs(
        made.bases, made.cigars, positions, made.references, made.reference_index, scoring
    )
    found = alignment_costs(
        DeviceRagged.upload(made.bases),
        DeviceRagged.upload(made.cigars),
        cupy.asarray(positions),
        DeviceRagged.upload(made.references),
        cupy.asarray(made.reference_index),
        scoring,
    )
    for of_gpu, of_cpu in zip(found, expected, strict=True):
        assert of_gpu.dtype == of_cpu.dtype
        np.testing.assert_array_equal(of_gpu.get(), of_cpu)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    count=st.sampled_from([0, 1, 2, 33, 150]),
    longest=st.sampled_from([1, 2, 6]),
    letters=st.sampled_from([BASES, ALL_BYTES]),
    scoring=st.sampled_from([*PRESETS.values(), Scoring(100_000_000, -1, -100_000_000, 7)]),
)
def test_made_alignments(
    seed: int, count: int, longest: int, letters: bytes, scoring: Scoring
) -> None:
    check(made_alignments(seed, count, longest, 30, letters), scoring)


@pytest.mark.parametrize("count", [0, 1, 300])
def test_name_hashes(count: int) -> None:
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (needs CuPy)
    from hapgpu.realign.projection.cuda import name_hashes as on_gpu  # noqa: PLC0415  (as above)

    block = block_of(made_reads(3, count))
    found = on_gpu(DeviceRecords.upload(block))
    assert found.dtype == np.uint64
    with Pool(1) as pool:
        names = decode_block(block, pool).names
    np.testing.assert_array_equal(found.get(), name_hashes(names))
