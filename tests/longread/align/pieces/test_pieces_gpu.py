"""Pieces planned on the GPU against the CPU."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from hapgpu.longread.align import pieces as on_cpu
from hapgpu.longread.options import preset
from tests.longread.align.pieces.device_plans import Planner, check_plans, check_rounds
from tests.longread.align.pieces.long_chains import SHAPES, long_chain
from tests.longread.align.pieces.made_plans import CASES, Case, made_case, to_batch
from tests.longread.align.pieces.real_reads import map_reads

pytestmark = pytest.mark.gpu


def planner() -> Planner:
    cupy = pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align.pieces import plan_pieces  # noqa: PLC0415  (needs CuPy)

    return Planner(plan_pieces, cupy.asarray, cupy.asnumpy)


@settings(max_examples=200)
@given(CASES)
def test_made_plans(case: Case) -> None:
    batch = to_batch(case)
    check_plans(planner(), case, batch, np.arange(batch.mappings.size))


def test_rounds() -> None:
    for seed in range(100):
        case = made_case(seed)
        check_rounds(planner(), case, to_batch(case))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [3, 700, 60_000])
def test_long_chains(shape: str, size: int) -> None:
    for seed in range(3):
        case = long_chain(shape, seed, size)
        batch = to_batch(case)
        check_plans(planner(), case, batch, np.arange(batch.mappings.size))


def test_no_mappings() -> None:
    case = made_case(1)
    check_plans(planner(), case, to_batch(case), np.arange(0))


@pytest.mark.parametrize(
    ("reads", "reference", "name"),
    [
        ("lambda_ont.fq.gz", "genomes/lambda.NC_001416.fa.gz", "map-ont"),
        ("ecoli_clr.fa.gz", "genomes/ecoli.NC_000913.2.fa.gz", "map-pb"),
        ("hg003_hifi.fa.gz", "longread/grch38_chr20_8900001_9200000.fa.gz", "map-hifi"),
    ],
)
def test_real_reads(data_dir: Path, reads: str, reference: str, name: str) -> None:
    mapped = map_reads(data_dir / reference, data_dir / "longread" / reads, preset(name))
    check_plans(planner(), mapped, mapped.batch, np.arange(mapped.batch.mappings.size))


def test_signature() -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align import pieces  # noqa: PLC0415  (needs CuPy)

    parameters = inspect.signature(pieces.plan_pieces).parameters
    assert list(parameters) == list(inspect.signature(on_cpu.plan_pieces).parameters)
