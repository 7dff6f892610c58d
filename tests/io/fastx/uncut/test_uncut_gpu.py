"""BGZF and FASTA, inflated, cut and joined on a GPU: the text, or error, of the CPU's reader."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from hapgpu.errors import InputError
from hapgpu.io.bgzf.marks import EOF_BLOCK
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.io.fastx.uncut_blocks import uncut_file
from hapgpu.io.files.record_limit import MAX_RECORD
from tests.io.bgzf_blocks import block
from tests.io.fastx.made_texts import BLANKS, record

pytestmark = pytest.mark.gpu

SIZES = (64, 2000, 1 << 20)
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
        return b"".join(b.text.tobytes() for b in read_blocks(path, 1 << 24, max_record=max_record))
    except InputError as error:
        return str(error)


def on_gpu(path: Path, size: int, max_record: int) -> bytes | str:
    cupy: Any = pytest.importorskip("cupy")
    from hapgpu.io.fastx.cuda import decoded  # noqa: PLC0415  (needs CuPy)
    from hapgpu.runtime.gpu.context import pinned_array  # noqa: PLC0415

    text, records = b"", 0
    with cupy.cuda.Stream(non_blocking=True):
        file = uncut_file(str(path), max_record)
        assert file is not None
        try:
            for uncut in file.blocks(size, lambda size: pinned_array(size, np.uint8), 2):
                found = decoded(uncut)
                if found is None:
                    continue
                assert found.first == records + 1
                lines = 2 if found.is_fasta else 4
                records += int((found.text == ord("\n")).sum()) // lines
                text += found.text.tobytes()
        except InputError as error:
            return str(error)
    return text


def check(path: Path, content: bytes, max_record: int = MAX_RECORD) -> bytes | str:
    """Compare both readers, and return the text without blank lines at its end, or the error."""
    path.write_bytes(content)
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
    from hapgpu.io.fastx import cuda  # noqa: PLC0415  (needs CuPy)

    monkeypatch.setattr(cuda, "_ROOM", room)
    monkeypatch.setattr(cuda, "_LAST_LINES_BYTES", 3 if room else 4096)
    random = Random(seed)  # noqa: S311  (made text)
    newline = random.choice(["\n", "\r\n"])
    records = "".join(record(random, newline, is_fasta=False) for _ in range(40))
    for end in ("", *BLANKS, "@last\nACGT\n+\nIIII", "@cut\nAC", "@cut\nAC\n+\n"):
        text = (records + end).encode()
        for content in (text, bgzf(text, random)):
            expected = check(tmp_path / "r.fq.gz", content)
            assert isinstance(expected, bytes)
            assert expected.rstrip() == text.rstrip()


FASTA_LINES = (
    ">a", ">b x", ">", "", "", "A", "ACGT", "ACGT" * 20, "ACGT\r", "\r", "\r\r", "A>C", "\rA", " ",
    "A" * 5000,
)  # fmt: skip


@pytest.mark.parametrize("packing", ["plain", "gzip", "bgzip"])
@pytest.mark.parametrize("room", [0, 1 << 16])
@pytest.mark.parametrize("seed", range(3))
def test_fasta(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, room: int, packing: str
) -> None:
    pytest.importorskip("cupy")
    from hapgpu.io.fastx import cuda  # noqa: PLC0415  (needs CuPy)

    monkeypatch.setattr(cuda, "_ROOM", room)
    random = Random(seed)  # noqa: S311  (made text)
    for lines in (0, 3, 60):
        for end in ("", "\n", "\r", "\r\n"):
            drawn = random.choices(FASTA_LINES, k=lines)
            text = ("\n".join([">first", *drawn]) + end).encode()
            packed = {
                "plain": text,
                "gzip": gzip.compress(text),
                "bgzip": bgzf(text, random),
            }[packing]
            assert isinstance(check(tmp_path / "r.fa", packed), bytes)


def test_memory_runs_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU inflates and cuts then."""
    pytest.importorskip("cupy")
    from hapgpu.io.fastx import cuda  # noqa: PLC0415  (needs CuPy)

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


@pytest.mark.parametrize("trailing", [bytes(1000), gzip.compress(RECORD), WHOLE], ids=len)
def test_what_may_follow(tmp_path: Path, trailing: bytes) -> None:
    text = check(tmp_path / "r.fq.gz", WHOLE + trailing)
    more = 0 if not trailing[0] else 1 if trailing != WHOLE else RECORDS
    assert text == RECORD * (RECORDS + more)


@pytest.mark.parametrize("packing", ["plain", "bgzip"])
def test_longest_record_of_fasta(tmp_path: Path, packing: str) -> None:
    for lines in (b"A" * 70, b"A" * 35 + b"\n" + b"A" * 35):
        for text in (b">a\nC\n" * 30 + b">b\n" + lines, b">b\n" + lines + b"\n>c\nA\n"):
            packed = bgzf(text, Random(1)) if packing == "bgzip" else text  # noqa: S311  (as above)
            for limit in range(66, 86, 3):
                check(tmp_path / "r.fa", packed, limit)


@pytest.mark.parametrize("end", [b"", b"\n", b"\n@x\nA\n+\nI\n"])
def test_longest_record(tmp_path: Path, end: bytes) -> None:
    size = len(RECORD) + 36
    long = b"@" + b"n" * 36 + RECORD[1:-1] + end
    for limit in range(size - 2, size + 4):
        for text in (RECORD * 30 + long, long):
            check(tmp_path / "r.fq.gz", bgzf(text, Random(1)), limit)  # noqa: S311  (as above)


def test_a_file_that_becomes_shorter(tmp_path: Path) -> None:
    path = tmp_path / "r.fq"
    path.write_bytes(RECORD * 1000)
    file = uncut_file(str(path), MAX_RECORD)
    assert file is not None
    blocks = file.blocks(2000, lambda size: np.empty(size, dtype=np.uint8), 2)
    next(blocks)
    os.truncate(path, 4000)
    *_, last = blocks
    assert "became shorter" in str(last.content)


def test_other_files(tmp_path: Path) -> None:
    path = tmp_path / "r.gz"
    for content in (
        b"",
        b"@HD\tVN:1.6\n",
        b"ACGT\n",
        gzip.compress(RECORD),
        EOF_BLOCK,
        block(RECORD),
        flipped(block(RECORD * 50), 40) + EOF_BLOCK,
    ):
        path.write_bytes(content)
        assert uncut_file(str(path), MAX_RECORD) is None
    assert uncut_file(str(tmp_path / "absent"), MAX_RECORD) is None
    assert uncut_file(str(tmp_path), MAX_RECORD) is None
    assert uncut_file("-", MAX_RECORD) is None
