"""Blocks of FASTQ and FASTA, against the text that they were cut from and against pysam."""

from __future__ import annotations

import gzip
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import SHORT_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.io.files import byte_source
from tests.example_counts import many

SIZES = [1, 7, 50, 1000, 1 << 20]


def text_of(blocks: list[ReadBlock]) -> bytes:
    return b"".join(block.text.tobytes() for block in blocks)


def check_numbers(blocks: list[ReadBlock], name: str) -> None:
    """Each block ends with a newline and has the number of its first record."""
    first = 1
    for block in blocks:
        assert block.name == name
        assert block.first == first
        assert block.text[-1] == ord("\n")
        first += int((block.text == ord("\n")).sum()) // (2 if block.is_fasta else 4)


def parse_all(path: Path, block_bytes: int) -> None:
    for block in read_blocks(path, block_bytes):
        parse_block(block, SHORT_READS)


def write(path: Path, text: bytes, packing: str) -> Path:
    if packing == "bgzip":
        with pysam.BGZFile(str(path), "w") as stream:
            stream.write(text)
    else:
        path.write_bytes(gzip.compress(text) if packing == "gzip" else text)
    return path


READS = st.lists(
    st.tuples(
        st.text("abc @+>", min_size=1, max_size=8),
        st.text("ACGT", max_size=30),
        st.text("@+>I", max_size=30),
    ),
    min_size=1,
    max_size=10,
)
IN_A_DIRECTORY = settings(max_examples=many(150))


@IN_A_DIRECTORY
@given(
    READS,
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n", "\n\n \n"]),
    st.integers(1, 200),
    st.sampled_from(["plain", "gzip", "bgzip"]),
    st.sampled_from([1, 3]),
)
def test_fastq_is_cut_at_records(
    tmp_path: Path,
    reads: list[tuple[str, str, str]],
    newline: str,
    blank: str,
    block_bytes: int,
    packing: str,
    threads: int,
) -> None:
    records = [
        newline.join([f"@{name}", bases, "+", qualities, ""]).encode()
        for name, bases, qualities in reads
    ]
    path = write(tmp_path / "r.fq", b"".join(records) + blank.encode(), packing)
    blocks = list(read_blocks(path, block_bytes, threads=threads))
    check_numbers(blocks, str(path))
    assert text_of(blocks).rstrip() == b"".join(records).rstrip()
    assert not any(block.is_fasta for block in blocks)
    longest = max(map(len, records))
    assert all(block.text.size <= max(block_bytes, 4 * longest) for block in blocks)


@IN_A_DIRECTORY
@given(
    READS,
    st.integers(1, 12),
    st.sampled_from(["\n", "\r\n", "\n\n", "\r\n\r\n"]),
    st.booleans(),
    st.integers(1, 200),
    st.sampled_from(["plain", "gzip", "bgzip"]),
)
def test_lines_of_fasta_are_joined(
    tmp_path: Path,
    reads: list[tuple[str, str, str]],
    width: int,
    newline: str,
    is_closed: bool,
    block_bytes: int,
    packing: str,
) -> None:
    text = expected = ""
    for name, bases, _ in reads:
        lines = [f">{name}", *(bases[at : at + width] for at in range(0, len(bases), width))]
        text += newline.join([*lines, ""])
        expected += f">{name}\n{bases}\n"
    if not is_closed:
        text = text.removesuffix(newline)
    path = write(tmp_path / "r.fa", text.encode(), packing)
    blocks = list(read_blocks(path, block_bytes))
    check_numbers(blocks, str(path))
    assert text_of(blocks).replace(b"\r\n", b"\n") == expected.encode()
    assert all(block.is_fasta for block in blocks)
    longest = max(len(name) + len(bases) + 3 for name, bases, _ in reads)
    assert all(block.text.size <= max(block_bytes, 4 * longest + 8) for block in blocks)


def test_bytes_that_are_no_bases_stay_in_fasta(tmp_path: Path) -> None:
    path = write(tmp_path / "r.fa", b">a\nA>C\r\n\rA\n*\r\r\n \n>b\n;\n", "plain")
    for block_bytes in SIZES:
        text = text_of(list(read_blocks(path, block_bytes)))
        assert text == b">a\nA>C\rA*\r \n>b\n;\n"


@pytest.mark.parametrize("block_bytes", SIZES)
def test_last_newline_is_added(tmp_path: Path, block_bytes: int) -> None:
    path = write(tmp_path / "r.fq", b"@a\nAC\n+\nII", "plain")
    assert text_of(list(read_blocks(path, block_bytes))) == b"@a\nAC\n+\nII\n"


@pytest.mark.parametrize("block_bytes", SIZES)
@pytest.mark.parametrize("rest", [b"@b\nACGT", b"@b\nAC\n+\n", b"\n@b\n\n", b"\n\n\n\n", b"x"])
def test_unfinished_record_comes_with_the_last_block(
    tmp_path: Path, rest: bytes, block_bytes: int
) -> None:
    path = write(tmp_path / "r.fq", b"@a\nAC\n+\nII\n" * 3 + rest, "plain")
    with pytest.raises(InputError, match=r"r\.fq, record 4"):
        parse_all(path, block_bytes)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("packing", ["plain", "gzip", "bgzip"])
def test_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, packing: str
) -> None:
    monkeypatch.setattr(byte_source, "_STREAMED_AT_ONCE", 33)
    monkeypatch.setattr(byte_source, "_MIN_SHARE", 100)
    text = b"".join(b"@%d\n%s\n+\n%s\n" % (k, b"A" * (k % 60), b"I" * (k % 60)) for k in range(999))
    path = write(tmp_path / "r.fq", text, packing)
    blocks = list(read_blocks(path, 2000, threads=threads))
    check_numbers(blocks, str(path))
    assert text_of(blocks) == text
    assert all(block.text.size > 1800 for block in blocks[:-1])


