"""FASTQ, against pysam and against the written records."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.batches import ReadBatch
from hapgpu.errors import InputError
from hapgpu.io.fastx.fastq import read_fastq

Row = tuple[str, str, list[int]]


def rows(batches: list[ReadBatch]) -> list[Row]:
    return [
        (bytes(name).decode(), bytes(bases).decode(), qualities.tolist())
        for batch in batches
        for name, bases, qualities in zip(batch.names, batch.bases, batch.qualities, strict=True)
    ]


def parse(text: bytes, batch_bases: int = 8_000_000) -> list[ReadBatch]:
    return list(read_fastq(io.BufferedReader(io.BytesIO(text)), batch_bases))


def expected_rows(path: Path) -> list[Row]:
    with pysam.FastxFile(str(path)) as stream:
        return [
            (re.sub(r"/[12]$", "", e.name), (e.sequence or "").upper(), list(e.get_quality_array()))
            for e in stream
        ]


@pytest.mark.parametrize(
    "name",
    ["16s_miseq/sam1F.fastq.gz", "crispr_gol/gol.fastq", "sarscov2_ont/MT007544.fastq.gz"],
)
@pytest.mark.parametrize("batch_bases", [1, 10_000, 8_000_000])
def test_same_records_as_pysam(data_dir: Path, name: str, batch_bases: int) -> None:
    path = data_dir / "amplicon" / name
    assert rows(list(read_fastq(path, batch_bases))) == expected_rows(path)


def test_reads_are_unmapped() -> None:
    (batch,) = parse(b"@a/1 comment\nacgtn\n+\n!~5II\n@b\tx\n\n+b\tx\n\n")
    assert rows([batch]) == [("a", "ACGTN", [0, 93, 20, 40, 40]), ("b", "", [])]
    assert len(batch) == 2
    assert batch.flags.tolist() == [4, 4]
    for column in (
        batch.reference_ids,
        batch.positions,
        batch.mate_reference_ids,
        batch.mate_positions,
    ):
        assert column.dtype == np.int32
        assert column.tolist() == [-1, -1]
    assert batch.template_lengths.tolist() == batch.mapping_qualities.tolist() == [0, 0]
    assert len(batch.cigars) == len(batch.tags) == 2
    assert batch.cigars.data.size == batch.tags.data.size == 0


PRINTABLE = st.characters(min_codepoint=33, max_codepoint=126)
NAMES = st.text(PRINTABLE, min_size=3, max_size=12).filter(lambda name: not name.startswith("@"))
READS = st.lists(
    st.tuples(NAMES, st.lists(st.tuples(st.sampled_from("ACGTNRYK"), st.integers(0, 93))))
)


@given(READS, st.integers(1, 60), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_round_trip(
    reads: list[tuple[str, list[tuple[str, int]]]],
    batch_bases: int,
    newline: str,
    compressed: bool,
) -> None:
    written = [(name, "".join(b for b, _ in bases), [q for _, q in bases]) for name, bases in reads]
    text = "".join(
        newline.join([f"@{name}/2 x", bases, "+", "".join(chr(q + 33) for q in quals), ""])
        for name, bases, quals in written
    ).encode()
    batches = parse(gzip.compress(text) if compressed else text, batch_bases)
    assert rows(batches) == written
    longest = max((len(name) + 2 * len(bases) + 20 for name, bases, _ in written), default=0)
    assert all(batch.bases.data.size <= batch_bases + longest for batch in batches)


def test_last_newline_and_blank_lines_at_the_end_do_not_matter() -> None:
    record = b"@a\nAC\n+\nII"
    assert rows(parse(record)) == rows(parse(record + b"\n\n \n")) == [("a", "AC", [40, 40])]
    assert parse(b"") == []


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (b">b\nAC\n+\nII\n", "record 2: its first line does not start with '@'"),
        (b"\n\n\n\n", "record 2: its first line does not start with '@'"),
        (b"@b\nAC\nAC\n+\nIIII\n", "record 2 'b': its third line does not start with '+'"),
        (b"@b x\nAC\n+\nIII\n", "record 2 'b': its sequence and its qualities differ in length"),
        (b"@ b\nAC\n+\nII\n", "record 2 'b': it has no name"),
        (b"@" + b"b" * 255 + b"\nAC\n+\nII\n", "its name is longer than 254 characters"),
        (b"@@b\nAC\n+\nII\n", "record 2 '@b': its name starts with '@', which SAM does not allow"),
        (b"@b\x01\nAC\n+\nII\n", "invalid character '\\x01' in its name"),
        (b"@b\nA.\n+\nII\n", "record 2 'b': invalid character '.' in its sequence"),
        (b"@b\nAC\n+\nI \n", "record 2 'b': invalid character ' ' in its qualities"),
        (b"@b\nAC\n+\n", "record 2 'b': the file ends within it"),
        (b"@b\nACGT", "record 2 'b': the file ends within it"),
        (b"@b\nACGT\n+\nII", "record 2 'b': its sequence and its qualities differ in length"),
    ],
)
@pytest.mark.parametrize("batch_bases", [1, 1000])
def test_bad_record_is_named(tmp_path: Path, record: bytes, message: str, batch_bases: int) -> None:
    path = tmp_path / "r.fastq"
    path.write_bytes(b"@a\nAC\n+\nII\n" + record)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        list(read_fastq(path, batch_bases))
    assert str(caught.value).startswith(f"{path}, record 2")


def test_unreadable_fastq(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.fq: no such file"):
        list(read_fastq(tmp_path / "absent.fq"))
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory"):
        list(read_fastq(tmp_path))
    with pytest.raises(InputError, match="not FASTQ"):
        parse(b">a\nACGT\n")
    whole = gzip.compress(b"@a\nACGT\n+\nIIII\n" * 5000)
    with pytest.raises(InputError, match="truncated"):
        parse(whole[:-20])
    with pytest.raises(InputError, match="damaged compressed file"):
        parse(whole[:15] + b"\0" * 20 + whole[35:])


def test_stream_and_bgzf(tmp_path: Path) -> None:
    path = tmp_path / "r.fastq.gz"
    with pysam.BGZFile(str(path), "w") as stream:
        stream.write(b"@a\nACGT\n+\nIIII\n" * 20_000)
    with path.open("rb") as opened:
        from_stream = rows(list(read_fastq(opened)))
        assert not opened.closed
    assert from_stream == rows(list(read_fastq(path))) == [("a", "ACGT", [40] * 4)] * 20_000


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.fastq"
    path.write_bytes(b"@a\nACGT\n+\nIIII\n")
    with path.open("r") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert rows(list(read_fastq("-"))) == [("a", "ACGT", [40] * 4)]
