"""Pieces planned by the kernels, run on the CPU, against the CPU's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hapgpu.longread.options import preset
from tests.emulation.emulator import emulate
from tests.longread.align.pieces.device_plans import Planner, check_plans, check_rounds
from tests.longread.align.pieces.long_chains import SHAPES, long_chain
from tests.longread.align.pieces.made_plans import made_case, to_batch
from tests.longread.align.pieces.real_reads import map_reads


@pytest.fixture
def planner(monkeypatch: pytest.MonkeyPatch) -> Planner:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align import pieces  # noqa: PLC0415  (imports CuPy)

    emulate(monkeypatch, pieces)
    return Planner(pieces.plan_pieces, np.asarray, np.asarray)


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_made_plans(first: int, planner: Planner) -> None:
    for seed in range(first, first + 50):
        case = made_case(seed)
        batch = to_batch(case)
        if seed % 2:
            check_rounds(planner, case, batch)
        else:
            check_plans(planner, case, batch, np.arange(batch.mappings.size))


@pytest.mark.parametrize("shape", SHAPES)
def test_long_chains(shape: str, planner: Planner) -> None:
    for seed in range(4):
        case = long_chain(shape, seed, 700)
        batch = to_batch(case)
        check_plans(planner, case, batch, np.arange(batch.mappings.size))


def test_no_mappings(planner: Planner) -> None:
    case = made_case(1)
    check_plans(planner, case, to_batch(case), np.arange(0))


@pytest.mark.parametrize("name", ["map-ont", "map-pb"])
def test_real_reads(data_dir: Path, name: str, planner: Planner) -> None:
    reference = data_dir / "genomes" / "lambda.NC_001416.fa.gz"
    mapped = map_reads(reference, data_dir / "longread" / "lambda_ont.fq.gz", preset(name))
    check_plans(planner, mapped, mapped.batch, np.arange(mapped.batch.mappings.size))