def test_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    text = b"@a\nACGT\n+\nIIII\n" * 20_000
    for content in (text, gzip.compress(text)):
        writer = threading.Thread(target=path.write_bytes, args=(content,))
        writer.start()
        blocks = list(read_blocks(path, 10_000))
        writer.join()
        check_numbers(blocks, str(path))
        assert text_of(blocks) == text


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "r.fq", b"@a\nACGT\n+\nIIII\n", "plain")
    with path.open("r") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        (block,) = read_blocks("-", 1000)
    assert block.name == "standard input"
    assert block.text.tobytes() == b"@a\nACGT\n+\nIIII\n"


@pytest.mark.parametrize("text", [b"@a\nACGT\n+\nIIII\n" * 30, b">a\nAC\nGT\n" * 30])
def test_memory_is_not_touched_once_handed_out(tmp_path: Path, text: bytes) -> None:
    path = write(tmp_path / "r", text, "plain")
    given_out: list[NDArray[np.uint8]] = []

    def allocate(size: int) -> NDArray[np.uint8]:
        given_out.append(np.full(size + 3, 255, dtype=np.uint8))
        return given_out[-1]

    for block in read_blocks(path, 100, allocate):
        buffer = next(b for b in given_out if np.shares_memory(b, block.text))
        buffer.setflags(write=False)
        assert buffer[-3:].tolist() == [255] * 3
    assert len(given_out) >= 3


def truncated_bgzip(path: Path) -> None:
    write(path, b"@a\nA\n+\nI\n", "bgzip")
    path.write_bytes(path.read_bytes()[:-28])


def damaged_gzip(path: Path) -> None:
    data = bytearray(gzip.compress(b"@a\nACGT\n+\nIIII\n"))
    data[-8] ^= 1  # of its checksum
    path.write_bytes(data)


UNREADABLE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "absent": (lambda _: None, "r.fq: no such file"),
    "directory": (Path.mkdir, "r.fq: cannot be read (Is a directory"),
    "SAM": (lambda path: path.write_bytes(b"@HD\tVN:1.6\n"), "r.fq: looks like SAM"),
    "SAM record": (
        lambda path: path.write_bytes(b"a\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI\n"),
        "r.fq: looks like SAM, expected FASTQ or FASTA; run: samtools fastq",
    ),
    "BAM": (lambda path: write(path, b"BAM\1\0\0\0\0\0\0\0\0", "bgzip"), "r.fq: looks like BAM"),
    "CRAM": (lambda path: path.write_bytes(b"CRAM\3\0"), "r.fq: looks like CRAM"),
    "VCF": (lambda path: path.write_bytes(b"##fileformat=VCFv4.2\n"), "r.fq: looks like VCF"),
    "text": (lambda path: path.write_bytes(b"ACGT\n"), "r.fq: unknown kind of file"),
    "blank": (lambda path: path.write_bytes(b"\n\n"), "r.fq: unknown kind of file"),
    "no end of bgzip": (truncated_bgzip, "r.fq: truncated"),
    "gzip damaged": (damaged_gzip, "r.fq: damaged compressed file"),
    "gzip cut": (
        lambda path: path.write_bytes(gzip.compress(b"@a\nACGT\n+\nIIII\n" * 5000)[:-20]),
        "r.fq: truncated compressed file",
    ),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_unreadable_file(tmp_path: Path, kind: str) -> None:
    prepare, message = UNREADABLE[kind]
    prepare(tmp_path / "r.fq")
    with pytest.raises(InputError, match=re.escape(message)):
        list(read_blocks(tmp_path / "r.fq", 1000))


@pytest.mark.parametrize("packing", ["plain", "gzip", "bgzip"])
def test_an_empty_file_has_no_blocks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, packing: str
) -> None:
    path = write(tmp_path / "r.fq", b"", packing)
    assert not list(read_blocks(path, 1000))
    assert [record.getMessage() for record in caplog.records] == [f"{path}: empty, no reads"]


def test_file_that_becomes_shorter(tmp_path: Path) -> None:
    path = write(tmp_path / "r.fq", b"@a\nACGT\n+\nIIII\n" * 1000, "plain")
    blocks = read_blocks(path, 2000)
    next(blocks)
    os.truncate(path, 4000)
    with pytest.raises(InputError, match="became shorter"):
        list(blocks)


@pytest.mark.parametrize("text", [b"@a\n" + b"A" * 100, b">a\n" + b"A" * 100])
def test_record_without_end(tmp_path: Path, text: bytes) -> None:
    path = write(tmp_path / "r.fq", text, "gzip")
    with pytest.raises(InputError, match="record 1 'a': longer than 64 bytes; raise --max-rec"):
        list(read_blocks(path, 16, max_record=64))


@pytest.mark.parametrize("name", ["NA12878.chr20_dev.R1.fq.gz", "ecoli_corrected.R1.fq.gz"])
def test_real_reads(data_dir: Path, name: str) -> None:
    path = data_dir / "shortread" / name
    reads = []
    for block in read_blocks(path, 1 << 20):
        spans = parse_block(block, SHORT_READS)
        text = block.text.tobytes()
        reads += [
            (text[base : base + length].decode(), text[quality : quality + length].decode())
            for base, quality, length in zip(
                spans.base_starts.tolist(),
                spans.quality_starts.tolist(),
                spans.lengths.tolist(),
                strict=True,
            )
        ]
    with pysam.FastxFile(str(path)) as expected:
        assert reads == [(entry.sequence, entry.quality) for entry in expected]
