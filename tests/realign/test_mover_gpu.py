"""Moves found on a GPU, against the moves found on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.io.bam.header import SamHeader
from hapgpu.realign import cpu
from hapgpu.realign.mover import MoveTask
from hapgpu.realign.options import BestBy
from hapgpu.realign.projection.moves import Moves
from hapgpu.realign.projection.placement import Placement, place_haplotypes
from hapgpu.realign.realigner import RealignOptions
from hapgpu.realign.scoring import PRESETS
from hapgpu.runtime.devices import CpuDevice, CudaDevice
from hapgpu.runtime.output import Output
from hapgpu.runtime.pool import Pool
from tests.io.bam.encoded_blocks import encode_block
from tests.realign.made_moves import made_moves

pytestmark = pytest.mark.gpu


def options(**changes: Any) -> RealignOptions:
    chosen = {
        "scoring": PRESETS["read-to-haplotype"],
        "best_by": BestBy.SCORE,
        "min_score": 0.0,
        "always": False,
        "write_all": False,
        "require_flags": 0,
        "exclude_flags": 0x700,
    }
    return RealignOptions(**chosen | changes)


def moved_on_gpu(
    placement: Placement, header: SamHeader, chosen: RealignOptions, parts: Sequence[ReadBatch]
) -> list[Output[Moves]]:
    pytest.importorskip("cupy")
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (needs CuPy)
    from hapgpu.realign import cuda  # noqa: PLC0415  (needs CuPy)

    mover = cuda.open_mover(MoveTask(placement, header, chosen, "x.bam"), CudaDevice(0))
    with Pool(1) as pool:
        return [mover(DeviceRecords.upload(encode_block(part, header, pool))) for part in parts]


def check_equal(found: Moves, expected: Moves) -> None:
    for field in fields(Moves):
        column, other = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(other, Ragged):
            np.testing.assert_array_equal(column.offsets, other.offsets, field.name)
            column, other = column.data, other.data
        assert column.dtype == other.dtype, field.name
        np.testing.assert_array_equal(column, other, field.name)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "changes",
    [{}, {"always": True}, {"min_score": 0.6, "best_by": BestBy.LIKELIHOOD}, {"require_flags": 16}],
    ids=["default", "always", "likelihood", "flags"],
)
def test_made_reads(seed: int, changes: Any, tmp_path: Path) -> None:
    made, chosen = made_moves(seed, 150, tmp_path), options(**changes)
    device = CpuDevice(1)
    placement = place_haplotypes(made.haplotypes, made.reference, made.header, device)
    on_cpu = cpu.open_mover(MoveTask(placement, made.header, chosen, "x.bam"), device)
    batches = [made.reads.take(np.arange(0, 90)), made.reads.take(np.arange(90, 150))]
    expected = [on_cpu(batch) for batch in batches]
    assert sum(len(moved.content) for moved in expected) > 0
    for found, other in zip(
        moved_on_gpu(placement, made.header, chosen, batches), expected, strict=True
    ):
        assert dict(found.counts) == dict(other.counts)
        check_equal(found.content, other.content)


def test_likelihoods_need_qualities(tmp_path: Path) -> None:
    made, chosen = made_moves(2, 100, tmp_path), options(best_by=BestBy.LIKELIHOOD)
    placement = place_haplotypes(made.haplotypes, made.reference, made.header, CpuDevice(1))
    reads = replace(
        made.reads,
        qualities=Ragged(
            np.full_like(made.reads.qualities.data, 255), made.reads.qualities.offsets
        ),
    )
    with pytest.raises(InputError, match="no base qualities") as on_cpu:
        cpu.open_mover(MoveTask(placement, made.header, chosen, "x.bam"), CpuDevice(1))(reads)
    with pytest.raises(InputError) as on_gpu:
        moved_on_gpu(placement, made.header, chosen, [reads])
    assert str(on_gpu.value) == str(on_cpu.value)


def test_no_reads(tmp_path: Path) -> None:
    made = made_moves(1, 10, tmp_path)
    placement = place_haplotypes(made.haplotypes, made.reference, made.header, CpuDevice(1))
    none = made.reads.take(np.arange(0))
    (moved,) = moved_on_gpu(placement, made.header, options(), [none])
    assert len(moved.content) == 0
    assert not any(moved.counts.values())
