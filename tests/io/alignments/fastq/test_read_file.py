"""Reads of BAM, CRAM and SAM as text, as pysam and samtools read them."""

from __future__ import annotations

import gzip
import os
import re
import struct
import sys
import threading
from array import array
from pathlib import Path

import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.alignments.text_pipeline import read_file
from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bgzf.marks import EOF_BLOCK
from tests.io.alignments.fastq.texts import (
    HEADER,
    blocks_of,
    expected_reads,
    found_reads,
    settings_of,
    text_of,
)
from tests.io.alignments.reading import HEADER as CONTIGS
from tests.io.alignments.reading import Feed
from tests.io.bgzf_blocks import block
from tests.io.sam_oracle import Row, batch_of, rows

TAGS = (
    ("RG", "group", "Z"),
    ("XA", "!", "A"),
    ("Xc", -128, "c"),
    ("XC", 255, "C"),
    ("Xs", -(2**15), "s"),
    ("XS", 2**16 - 1, "S"),
    ("Xi", -(2**31), "i"),
    ("XI", 2**32 - 1, "I"),
    ("Xf", 12.25, "f"),
    ("XH", "1AE301", "H"),
    ("XZ", "", "Z"),
    ("NM", 3, "i"),
    ("MM", "C+m?,5,12,0;", "Z"),
    ("ML", array("B", [0, 128, 255])),
    ("Bc", array("b", [-128, 127])),
    ("Bs", array("h", [-(2**15), 2**15 - 1])),
    ("BS", array("H", [0, 2**16 - 1])),
    ("Bi", array("i", [-(2**31), 2**31 - 1])),
    ("BI", array("I", [0, 2**32 - 1])),
    ("Bf", array("f", [0.5, -1e10])),
    ("MD", "10A5", "Z"),
)


def record(name: str, bases: str, flag: int = 4, *, first_quality: int = 0) -> pysam.AlignedSegment:
    """Make a record; on a strand only if it is mapped."""
    found = pysam.AlignedSegment(HEADER)
    found.query_name = name
    found.flag = flag
    found.query_sequence = bases
    found.query_qualities = array("B", [(first_quality + k) % 94 for k in range(len(bases))])
    if not flag & 4:
        found.reference_id, found.reference_start = 0, 1000
        found.cigarstring = f"{len(bases)}M"
    return found


def many_records() -> list[pysam.AlignedSegment]:
    """Make records of all flags and lengths, some with tags; all with qualities."""
    letters = "ACGTNRYSWKMBDHVACGTTTGA" * 5
    records = []
    for k, flag in enumerate([4, 0, 16, 256, 2048, 272, 2064, 20, 1024, 512] * 12):
        records.append(record(f"read{k}", letters[k % 7 : 7 + k], flag, first_quality=k))
        if k % 3:
            records[-1].set_tags(list(TAGS[: k % 25]))
    records.append(record("empty", "", 4))
    records[-1].set_tags(list(TAGS))
    return records


def write(path: Path, records: list[pysam.AlignedSegment], mode: str = "wb") -> Path:
    with pysam.AlignmentFile(str(path), mode, header=HEADER) as file:
        for each in records:
            file.write(each)
    return path


@pytest.fixture(scope="module")
def bam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("reads") / "reads.bam", many_records())


@pytest.mark.parametrize("with_comments", [False, True])
def test_equals_samtools(bam: Path, tmp_path: Path, with_comments: bool) -> None:
    """`-0` takes what is neither a first nor a second read."""
    fastq = tmp_path / "reads.fq"
    options = ["-T", "*"] if with_comments else []
    pysam.samtools.fastq("-n", *options, "-0", str(fastq), str(bam), catch_stdout=False)
    expected = fastq.read_text()
    if with_comments:
        expected = re.sub(r"\t(NM|MD):[^\t\n]*", "", expected)
        assert "\tML:B:C,0,128,255\t" in expected
    assert text_of(bam, settings_of(with_comments=with_comments)) == expected


