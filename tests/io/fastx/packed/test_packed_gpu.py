"""BGZF files of FASTQ, inflated and cut on a GPU: the text, or the error, of the CPU's reader."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from hapgpu.errors import InputError
from hapgpu.io.bgzf.block_table import EOF_BLOCK
from hapgpu.io.fastx.packed.blocks import PackedFile, is_packed_fastq
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.io.files.record_limit import MAX_RECORD
from tests.io.bgzf_blocks import block
from tests.io.fastx.made_texts import BLANKS, record

pytestmark = pytest.mark.gpu

SIZES = (1, 2000, 1 << 20)
RECORD = b"@r\nACGT\n+\nIIII\n"


def bgzf(text: bytes, random: Random) -> bytes:
    """Cut a text anywhere into blocks of up to 3,000 bytes, some of them empty."""
    packed = []
    while text:
        size = random.choice([0, 1, 7, 300, 3000])
        packed.append(block(text[:size]))
        text = text[size:]
    return b"".join(packed) + EOF_BLOCK


def on_cpu(path: Path, max_record: int) -> bytes | str:
    try:
        return b"".join(b.text.tobytes() for b in read_blocks(path, 5000, max_record=max_record))
    except InputError as error:
        return str(error)


def on_gpu(path: Path, size: int, max_record: int) -> bytes | str:
    cupy: Any = pytest.importorskip("cupy")
    from hapgpu.io.fastx.packed.cuda import decoded  # noqa: PLC0415  (needs CuPy)
    from hapgpu.runtime.gpu.context import pinned_array  # noqa: PLC0415

    text, records = b"", 0
    with cupy.cuda.Stream(non_blocking=True):
        file = PackedFile(str(path), max_record)
        try:
            for packed in file.blocks(size, lambda size: pinned_array(size, np.uint8), 2):
                found = decoded(packed)
                if found is None:
                    continue
                assert found.first == records + 1
                assert not found.is_fasta
                records += int((found.text == ord("\n")).sum()) // 4
                text += found.text.tobytes()
        except InputError as error:
            return str(error)
    return text


def check(path: Path, content: bytes, max_record: int = MAX_RECORD) -> bytes | str:
    """Compare both readers, and return the text without blank lines at its end, or the error."""
    path.write_bytes(content)
    assert is_packed_fastq(str(path))
    expected = on_cpu(path, max_record)
    for size in SIZES:
        found = on_gpu(path, size, max_record)
        assert found.rstrip() == expected.rstrip()
    return expected


@pytest.mark.parametrize("room", [0, 100, 1 << 16])
@pytest.mark.parametrize("seed", range(5))
def test_blocks_that_end_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, room: int
) -> None:
    pytest.importorskip("cupy")
    from hapgpu.io.fastx.packed import cuda  # noqa: PLC0415  (needs CuPy)

    monkeypatch.setattr(cuda, "_ROOM", room)
    random = Random(seed)  # noqa: S311  (made text)
    newline = random.choice(["\n", "\r\n"])
    records = "".join(record(random, newline, is_fasta=False) for _ in range(40))
    for end in ("", *BLANKS, "@last\nACGT\n+\nIIII", "@cut\nAC", "@cut\nAC\n+\n"):
        text = (records + end).encode()
        expected = check(tmp_path / "r.fq.gz", bgzf(text, random))
        assert isinstance(expected, bytes)
        assert expected.rstrip() == text.rstrip()


def test_memory_runs_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU inflates and cuts then."""
    pytest.importorskip("cupy")
    from hapgpu.io.fastx.packed import cuda  # noqa: PLC0415  (needs CuPy)

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(cuda, "inflate_blocks", fail)
    content = bgzf(RECORD * 999 + b"@last\nA\n+\nI", Random(1))  # noqa: S311  (as above)
    assert check(tmp_path / "r.fq.gz", content) == RECORD * 999 + b"@last\nA\n+\nI\n"
    assert "longer than" in str(check(tmp_path / "r.fq.gz", content, max_record=8))


def flipped(content: bytes, at: int) -> bytes:
    changed = bytearray(content)
    changed[at] ^= 16
    return bytes(changed)


HEAD = block(RECORD * 4000) * 4  # more than is inflated to recognise the file
SECOND = len(HEAD) + len(block(RECORD * 50))
WHOLE = HEAD + block(RECORD * 50) + block(RECORD * 20 + RECORD[:5]) + block(RECORD[5:]) + EOF_BLOCK
RECORDS = 16_071
DAMAGED: dict[str, Callable[[], bytes]] = {
    "checksum": lambda: flipped(WHOLE, SECOND - 6),
    "size": lambda: flipped(WHOLE, SECOND - 4),
    "data": lambda: flipped(WHOLE, SECOND + 30),
    "header": lambda: flipped(WHOLE, SECOND + 2),
    "trailing bytes": lambda: WHOLE + b"some garbage",
    "cut": lambda: WHOLE[: SECOND + 40] + EOF_BLOCK,
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damage_is_reported_as_on_the_cpu(tmp_path: Path, kind: str) -> None:
    assert isinstance(check(tmp_path / "r.fq.gz", DAMAGED[kind]()), str)


@pytest.mark.parametrize("trailing", [bytes(1000), gzip.compress(RECORD, mtime=0), WHOLE])
def test_what_may_follow(tmp_path: Path, trailing: bytes) -> None:
    text = check(tmp_path / "r.fq.gz", WHOLE + trailing)
    more = 0 if not trailing[0] else 1 if trailing != WHOLE else RECORDS
    assert text == RECORD * (RECORDS + more)


@pytest.mark.parametrize("end", [b"", b"\n", b"\n@x\nA\n+\nI\n"])
def test_longest_record(tmp_path: Path, end: bytes) -> None:
    size = len(RECORD) + 36
    long = b"@" + b"n" * 36 + RECORD[1:-1] + end
    for limit in range(size - 2, size + 4):
        for text in (RECORD * 30 + long, long):
            check(tmp_path / "r.fq.gz", bgzf(text, Random(1)), limit)  # noqa: S311  (as above)


def test_other_files(tmp_path: Path) -> None:
    path = tmp_path / "r.gz"
    for content in (
        b"",
        RECORD,
        gzip.compress(RECORD, mtime=0),
        block(b">a\nA\n") + EOF_BLOCK,
        EOF_BLOCK,
        block(RECORD),
        flipped(block(RECORD * 50), 40) + EOF_BLOCK,
    ):
        path.write_bytes(content)
        assert not is_packed_fastq(str(path))
    assert not is_packed_fastq(str(tmp_path / "absent"))
    assert not is_packed_fastq(str(tmp_path))
    assert not is_packed_fastq("-")
