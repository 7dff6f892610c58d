"""Damaged and foreign files: each is refused in one clear line."""

from __future__ import annotations

import gzip
import os
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bgzf.marks import EOF_BLOCK
from tests.example_counts import many
from tests.io.alignments.reading import HEADER, THREADS, Feed, numbered_rows, read
from tests.io.bgzf_blocks import block
from tests.io.sam_oracle import Row, batch_of

FAULTS: dict[str, tuple[int, str, str]] = {
    "flag": (1, "x", "FLAG is 'x', expected a whole number from 0 to 65535"),
    "position": (3, "9" * 30, "POS is '9"),
    "mapping quality": (4, "999", "MAPQ is '999', expected a whole number from 0 to 255"),
    "cigar": (5, "30Q", "CIGAR"),
    "cigar length": (5, "3M", "length"),
    "template": (8, "1x", "TLEN is '1x', expected a whole number"),
    "qualities": (10, "II", "SEQ has 30 bases, but QUAL has 2 qualities"),
    "nul": (0, "a\0b", "contains a NUL byte"),
    "columns": (4, "60\n", "found 5 columns, expected at least 11"),
    "blank": (0, "\nr", "blank line"),
}
QUICK = {"position", "qualities", "nul", "columns", "blank"}
"""Faults that each run of the tests tries; the others are exhaustive."""


@pytest.mark.parametrize(
    "fault",
    [
        fault if fault in QUICK else pytest.param(fault, marks=pytest.mark.exhaustive)
        for fault in FAULTS
    ],
)
def test_a_bad_line_of_sam_is_named(
    small_bam: Path, tmp_path: Path, feed: Feed, fault: str
) -> None:
    lines = pysam.samtools.view("-h", "--no-PG", str(small_bam)).splitlines(keepends=True)
    column, value, message = FAULTS[fault]
    number = len(lines) - 1000
    fields = lines[number - 1].split("\t")
    fields[column] = value
    lines[number - 1] = "\t".join(fields)
    plain, packed = tmp_path / "a.sam", tmp_path / "a.sam.gz"
    plain.write_text("".join(lines))
    packed.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    for path, threads in (plain, 1), (plain, 3), (packed, 2):
        with pytest.raises(InputError) as caught:
            read(path, threads=threads)
        error_text = str(caught.value)
        assert error_text.startswith(f"{path}, line {number}: ")
        assert message in error_text
        assert error_text.count(path.name) == 1
        assert error_text.endswith("; correct or remove the line")
    feed(plain.read_bytes())
    with pytest.raises(InputError, match=rf"^standard input, line {number}: "):
        read("-")
    feed(plain.read_bytes())
    with pytest.raises(InputError, match=r"^standard input.*view -c, which names the line$"):
        read("-", threads=2)


@pytest.mark.parametrize("length", ["99999999999999999999", "2147483648", "9" * 5000, "0"])
def test_a_header_with_a_length_that_is_none(tmp_path: Path, length: str) -> None:
    path = tmp_path / "a.sam"
    path.write_text(f"@SQ\tSN:chr1\tLN:{length}\nr\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI\n")
    with pytest.raises(InputError, match=r"^[^;]*a\.sam[:,] .*LN") as caught:
        read(path)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_bam_without_bgzip(
    small_bam: Path, tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a.bam"
    path.write_bytes(compress(gzip.decompress(small_bam.read_bytes())))
    with pytest.raises(InputError, match=r"a\.bam: BAM .* bgzip; run: samtools view .*a\.bam$"):
        read(path)


def test_truncated_sam_in_blocks(small_bam: Path, tmp_path: Path, feed: Feed) -> None:
    text, packed = tmp_path / "a.sam", tmp_path / "a.sam.gz"
    text.write_text(pysam.samtools.view("-h", "--no-PG", str(small_bam)))
    pysam.tabix_compress(str(text), str(packed))
    assert len(read(packed)) == 4000
    data = packed.read_bytes().removesuffix(EOF_BLOCK)
    packed.write_bytes(data)
    with pytest.raises(InputError, match=r"a\.sam\.gz: truncated"):
        read(packed)
    feed(data)
    with pytest.raises(InputError, match="standard input: truncated"):
        read("-")


def test_damaged_sam_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.sam"
    path.write_text(f"{HEADER.text}read\t0\tchr1\t1\t60\t5M\t*\t0\t0\tACG\t*\n")
    with pytest.raises(InputError, match=r"a\.sam"):
        read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": empty; give"),
        (b">chr1\nACGT\n", "looks like FASTA"),
        (b"##fileformat=VCFv4.2\n", "looks like VCF"),
        (b"chr1\t5\t10\n", "unknown kind"),
        (gzip.compress(b"", mtime=0), ": empty; give"),
        (gzip.compress(b">chr1\nACGT\n", mtime=0), "looks like FASTA"),
        (b"\x1f\x8bxxxxxxxxxxxxxxx", "cannot be inflated"),
        (gzip.compress(b"BAM\1", mtime=0), "bgzip"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "input"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_and_directories(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.bam: cannot be read \(No such file"):
        open_reads(str(tmp_path / "no.bam"))
    with pytest.raises(InputError, match="Is a directory"):
        open_reads(str(tmp_path))


def test_missing_end_marker(small_bam: Path, tmp_path: Path, feed: Feed) -> None:
    data = small_bam.read_bytes().removesuffix(EOF_BLOCK)
    path = tmp_path / "open.bam"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"open\.bam: truncated"):
        read(path)
    feed(data)
    with pytest.raises(InputError, match="standard input: truncated"):
        read("-")


@THREADS
def test_truncation_anywhere_is_noticed(small_bam: Path, feed: Feed, threads: int) -> None:
    data = small_bam.read_bytes()
    cuts = np.random.default_rng(5).integers(1, len(data), 40)
    for cut in [*range(1, 40), *cuts.tolist(), *range(len(data) - 30, len(data))]:
        feed(data[:cut])
        with pytest.raises(InputError):
            read("-", threads=threads)


@settings(max_examples=many(200))
@given(data=st.data(), threads=st.sampled_from([1, 2]))
def test_flipped_bytes_are_noticed_or_harmless(
    small_bam: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, threads: int
) -> None:
    content = bytearray(small_bam.read_bytes())
    at = data.draw(st.one_of(st.integers(0, 60), st.integers(0, len(content) - 1)))
    content[at] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "flipped.bam"
    path.write_bytes(content)
    try:
        found = read(path, threads=threads)
    except InputError:
        return
    assert found == numbered_rows(4000)


@settings(max_examples=many(300))
@given(data=st.data())
def test_records_with_hostile_fields_never_crash(
    small_bam: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    inflated = bytearray(gzip.decompress(small_bam.read_bytes())[:6000])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(inflated) - 4))
        value = data.draw(st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(-2, 300)))
        inflated[at : at + 4] = struct.pack("<i", value)
    path = tmp_path_factory.getbasetemp() / "hostile.bam"
    path.write_bytes(block(bytes(inflated)) + EOF_BLOCK)
    try:
        found = read(path)
    except (InputError, UnicodeDecodeError):  # the latter of a name in the test's own rows
        return
    assert len(found) <= 4000


