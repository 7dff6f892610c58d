"""The whole run on each device against lines of minimap2 2.30, byte for byte."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.longread.cpu import CpuChainer
from hapgpu.longread.index.build import build_index
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import SketchOptions
from hapgpu.longread.pipeline import open_workers
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device
from tests.longread.minimap2_options import options_of
from tests.longread.stage_runs import computed

SETS: Final = (
    "v230_map-ont",
    "v230_map-ont_inf_nojoin",
    "v230_map-ont_inf",
    "v230_map-ont_P_nojoin",
    "v230_map-ont_N50p01",
    "v230_map-ont_f0.005_e0",
    "v230_map-ont_k14w7",
    "v230_map-hifi",
    "v230_map-pb",
    "real_ecoli_clr.v230_map-pb",
    "real_ecoli_clr.v230_map-ont_inf_nojoin",
    "real_lambda_ont.v230_map-ont",
    "real_lambda_ont.v230_map-ont_inf_nojoin",
    "real_hg003_hifi.v230_map-hifi",
    "real_hg003_hifi.v230_map-ont_inf_nojoin",
)


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device:
    return CpuDevice(threads=1) if request.param == "cpu" else CudaDevice(index=0)


@cache
def index_of(reference: Path, sketch: SketchOptions) -> MinimizerIndex:
    return build_index(reference, sketch, threads=1)


@pytest.mark.parametrize("name", SETS)
def test_lines_equal_minimap2(data_dir: Path, device: Device, name: str) -> None:
    directory = data_dir / "longread" / "chain"
    entry = json.loads((directory / "manifest.json").read_text())[name]
    reference, reads = directory / "ref.fa.gz", directory / "reads.fa.gz"
    if "reads" in entry:
        reference, reads = (
            data_dir / Path(entry[which]).relative_to("shared/data") for which in ("ref", "reads")
        )
    options = options_of(entry["options"].split())
    chainer, *_ = open_workers([device], index_of(reference, options.sketch), options)
    found = b"".join(
        computed(chainer, block).text.tobytes() for block in read_blocks(reads, 3 << 20)
    )
    with gzip.open(directory / f"{name}.paf.gz") as expected:
        assert found.splitlines() == expected.read().splitlines()


@pytest.mark.parametrize("block_bytes", [1, 100_000])
def test_lines_do_not_depend_on_the_size_of_blocks(data_dir: Path, block_bytes: int) -> None:
    reads = data_dir / "longread" / "lambda_ont.fq.gz"
    options = options_of(["-x", "map-ont", "--paf-no-hit"])
    index = index_of(data_dir / "genomes" / "lambda.NC_001416.fa.gz", options.sketch)
    chainer = CpuChainer(index, options)
    blocks = [computed(chainer, block) for block in read_blocks(reads, block_bytes)]
    whole = [computed(chainer, block) for block in read_blocks(reads, 1 << 26)]
    assert len(whole) == 1 < len(blocks)
    assert b"".join(block.text.tobytes() for block in blocks) == whole[0].text.tobytes()
    for count, number in whole[0].counts.items():
        assert sum(block.counts[count] for block in blocks) == number