@settings(max_examples=80)
@given(
    reads=st.lists(rows(), max_size=8),
    block_bytes=st.integers(1, 2000),
    threads=st.sampled_from([1, 2]),
    with_comments=st.booleans(),
)
def test_any_records(
    tmp_path_factory: pytest.TempPathFactory,
    reads: list[Row],
    block_bytes: int,
    threads: int,
    with_comments: bool,
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.bam"
    with open_writer(str(path), CONTIGS) as writer:
        writer.write(batch_of(reads))
    with pysam.AlignmentFile(str(path)) as file:
        expected = expected_reads(file, with_comments=with_comments)
    read = settings_of(block_bytes, threads=threads, with_comments=with_comments)
    blocks = blocks_of(path, read)
    assert found_reads(blocks) == expected
    # Reads without bases are in either form: they never divide a block.
    forms = [block.is_fasta for block in blocks]
    without_qualities = sum(quality is None for *_, quality in expected)
    assert block_bytes < 2000 or len(forms) <= 1 + 2 * without_qualities


def test_reads_without_qualities_become_fasta(tmp_path: Path) -> None:
    records = [record(f"r{k}", "ACGT" * (k != 2), 16 * (k == 1)) for k in range(6)]
    for k in (0, 1, 5):
        records[k].query_qualities = None
    blocks = blocks_of(write(tmp_path / "reads.bam", records))
    assert [(block.is_fasta, block.first) for block in blocks] == [(True, 1), (False, 4), (True, 6)]
    assert blocks[0].text.tobytes() == b">r0\nACGT\n>r1\nACGT\n>r2\n\n"
    assert blocks[1].text.tobytes() == b'@r3\nACGT\n+\n!"#$\n@r4\nACGT\n+\n!"#$\n'


def test_qualities_above_the_letters(tmp_path: Path) -> None:
    high = record("r", "ACGT")
    high.query_qualities = array("B", [93, 94, 254, 0])
    assert text_of(write(tmp_path / "reads.bam", [high])) == "@r\nACGT\n+\n~~~!\n"


def test_pairs_stay_in_the_order_of_the_file(tmp_path: Path) -> None:
    pair = [record("p", "AC", 0x4D + 0x40), record("p", "GT", 0x4D)]
    text = text_of(write(tmp_path / "reads.bam", pair))
    assert text == '@p\nAC\n+\n!"\n@p\nGT\n+\n!"\n'


def test_excluded_records_are_counted(bam: Path) -> None:
    counted: list[int] = []
    for _ in read_file(str(bam), settings_of(300), counted.append):
        pass
    assert sum(counted) == 48


@pytest.mark.parametrize("kind", ["bam", "ubam", "cram", "sam", "sam.gz"])
@pytest.mark.parametrize("source", ["file", "pipe", "standard input"])
def test_kinds_and_sources(tmp_path: Path, feed: Feed, kind: str, source: str) -> None:
    records = [each for each in many_records() if each.is_unmapped]
    mode = {"bam": "wb", "ubam": "wbu", "cram": "wc"}.get(kind, "wh")
    path = write(tmp_path / f"reads.{kind}", records, mode)
    if kind == "sam.gz":
        path.write_bytes(gzip.compress(path.read_bytes()))
    expected = text_of(write(tmp_path / "expected.bam", records), settings_of(with_comments=True))
    read = settings_of(2000, with_comments=True)
    if source == "file":
        assert text_of(path, read) == expected
    elif source == "standard input":
        feed(path.read_bytes(), 1000)
        assert text_of("-", read) == expected
    else:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=[path.read_bytes()])
        writer.start()
        assert text_of(pipe, read) == expected
        writer.join()


FASTQ = "@a comment\nACGT\n+\nIIII\n@b\nGG\n+\nII\n"


@pytest.mark.parametrize("pack", [str.encode, lambda text: gzip.compress(text.encode())])
@pytest.mark.parametrize("source", ["file", "pipe", "standard input", "redirected"])
def test_other_files_are_read_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, feed: Feed, pack: object, source: str
) -> None:
    path = tmp_path / "reads.fq"
    data = pack(FASTQ)  # type: ignore[operator]
    path.write_bytes(data)
    if source == "file":
        (found,) = blocks_of(path)
        assert found.name == str(path)
    elif source == "pipe":
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=[data])
        writer.start()
        (found,) = blocks_of(pipe)
        writer.join()
        assert found.name == str(pipe)
    elif source == "standard input":
        feed(data, 3)
        (found,) = blocks_of("-")
        assert found.name == "standard input"
    else:
        with path.open() as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            (found,) = blocks_of("-")
    assert found.text.tobytes().decode() == FASTQ


