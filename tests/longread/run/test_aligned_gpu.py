"""The whole run with base alignment on the GPU: lines of minimap2 2.30, and of the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hapgpu.errors import DeviceError
from hapgpu.io.fastx.block_workers import BlockWorker
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.longread.align.batches import TargetCodes
from hapgpu.longread.align.start import code_targets
from hapgpu.longread.cpu import CpuAligner
from hapgpu.longread.index.build import build_index_of_records
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import Difference, LineOptions, LongReadOptions, preset
from hapgpu.runtime.devices import CudaDevice
from tests.gpu_memory import own_pool
from tests.longread.run.test_aligned import (
    ALL,
    differing,
    digests,
    expected_digests,
    lines_of,
    manifest,
)
from tests.longread.run.test_run_gpu import GENOME, MIB, READS, block_of
from tests.longread.stage_runs import computed

pytestmark = pytest.mark.gpu

SAM = LineOptions(is_sam=True)
_COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")


def on_gpu(
    index: MinimizerIndex,
    targets: TargetCodes,
    options: LongReadOptions,
    lines: LineOptions,
    device: CudaDevice = CudaDevice(0),  # noqa: B008  (immutable)
) -> BlockWorker:
    from hapgpu.longread.cuda.aligners import CudaAligner  # noqa: PLC0415  (needs CuPy)

    return CudaAligner(index, targets, options, lines, device)


@pytest.mark.parametrize("name", ALL)
def test_all_reads_equal_minimap2(data_dir: Path, name: str) -> None:
    expected = expected_digests(data_dir, name)
    command = manifest(data_dir)[name]["cmd"]
    found = dict(digests(lines_of(data_dir, command, open_aligner=on_gpu)))
    assert not differing(found, expected)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[MinimizerIndex, TargetCodes]:
    fasta = tmp_path_factory.mktemp("made") / "made.fa"
    fasta.write_bytes(b">made\n" + GENOME + b"\n")
    index, records = build_index_of_records(fasta, LongReadOptions().sketch, 1)
    return index, code_targets(records.sequences)


def check(
    reference: tuple[MinimizerIndex, TargetCodes],
    block: ReadBlock,
    options: LongReadOptions | None = None,
    lines: LineOptions = SAM,
    device: CudaDevice = CudaDevice(0),  # noqa: B008  (immutable)
) -> None:
    options = options or LongReadOptions()
    expected = computed(CpuAligner(*reference, options, lines), block)
    found = computed(on_gpu(*reference, options, lines, device), block)
    assert found.text.tobytes() == expected.text.tobytes()
    assert found.counts == expected.counts


@pytest.mark.parametrize("reads", [[], [b""], [b"ACGT"], [b"", READS[0], b"N" * 500]])
@pytest.mark.parametrize("is_sam", [True, False])
def test_few_reads(
    reference: tuple[MinimizerIndex, TargetCodes], reads: list[bytes], is_sam: bool
) -> None:
    lines = LineOptions(is_sam=is_sam, has_cigar=True, difference=Difference.CS)
    check(reference, block_of(reads), lines=lines)


def rearranged_reads() -> Iterator[bytes]:
    """Yield reads with inversions, deletions, insertions and duplications."""
    generator = np.random.default_rng(3)
    for _ in range(200):
        parts = []
        for _ in range(int(generator.integers(1, 6))):
            start, length = generator.integers(0, 50_000), generator.integers(30, 4000)
            part = GENOME[start : start + length]
            if generator.random() < 0.4:
                part = part.translate(_COMPLEMENT)[::-1]
            parts.append(part)
        start = int(generator.integers(0, 40_000))
        inside = int(generator.integers(60, 2500))
        middle = GENOME[start + 2000 : start + 2000 + inside].translate(_COMPLEMENT)[::-1]
        parts += [GENOME[start : start + 2000], middle, GENOME[start + 2000 + inside :][:2000]]
        read = np.frombuffer(b"".join(parts), dtype=np.uint8).copy()
        errors = generator.random(read.size) < generator.choice([0.0, 0.03, 0.12])
        read[errors] = np.frombuffer(b"ACGTN", np.uint8)[generator.integers(0, 5, errors.sum())]
        yield np.delete(read, np.flatnonzero(generator.random(read.size) < 0.02)).tobytes()


@pytest.mark.parametrize("name", ["map-ont", "map-pb", "map-hifi", "lr:hq"])
@pytest.mark.parametrize(("drop", "large"), [(400, 1 << 22), (60, 10_000)])
def test_rearranged_reads(
    reference: tuple[MinimizerIndex, TargetCodes],
    name: str,
    drop: int,
    large: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from hapgpu.longread.cuda.align import steps  # noqa: PLC0415  (needs CuPy)

    monkeypatch.setattr(steps, "_LARGE", large)  # cells of a large fill
    options = preset(name)
    align = replace(options.align, drop=drop, inversion_drop=min(drop, 200), min_score=40)
    options = replace(options, align=align, sketch=LongReadOptions().sketch)
    block = block_of(list(rearranged_reads()))
    check(reference, block, options, replace(SAM, difference=Difference.MD))
    check(reference, block, options, LineOptions(has_cigar=True, difference=Difference.DS))


def test_little_memory_splits_blocks(
    reference: tuple[MinimizerIndex, TargetCodes], monkeypatch: pytest.MonkeyPatch
) -> None:
    splits = []
    halves = ReadBlock.halves
    monkeypatch.setattr(
        ReadBlock, "halves", lambda block: splits.append(block.first) or halves(block)
    )
    on_gpu(*reference, LongReadOptions(), SAM)  # copies the reference outside of the pool
    with own_pool():
        check(reference, block_of(READS * 100), device=CudaDevice(0, memory_limit=48 * MIB))
    assert splits


def test_a_read_that_does_not_fit(reference: tuple[MinimizerIndex, TargetCodes]) -> None:
    aligner = on_gpu(*reference, LongReadOptions(), SAM)
    with own_pool():
        device = CudaDevice(0, memory_limit=2 * MIB)
        aligner = on_gpu(*reference, LongReadOptions(), SAM, device)
        with pytest.raises(DeviceError, match=r"made.fa, record 1: .*--gpu-mem"):
            aligner(block_of([GENOME * 60]))
