"""Damaged files: the GPU's reader refuses what the CPU's refuses, with the same line."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bam.record_layout import RecordBlock
from hapgpu.io.bgzf.marks import EOF_BLOCK
from hapgpu.io.genome.regions import Region, RegionChoice
from tests.io.alignments.device_reading import device_records, host_records, outcome
from tests.io.alignments.reading import HEADER, Feed, numbered_rows
from tests.io.bgzf_blocks import block, inflated
from tests.io.sam_oracle import Row, batch_of

pytestmark = pytest.mark.gpu

PIECES = (64, 1 << 24)
"""Bytes per piece: one block, and all blocks."""
FIRST_RECORD = {
    "small size": (0, "<i", 31),
    "negative size": (0, "<i", -5),
    "endless": (0, "<i", 2**31 - 1),
    "beyond the limit": (0, "<i", (1 << 28) + 1),
    "large contig": (4, "<i", 2),
    "negative contig": (4, "<i", -2),
    "negative position": (8, "<i", -2),
    "no name": (12, "<B", 0),
    "short name": (12, "<B", 5),
    "long name": (12, "<B", 255),
    "many operations": (16, "<H", 60000),
    "negative bases": (20, "<i", -1),
    "many bases": (20, "<i", 2**31 - 1),
    "mate's contig": (24, "<i", 7),
    "mate's position": (28, "<i", -2),
    "unknown operation": (42, "<I", 30 << 4 | 9),
    "another length": (42, "<I", 29 << 4),
}
TAGS = (
    b"XX", b"XXZabc", b"XXi\1\2", b"XXBi\5\0\0\0\1\0\0\0", b"XXBi\xff\xff\xff\xff", b"XXq\1",
    b"XXBA\1\0\0\0a", b"XXBi\xff\xff\xff\x7f", b"XXZ", b"XXA", b"XXZ\0XX", b"CGBI\1\0\0\0\x04\0\0",
)  # fmt: skip


def check(path: Path, **options: object) -> str | list[bytes]:
    """Compare the outcome for pieces of both sizes with that of the CPU's reader; return it."""
    expected = outcome(lambda: host_records(path, **options))
    for piece_bytes in PIECES:
        found = outcome(lambda size=piece_bytes: read_on_gpu(path, piece_bytes=size, **options))
        assert found == expected
    return expected


def read_on_gpu(path: Path | str, **options: object) -> RecordBlock | None:
    return device_records(path, **options)[0].block()


def bam_of(directory: Path, reads: list[Row]) -> Path:
    path = directory / "made.bam"
    with open_writer(str(path), HEADER) as writer:
        writer.write(batch_of(reads))
    return path


@pytest.mark.parametrize("number", [0, 1, 700])
@pytest.mark.parametrize("fault", FIRST_RECORD)
def test_faulty_records(tmp_path: Path, fault: str, number: int) -> None:
    header = inflated(bam_of(tmp_path, []))
    content = bytearray(inflated(bam_of(tmp_path, numbered_rows(900))))
    at = len(header)
    for _ in range(number):
        at += 4 + struct.unpack_from("<i", content, at)[0]
    offset, layout, value = FIRST_RECORD[fault]
    struct.pack_into(layout, content, at + offset, value)
    path = tmp_path / "faulty.bam"
    parts = [block(bytes(content[k : k + 20_000])) for k in range(0, len(content), 20_000)]
    path.write_bytes(b"".join(parts) + EOF_BLOCK)
    error = check(path)
    assert f"record {number + 1}: " in error or "truncated" in error


@pytest.mark.parametrize("tags", TAGS)
def test_faulty_tags(tmp_path: Path, tags: bytes) -> None:
    header = len(inflated(bam_of(tmp_path, [])))
    content = bytearray(inflated(bam_of(tmp_path, numbered_rows(1)))) + tags
    struct.pack_into("<i", content, header, len(content) - header - 4)
    path = tmp_path / "faulty.bam"
    path.write_bytes(block(bytes(content)) + EOF_BLOCK)
    assert "record 1: damaged (a tag" in check(path)


def test_records_longer_than_the_limit(tmp_path: Path) -> None:
    long = Row("r", 4, -1, -1, 0, (), -1, -1, 0, "ACGT" * 9000, None, ())
    path = bam_of(tmp_path, [*numbered_rows(3), long])
    assert "record 4: longer than 40,000 bytes" in check(path, max_record=40_000)
    assert not isinstance(check(path, max_record=60_000), str)