def test_no_reads(tmp_path: Path) -> None:
    assert blocks_of(write(tmp_path / "none.bam", [])) == []
    assert blocks_of(write(tmp_path / "none.cram", [], "wc")) == []
    assert blocks_of(write(tmp_path / "excluded.bam", [record("s", "ACGT", 256)])) == []


def bam_of(*records: bytes) -> bytes:
    """Return a BAM file of raw records, without contigs."""
    content = b"BAM\1" + bytes(8) + b"".join(struct.pack("<i", len(r)) + r for r in records)
    return block(content) + EOF_BLOCK


def raw(name: bytes, tags: bytes = b"") -> bytes:
    """Return an unmapped record of two bases."""
    fixed = struct.pack("<iiBBHHHiiii", -1, -1, len(name) + 1, 0, 4680, 0, 4, 2, -1, -1, 0)
    return fixed + name + b"\0" + b"\x12" + b"\x01\x02" + tags


FAULTS = {
    "line in name": (raw(b"a\nb"), False, "record 2: its name has a blank or a control character"),
    "blank in name": (raw(b"a b"), False, "record 2: its name has a blank"),
    "line in tag": (raw(b"a", b"XXZu\nv\0"), True, "record 2: a tag has a control character"),
    "tab in tag": (raw(b"a", b"XXAA" + b"YYA\t"), True, "record 2: a tag has a control character"),
    "unknown tag": (raw(b"a", b"XXQ1"), False, "record 2: damaged (a tag has an unknown type"),
    "long text": (
        raw(b"a", b"XXBc" + struct.pack("<i", 400) + bytes([156] * 400)),
        True,
        "record 2: longer than 800 bytes; raise --max-record",
    ),
    "long record": (
        raw(b"a", b"XXZ" + b"a" * 900 + b"\0"),
        False,
        "record 2: longer than 800 bytes; raise --max-record",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_bad_record_is_named(tmp_path: Path, fault: str, threads: int) -> None:
    bad, with_comments, message = FAULTS[fault]
    path = tmp_path / "reads.bam"
    path.write_bytes(bam_of(raw(b"good", b"XXZy\0"), bad, raw(b"late")))
    read = settings_of(max_record=800, threads=threads, with_comments=with_comments)
    blocks = read_file(str(path), read, lambda _: None)
    expected = "@good" + "\tXX:Z:y" * with_comments + '\nAC\n+\n"#\n'
    if fault not in {"unknown tag", "long record"} or threads == 1:
        assert next(blocks).text.tobytes().decode() == expected
    with pytest.raises(InputError) as caught:
        list(blocks)
    assert str(caught.value).startswith(f"{path}, {message}")


def test_a_tag_that_is_not_wanted_may_have_lines(tmp_path: Path) -> None:
    path = tmp_path / "reads.bam"
    path.write_bytes(bam_of(raw(b"a", b"XXZu\nv\0")))
    assert text_of(path) == '@a\nAC\n+\n"#\n'


@pytest.mark.parametrize("source", ["file", "standard input"])
@pytest.mark.parametrize("kind", ["bam", "cram"])
def test_truncated_files(tmp_path: Path, feed: Feed, kind: str, source: str) -> None:
    path = tmp_path / f"reads.{kind}"
    with open_writer(str(path), CONTIGS) as writer:
        unmapped = [
            Row(f"r{k}", 4, -1, -1, 0, (), -1, -1, 0, "ACGT" * 9, None, ()) for k in range(900)
        ]
        writer.write(batch_of(unmapped))
    whole = path.read_bytes()
    for size in (len(whole) - 10, len(whole) // 2):
        path.write_bytes(whole[:size])
        if source == "standard input":
            feed(whole[:size])
        name = "-" if source == "standard input" else path
        with pytest.raises(InputError, match=r"truncated|quickcheck"):
            blocks_of(name)


def test_a_bam_of_gzip_is_refused(bam: Path, tmp_path: Path) -> None:
    path = tmp_path / "reads.bam"
    path.write_bytes(gzip.compress(gzip.decompress(bam.read_bytes())))
    with pytest.raises(InputError, match="BAM not compressed by bgzip; run: samtools view -b"):
        blocks_of(path)