@pytest.mark.parametrize(
    ("offset", "layout", "value", "message"),
    [
        (0, "<i", 31, "size is impossible"),
        (0, "<i", -5, "size is impossible"),
        (4, "<i", 2, "contig is missing from the header"),
        (4, "<i", -2, "contig is missing from the header"),
        (8, "<i", -2, "position is negative"),
        (12, "<B", 0, "name has no closing NUL"),
        (12, "<B", 5, "name has no closing NUL"),
        (12, "<B", 255, "longer than the record"),
        (16, "<H", 60000, "longer than the record"),
        (20, "<i", -1, "longer than the record"),
        (20, "<i", 2**31 - 1, "size is impossible"),
        (24, "<i", 7, "contig is missing from the header"),
        (28, "<i", -2, "position is negative"),
        (42, "<I", 30 << 4 | 9, "unknown operation"),
        (42, "<I", 29 << 4, "differ in length"),
    ],
)
def test_faulty_records_are_numbered(
    tmp_path: Path, offset: int, layout: str, value: int, message: str
) -> None:
    header = gzip.decompress(_bam(tmp_path, []))
    content = bytearray(gzip.decompress(_bam(tmp_path, numbered_rows(3))))
    second = len(header) + (len(content) - len(header)) // 3
    struct.pack_into(layout, content, second + offset, value)
    path = tmp_path / "faulty.bam"
    path.write_bytes(block(bytes(content)) + EOF_BLOCK)
    with pytest.raises(InputError, match=rf"faulty\.bam, record 2: damaged \(.*{message}"):
        read(path)


@pytest.mark.parametrize(
    "tags",
    [b"XX", b"XXZabc", b"XXi\1\2", b"XXBi\5\0\0\0\1\0\0\0", b"XXBi\xff\xff\xff\xff", b"XXq\1",
     b"XXBA\1\0\0\0a", b"XXBi\xff\xff\xff\x7f"],
)  # fmt: skip
def test_faulty_tags_are_refused(tmp_path: Path, tags: bytes) -> None:
    content = bytearray(gzip.decompress(_bam(tmp_path, numbered_rows(1))))
    header = len(gzip.decompress(_bam(tmp_path, [])))
    content += tags
    struct.pack_into("<i", content, header, len(content) - header - 4)
    path = tmp_path / "faulty.bam"
    path.write_bytes(block(bytes(content)) + EOF_BLOCK)
    with pytest.raises(InputError, match="record 1: damaged \\(a tag"):
        read(path)


def _bam(directory: Path, reads: list[Row]) -> bytes:
    path = directory / "made.bam"
    with open_writer(str(path), HEADER) as writer:
        writer.write(batch_of(reads))
    return path.read_bytes()


def test_header_that_contradicts_its_references(tmp_path: Path) -> None:
    content = gzip.decompress(_bam(tmp_path, [])).replace(b"chr2\0", b"chr3\0")
    path = tmp_path / "contradiction.bam"
    path.write_bytes(block(content) + EOF_BLOCK)
    with pytest.raises(InputError, match=r"contradiction\.bam, header: the @SQ lines"):
        read(path)


def test_an_endless_record_does_not_fill_the_memory(tmp_path: Path) -> None:
    content = bytearray(gzip.decompress(_bam(tmp_path, numbered_rows(1))))
    header = len(gzip.decompress(_bam(tmp_path, [])))
    struct.pack_into("<i", content, header, 2**31 - 1)
    path = tmp_path / "endless.bam"
    path.write_bytes(block(bytes(content)) + block(bytes(60_000)) * 20 + EOF_BLOCK)
    with pytest.raises(InputError, match="record 1: longer than 256 MiB; raise --max-record"):
        read(path)


def test_failing_does_not_wait_for_more_of_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = f"{HEADER.text}read\t0\tchr1\t1\t60\t5M\t*\t0\t0\tACG\t*\n".encode()
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as upstream, os.fdopen(reading, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        writer = threading.Thread(target=upstream.write, args=[faulty.ljust((1 << 16) + 1)])
        writer.start()
        with pytest.raises(InputError, match="standard input"):
            read("-")
        writer.join()
        upstream.close()
