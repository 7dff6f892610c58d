"""Uncut blocks in several processes, each block cut where it is decoded; in host memory here."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from hapgpu.errors import InputError
from hapgpu.io.bgzf.marks import EOF_BLOCK
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.io.fastx.uncut_blocks import UncutBlock, uncut_file
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.runtime.processes.blocks import shared_blocks
from tests.io.bgzf_blocks import block
from tests.io.fastx.made_texts import record
from tests.runtime.processes.running import results_of_run

pytest.importorskip("cupy")

from hapgpu.io.fastx import cuda

SIZES = (300, 5000, 1 << 20)


@pytest.fixture(autouse=True)
def no_gpu_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the GPU is too small."""
    monkeypatch.setattr(cuda, "retried_or_none", lambda _: None)


def text_of(uncut: UncutBlock) -> tuple[int, bytes]:
    found = cuda.decoded(uncut)
    return (0, b"") if found is None else (found.first, found.text.tobytes())


def in_processes(path: Path, size: int, processes: int) -> bytes | str:
    file = uncut_file(str(path), MAX_RECORD)
    assert file is not None
    texts: list[tuple[int, bytes]] = []
    blocks = file.blocks(size, shared_blocks().allocate, 2)
    try:
        results_of_run(blocks, [text_of] * 6, processes, results=texts)
    except InputError as error:
        return str(error)
    firsts = [first for first, _ in texts if first]
    assert firsts == sorted(set(firsts))
    return b"".join(text for _, text in texts)


def as_blocks(text: bytes) -> bytes:
    cuts = range(0, len(text), 700)
    return b"".join(block(text[cut : cut + 700]) for cut in cuts) + EOF_BLOCK


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.exhaustive), 3])
@pytest.mark.parametrize("is_fasta", [False, True])
@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("end", ["", "@last\nACGT\n+\nIIII", "@cut\nAC"])
def test_the_text_or_the_error_of_one_reader(
    tmp_path: Path, processes: int, is_fasta: bool, is_packed: bool, end: str
) -> None:
    random = Random(7)  # noqa: S311  (made text)
    text = "".join(record(random, "\n", is_fasta=is_fasta) for _ in range(60))
    text += end.replace("@", ">").partition("\n+")[0] if is_fasta else end
    path = tmp_path / "reads.gz"
    path.write_bytes(as_blocks(text.encode()) if is_packed else text.encode())
    expected: bytes | str
    try:
        expected = b"".join(each.text.tobytes() for each in read_blocks(path, 1 << 24))
    except InputError as error:
        expected = str(error)
    for size in SIZES:
        assert in_processes(path, size, processes).rstrip() == expected.rstrip()  # type: ignore[type-var]


@pytest.mark.parametrize("processes", [1, 3])
def test_a_damaged_block(tmp_path: Path, processes: int) -> None:
    random = Random(8)  # noqa: S311  (made text)
    text = "".join(record(random, "\n", is_fasta=False) for _ in range(500))
    packed = bytearray(as_blocks(text.encode()))
    packed[len(packed) // 2] ^= 255
    path = tmp_path / "reads.fq.gz"
    path.write_bytes(packed)
    found = {in_processes(path, size, processes) for size in SIZES}
    assert len(found) == 1
    assert isinstance(found.pop(), str)
