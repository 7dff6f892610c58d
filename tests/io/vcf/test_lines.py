"""Blocks of lines of VCF, with any sizes of the parts in which a file is read."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Semaphore, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.vcf.lines import vcf_blocks

PART = 1 << 18
FIRST = "##fileformat=VCFv4.2"


def lines_of(path: Path, max_record: int = 1 << 20) -> list[str]:
    """Return the format and the lines; all blocks are whole lines, the last may lack its end."""
    form, *blocks = vcf_blocks(path, "sites.vcf", max_record)
    assert all(block.endswith(b"\n") for block in blocks[:-1])
    text = b"".join(blocks).decode("utf-8", "surrogateescape")
    return [form.decode(), *text.removesuffix("\n").split("\n")]


@given(
    lengths=st.lists(st.sampled_from([0, 1, 80, PART - 1, PART, PART + 1, 3 * PART]), max_size=8),
    end=st.sampled_from(["", "\n"]),
)
def test_lines_equal_the_text(lengths: list[int], end: str, tmp_path: Path) -> None:
    lines = [FIRST, *("\u00e9\x0b\r"[: k % 4] + "x" * length for k, length in enumerate(lengths))]
    path = tmp_path / "sites.vcf"
    path.write_text("\n".join(lines) + end, newline="")
    expected = lines[:-1] if not end and not lines[-1] else lines
    assert lines_of(path) == ["VCF", *expected]


def test_bytes_that_are_no_utf_8_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "sites.vcf"
    path.write_bytes(FIRST.encode() + b"\n\xe2\x82\n\xff\n\xe2")
    lines = [line.encode("utf-8", "surrogateescape") for line in lines_of(path)[2:]]
    assert lines == [b"\xe2\x82", b"\xff", b"\xe2"]


@pytest.mark.parametrize("limit", [100, PART, PART + 100])
@pytest.mark.parametrize("before", [0, 1, 3000])
def test_the_line_that_is_too_long_is_named(limit: int, before: int, tmp_path: Path) -> None:
    path = tmp_path / "sites.vcf"
    path.write_text("\n".join([FIRST, *["y" * 50] * before, "x" * (limit - 1), "x" * limit, ""]))
    with pytest.raises(InputError, match=f"line {before + 3}: longer"):
        lines_of(path, limit)


def test_lines_of_a_pipe_come_as_they_are_written(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    taken = Semaphore(0)

    def write() -> None:
        with pipe.open("wb", buffering=0) as stream:
            stream.write(f"{FIRST}\none\ntwo\n".encode())
            taken.acquire()

    writer = Thread(target=write)
    writer.start()
    blocks = vcf_blocks(pipe, "sites.vcf")
    assert [next(blocks) for _ in range(3)] == [b"VCF", FIRST.encode() + b"\n", b"one\ntwo\n"]
    taken.release()
    assert [*blocks] == []
    writer.join()
