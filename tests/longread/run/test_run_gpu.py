"""Blocks of long reads mapped on the GPU against the CPU, text to text."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hapgpu.errors import DeviceError, InputError
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.longread.cpu import CpuChainer
from hapgpu.longread.index.build import build_index
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import UNLIMITED_SKIP, LongReadOptions, preset
from hapgpu.runtime.devices import CudaDevice
from tests.gpu_memory import own_pool
from tests.longread.stage_runs import computed

pytestmark = pytest.mark.gpu

MIB = 1 << 20


def block_of(reads: list[bytes]) -> ReadBlock:
    text = b"".join(b">r%d\n%b\n" % (number, read) for number, read in enumerate(reads))
    return ReadBlock(np.frombuffer(text, dtype=np.uint8), is_fasta=True, first=1, name="made.fa")


def made_sequence(length: int, seed: int) -> bytes:
    generator = np.random.default_rng(seed)
    return np.frombuffer(b"ACGT", dtype=np.uint8)[generator.integers(0, 4, length)].tobytes()


GENOME = made_sequence(60_000, seed=1)
READS = [GENOME[start : start + 3000] for start in range(0, 57_000, 1000)]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> MinimizerIndex:
    fasta = tmp_path_factory.mktemp("made") / "made.fa"
    fasta.write_bytes(b">made\n" + GENOME + b"\n")
    return build_index(fasta, LongReadOptions().sketch, 1)


@pytest.fixture
def limited(index: MinimizerIndex) -> Iterator[Callable[[int], CudaDevice]]:
    """Return a device limited to `size` bytes beside the index."""
    from hapgpu.longread.cuda.index import resident_index  # noqa: PLC0415  (needs CuPy)

    resident_index(index, CudaDevice(0))
    with own_pool():
        yield lambda size: CudaDevice(0, memory_limit=size)


def check(
    index: MinimizerIndex, options: LongReadOptions, block: ReadBlock, device: CudaDevice
) -> None:
    from hapgpu.longread.cuda.stages import CudaChainer  # noqa: PLC0415  (needs CuPy)

    expected = computed(CpuChainer(index, options), block)
    found = computed(CudaChainer(index, options, device), block)
    assert found.text.tobytes() == expected.text.tobytes()
    assert found.counts == expected.counts


def every_option(name: str) -> list[LongReadOptions]:
    chosen = preset(name)
    return [
        chosen,
        replace(
            chosen,
            chains=replace(chosen.chains, max_skip=UNLIMITED_SKIP, joins=False),
            mappings=replace(chosen.mappings, all_chains=True),
        ),
    ]


@pytest.mark.parametrize("name", ["map-ont", "map-pb", "map-hifi"])
@pytest.mark.parametrize("variant", [0, 1])
def test_real_reads(data_dir: Path, name: str, variant: int) -> None:
    directory = data_dir / "longread/chain"
    options = every_option(name)[variant]
    with gzip.open(directory / "reads.fa.gz") as file:
        reads = file.read().split(b"\n")[1::2]
    whole = block_of([read for read in reads if read.isalpha()])
    check(build_index(directory / "ref.fa.gz", options.sketch, 1), options, whole, CudaDevice(0))


@pytest.mark.parametrize("reads", [[], [b""], [b"ACGT"], [b"", READS[0], b"N" * 500]])
def test_few_reads(index: MinimizerIndex, reads: list[bytes]) -> None:
    check(index, LongReadOptions(), block_of(reads), CudaDevice(0))


def test_little_memory_splits_blocks(
    index: MinimizerIndex,
    limited: Callable[[int], CudaDevice],
    monkeypatch: pytest.MonkeyPatch,
) -> None:

    splits = []
    halves = ReadBlock.halves
    monkeypatch.setattr(
        ReadBlock, "halves", lambda block: splits.append(block.first) or halves(block)
    )
    check(index, LongReadOptions(), block_of(READS * 100), limited(24 * MIB))
    assert splits


def test_a_read_that_does_not_fit(
    index: MinimizerIndex, limited: Callable[[int], CudaDevice]
) -> None:
    from hapgpu.longread.cuda.stages import CudaChainer  # noqa: PLC0415  (needs CuPy)

    chainer = CudaChainer(index, LongReadOptions(), limited(2 * MIB))
    with pytest.raises(DeviceError, match=r"made.fa, record 1: .*--gpu-mem"):
        chainer(block_of([GENOME * 60]))


def test_same_errors_as_on_the_cpu(index: MinimizerIndex) -> None:
    from hapgpu.longread.cuda.stages import CudaChainer  # noqa: PLC0415  (needs CuPy)

    block = ReadBlock(
        np.frombuffer(b"@a\nAC\n+\nIII\n", np.uint8), is_fasta=False, first=7, name="bad.fq"
    )
    with pytest.raises(InputError, match=r"bad.fq, record 7 'a'"):
        CudaChainer(index, LongReadOptions(), CudaDevice(0))(block)


def test_read_of_too_many_anchors(index: MinimizerIndex) -> None:
    from hapgpu.longread.cuda.stages import CudaChainer  # noqa: PLC0415  (needs CuPy)

    block, messages = block_of([GENOME[:100], b"", GENOME[:3000]]), []
    for max_anchors in (0, -2990):
        options = replace(LongReadOptions(), max_anchors=max_anchors)
        for worker in (CpuChainer(index, options), CudaChainer(index, options, CudaDevice(0))):
            if max_anchors == 0:
                assert computed(worker, block).counts["reads"] == 3
                continue
            with pytest.raises(InputError) as raised:
                worker(block)
            messages.append(str(raised.value))
    assert messages[0] == messages[1]
    assert messages[0].startswith("made.fa, record 1, read r0: has ")