@pytest.mark.parametrize("cut", [1, 3, 30, 36, 100])
def test_files_that_end_within_a_record(tmp_path: Path, cut: int) -> None:
    content = inflated(bam_of(tmp_path, numbered_rows(40)))
    path = tmp_path / "cut.bam"
    path.write_bytes(block(content[:-cut]) + EOF_BLOCK)
    error = check(path)
    assert isinstance(error, str)
    assert error.endswith("; copy it again")


def test_missing_end_and_foreign_bytes(small_bam: Path, tmp_path: Path, feed: Feed) -> None:
    data = small_bam.read_bytes()
    body = data.removesuffix(EOF_BLOCK)
    for content in (body, body[:-1], data + b"xyz", data + bytes(100) + b"x", body + b"x" * 300):
        path = tmp_path / "open.bam"
        path.write_bytes(content)
        assert isinstance(check(path), str)
        feed(content)
        expected = outcome(lambda: host_records("-"))
        feed(content)
        assert outcome(lambda: read_on_gpu("-")) == expected


def test_truncation_anywhere(small_bam: Path, feed: Feed) -> None:
    data = small_bam.read_bytes()
    cuts = np.random.default_rng(5).integers(1, len(data), 12)
    for cut in [*range(1, 40, 5), *cuts.tolist(), *range(len(data) - 30, len(data), 4)]:
        feed(data[:cut])
        expected = outcome(lambda: host_records("-"))
        assert isinstance(expected, str)
        for piece_bytes in PIECES:
            feed(data[:cut])
            found = outcome(lambda size=piece_bytes: read_on_gpu("-", piece_bytes=size))
            assert found == expected


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_flipped_bytes(
    small_bam: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(small_bam.read_bytes())
    at = data.draw(st.one_of(st.integers(0, 60), st.integers(0, len(content) - 1)))
    content[at] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "flipped.bam"
    path.write_bytes(content)
    check(path)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_hostile_fields(
    small_bam: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(inflated(small_bam)[:6000])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 4))
        value = data.draw(st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(-2, 300)))
        content[at : at + 4] = struct.pack("<i", value)
    path = tmp_path_factory.getbasetemp() / "hostile.bam"
    path.write_bytes(block(bytes(content)) + EOF_BLOCK)
    check(path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_damaged_files(small_bam: Path, tmp_path: Path, seed: int) -> None:
    """Bits flipped, bytes cut out or repeated, and wrong sizes, anywhere in the file."""
    random = np.random.default_rng(seed)
    sound = small_bam.read_bytes()
    path = tmp_path / "damaged.bam"
    for k in range(1000):
        content = bytearray(sound)
        at = int(random.integers(0, len(content)))
        if k % 4 == 0:
            content[at] ^= 1 << int(random.integers(0, 8))
        elif k % 4 == 1:
            del content[at : at + int(random.integers(1, 50))]
        elif k % 4 == 2:
            content[at:at] = content[max(at - 20, 0) : at]
        else:
            starts = [j for j in range(len(sound)) if sound.startswith(b"\x1f\x8b\x08\x04", j)]
            start = starts[int(random.integers(0, len(starts)))]
            field = start + (16 if random.integers(0, 2) else -4)  # BSIZE, or ISIZE before it
            content[max(field, 0)] ^= 1 << int(random.integers(0, 8))
        path.write_bytes(content)
        check(path)


@pytest.mark.parametrize("shift", [-300, -1, 1, 50_000])
def test_an_index_of_another_file(small_bam: Path, tmp_path: Path, shift: int) -> None:
    """Virtual offsets that are no starts of records."""
    path, index = tmp_path / "a.bam", tmp_path / "a.bam.bai"
    path.write_bytes(small_bam.read_bytes())
    data = bytearray(small_bam.with_name(f"{small_bam.name}.bai").read_bytes())
    # Of the first contig: bins with their chunks.
    (bins,) = struct.unpack_from("<i", data, 8)
    at = 12
    for _ in range(bins):
        number, chunks = struct.unpack_from("<Ii", data, at)
        at += 8
        for _ in range(chunks):
            if number < 37450:
                start, end = struct.unpack_from("<QQ", data, at)
                struct.pack_into("<QQ", data, at, max(start + shift, 0), max(end + shift, 0))
            at += 16
    index.write_bytes(data)
    for region in Region("chr1", 100, 140), Region("chr1", 20_000, 30_000):
        check(path, regions=RegionChoice((region,)))
