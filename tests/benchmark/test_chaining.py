"""`hapgpu bench chain`: same lines as chaining, and the counts of the measurements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.benchmark.alignments import (
    ALIGN_STAGES,
    StagedAligner,
)
from hapgpu.benchmark.anchors import benchmark_anchors
from hapgpu.benchmark.long_reads import benchmark_reads
from hapgpu.benchmark.methods import ScoreMethod
from hapgpu.benchmark.stages import (
    STAGES,
    StagedChainer,
    staged_cpu,
)
from hapgpu.errors import InputError, UsageError
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.longread.align.start import code_targets
from hapgpu.longread.cpu import CpuAligner, CpuChainer
from hapgpu.longread.index.build import build_index
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import LineOptions, LongReadOptions
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device
from hapgpu.simulation.long_reads import LongReadModel, simulated_reads
from tests.longread.chain_oracle import Anchor, to_batch
from tests.longread.stage_runs import computed
from tests.simulation.made_genomes import empty_text, made_reference

JOINED = LongReadOptions()
UNJOINED = replace(JOINED, chains=replace(JOINED.chains, joins=False))
READ = [Anchor(0, position, position, 15) for position in range(30, 930, 3)]
PAIRS = 300 * 299 // 2


@pytest.fixture(scope="module")
def reference() -> Ragged:
    return made_reference(np.random.default_rng(5), 150_000, repeats=0.3)


@pytest.fixture(scope="module")
def fasta(reference: Ragged, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "made.fa"
    records = (b">s%d\n%b\n" % (i, reference[i].tobytes()) for i in range(len(reference)))
    path.write_bytes(b"".join(records))
    return path


@pytest.fixture(scope="module")
def index(fasta: Path) -> MinimizerIndex:
    return build_index(fasta, JOINED.sketch, 1)


@pytest.fixture(scope="module")
def blocks(reference: Ragged) -> list[ReadBlock]:
    return list(simulated_reads(reference, 300_000, 300_000, empty_text, LongReadModel(8000)))


@pytest.fixture
def anchor_file(tmp_path: Path) -> Path:
    batch = to_batch([READ, []])
    path = tmp_path / "anchors.npz"
    np.savez(path, x=batch.x, y=batch.y, offsets=batch.offsets)
    return path


@pytest.mark.parametrize("options", [JOINED, UNJOINED])
def test_stages_give_the_lines_of_the_chainer(
    index: MinimizerIndex, blocks: list[ReadBlock], options: LongReadOptions
) -> None:
    staged = StagedChainer(index, options, staged_cpu(index))
    chainer = CpuChainer(index, options)
    for block in blocks:
        lines = staged(block).text.tobytes()
        assert lines == computed(chainer, block).text.tobytes()
        assert lines.count(b"\n") > 5


def test_seconds_of_stages(index: MinimizerIndex, blocks: list[ReadBlock]) -> None:
    device = staged_cpu(index)
    joined = StagedChainer(index, JOINED, device).seconds_of(blocks)
    unjoined = StagedChainer(index, UNJOINED, device).seconds_of(blocks)
    assert tuple(joined) == tuple(unjoined) == STAGES
    assert all(joined.values())
    assert [stage for stage, seconds in unjoined.items() if not seconds] == ["join"]


def test_stages_of_base_alignment(
    reference: Ragged, index: MinimizerIndex, blocks: list[ReadBlock]
) -> None:
    targets = code_targets(reference)
    aligner = CpuAligner(index, targets, JOINED, LineOptions(is_sam=True))
    staged = StagedAligner(index, targets, JOINED)
    for block in blocks:
        lines = staged(block).text.tobytes()
        assert lines == computed(aligner, block).text.tobytes()
        assert lines.count(b"\n") > 5
    seconds = staged.seconds_of(blocks)
    assert tuple(seconds) == ALIGN_STAGES
    assert all(seconds.values())


def test_reads(reference: Ragged, fasta: Path) -> None:
    found = list(benchmark_reads(CpuDevice(2), fasta, JOINED, 200_000, LongReadModel(5000)))
    assert [(line.device, line.task) for line in found] == [
        ("CPU, 2 threads", "index"),
        ("CPU, 1 thread", "text to lines"),
        ("CPU, 2 threads", "text to lines"),
        *(("CPU, 1 thread", stage) for stage in STAGES),
        ("CPU, 1 thread", "text to SAM"),
        ("CPU, 2 threads", "text to SAM"),
        *(("CPU, 1 thread", stage) for stage in ALIGN_STAGES),
    ]
    assert found[0].count == reference.data.size
    assert len({line.count for line in found[1:]}) == 1
    assert found[1].count == pytest.approx(200_000, rel=0.1)


@pytest.mark.parametrize("threads", [1, 2])
def test_anchors(anchor_file: Path, threads: int) -> None:
    found = list(benchmark_anchors(CpuDevice(threads), anchor_file, JOINED, copies=3))
    assert [(line.device, line.task, line.unit, line.count) for line in found] == [
        (CpuDevice(used).name, stage, unit, 3 * count)
        for stage, counts in (
            ("scores, all predecessors", {"anchors": len(READ), "pairs": PAIRS}),
            ("scores, skip 25", {"anchors": len(READ)}),
        )
        for used in range(1, threads + 1)
        for unit, count in counts.items()
    ]
    assert all(line.data == "anchors.npz x3" for line in found)


def test_successors_need_a_gpu(anchor_file: Path) -> None:
    with pytest.raises(UsageError, match="--device cuda"):
        list(benchmark_anchors(CpuDevice(), anchor_file, JOINED, method=ScoreMethod.SUCCESSOR))


def test_no_anchors(tmp_path: Path) -> None:
    batch = to_batch([[]])
    path = tmp_path / "empty.npz"
    np.savez(path, x=batch.x, y=batch.y, offsets=batch.offsets)
    with pytest.raises(InputError, match="no anchors; give a file"):
        list(benchmark_anchors(CpuDevice(), path, JOINED))


@pytest.mark.gpu
@pytest.mark.parametrize("options", [JOINED, UNJOINED])
def test_stages_on_the_gpu_give_the_lines_of_the_cpu(
    index: MinimizerIndex, blocks: list[ReadBlock], options: LongReadOptions
) -> None:
    from hapgpu.benchmark.cuda.chaining import staged_on  # noqa: PLC0415  (needs CuPy)

    chainer = CpuChainer(index, options)
    with staged_on(CudaDevice(0), index, options) as staged:
        for block in blocks:
            assert staged(block).text.tobytes() == computed(chainer, block).text.tobytes()


@pytest.mark.gpu
def test_reads_on_the_gpu(fasta: Path) -> None:
    device = CudaDevice(0)
    found = list(benchmark_reads(device, fasta, JOINED, 200_000, LongReadModel(5000)))
    tasks = ["index", "text to lines", *STAGES, "text to SAM"]
    assert [line.task for line in found] == tasks
    assert {line.device for line in found[1:]} == {device.name}
    assert all(line.seconds > 0 for line in found)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("method", "measured"),
    [
        (ScoreMethod.PREDECESSOR, ["scores, all predecessors"] * 2 + ["scores, skip 25"]),
        (ScoreMethod.SUCCESSOR, ["successors, all"] * 2),
    ],
)
def test_anchors_on_the_gpu(anchor_file: Path, method: ScoreMethod, measured: list[str]) -> None:
    device: Device = CudaDevice(0)
    found = list(benchmark_anchors(device, anchor_file, JOINED, copies=4, method=method))
    assert [line.task for line in found] == measured
    assert [line.count for line in found[:2]] == [4 * len(READ), 4 * PAIRS]
    assert all(line.seconds > 0 for line in found)
