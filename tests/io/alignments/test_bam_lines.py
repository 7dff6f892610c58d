"""BAM of lines of SAM: as samtools makes it, also of unusual lines, in blocks of any size."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import OutputError
from hapgpu.io.alignments.bam_lines import BamLines
from hapgpu.io.alignments.text_pipeline import LineOutput, open_sam_text
from hapgpu.io.bam.header import encode_header
from hapgpu.io.fastx.read_block import TextBlock
from hapgpu.runtime.output import Divided
from tests.example_counts import many
from tests.io.bam.test_sam_lines import damaged
from tests.io.sam_texts import HEADER, as_text, by_samtools, lines

CONVERT = BamLines(HEADER, "out.bam")
LINE = b"r%d\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\tNM:i:1"
UNUSUAL = [
    b"@r\t0\tchr1\t+5\t60\t4M\t*\t0\t0\tACGT\tIIII",
    b"x\t0x10\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\tXF:f:nan\tXD:d:1.5",
    b"y\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\tXB:B:c,300\tXI:i:3 and more",
    b"\t0\tno_contig\t5\t60\t4M\t=\t7\t0\tACGT\tIIII\tXX:i:3\t",
    b"z\t0\tchr1\t5\t60\t4S3N\t*\t0\t0\tACGT\tIIII\tCG:B:I,64,51",
]
BAD = b"bad\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\t1:N:0:ACGT"


def test_unusual_lines() -> None:
    usual = [LINE % k for k in range(6)]
    for row in UNUSUAL:
        assert CONVERT(as_text([row])).tobytes() == by_samtools([row])
    rows = [UNUSUAL[0], *usual[:3], *UNUSUAL[1:4], *usual[3:], UNUSUAL[4]]
    assert CONVERT(as_text(rows)).tobytes() == by_samtools(rows)
    pieces = [CONVERT(as_text(rows[k : k + 2])).tobytes() for k in range(0, len(rows), 2)]
    assert b"".join(pieces) == by_samtools(rows)


def test_a_first_name_that_starts_with_at_is_a_name() -> None:
    """In a file, samtools would treat the line as one of the header."""
    row = b"@" + LINE % 1
    assert CONVERT(as_text([row])).tobytes() == by_samtools([row])


@settings(max_examples=many(30))
@given(st.lists(lines(), min_size=1, max_size=5), st.integers(0, 2**32))
def test_damaged_lines(rows: list[bytes], seed: int) -> None:
    """Either the records of samtools, or an error, as samtools has one."""
    random = Random(seed)  # noqa: S311  (reproducible data, not secrets)
    rows[random.randrange(len(rows))] = damaged(rows[0], random)
    expected = by_samtools(rows)
    try:
        found = CONVERT(as_text(rows)).tobytes()
    except OutputError:
        found = None
    assert found == expected


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (BAD, "read 'bad': unrecognized type ':'"),
        (BAD[:-6], "read 'bad': Incomplete aux field"),
        (b"no record", "read 'no record': not a SAM record"),
        (b"", "read '': not a SAM record"),
        (b"n\xff\x01" + BAD, "read 'n\ufffd\\x01bad': unrecognized type ':'"),
    ],
)
def test_lines_that_samtools_refuses(row: bytes, reason: str) -> None:
    with pytest.raises(OutputError) as error:
        CONVERT(as_text([LINE % 1, UNUSUAL[1], LINE % 2, row, BAD]))
    assert str(error.value) == f"out.bam: cannot be written as BAM ({reason})"


def test_texts() -> None:
    row = LINE % 7
    expected = by_samtools([row])
    assert CONVERT(np.empty(0, dtype=np.uint8)).size == 0
    assert CONVERT(np.frombuffer(row, dtype=np.uint8)).tobytes() == expected
    again = pickle.loads(pickle.dumps(CONVERT))  # noqa: S301  (made here)
    assert again(as_text([row])).tobytes() == expected
    with pytest.raises(OutputError, match=r"^out\.bam: "):
        again(as_text([BAD]))


def test_workers_convert_their_lines(tmp_path: Path) -> None:
    """The content depends neither on how the lines are divided, nor on the number of threads."""
    rows = [LINE % k for k in range(60_000)]
    contents = set()
    for threads, step in (1, 7000), (4, 1311):
        path = tmp_path / f"{threads}.bam"
        with open_sam_text(str(path), HEADER, threads=threads) as output:
            (worker,) = output.wrapped([lambda block: TextBlock(as_text(block), {"reads": 1})])
            for start in range(0, len(rows), step):
                block = worker(rows[start : start + step])
                assert isinstance(block, TextBlock)
                assert block.counts == {"reads": 1}
                output.write(block.text.data)
        contents.add(gzip.decompress(path.read_bytes()))
    (content,) = contents
    assert content == encode_header(HEADER) + (by_samtools(rows) or b"")


def test_workers_that_divide_their_blocks(tmp_path: Path) -> None:
    lines_of = TextBlock(as_text([LINE % 1]), {"reads": 1})
    with open_sam_text(str(tmp_path / "x.bam"), HEADER) as output:
        (worker,) = output.wrapped([lambda _block: Divided(lines_of, ["the rest"])])
        divided = worker("a block")
        assert isinstance(divided, Divided)
        assert divided.rest == ["the rest"]
        assert divided.result.text.tobytes() == by_samtools([LINE % 1])


def test_an_error_discards_the_file(tmp_path: Path) -> None:
    def write(output: LineOutput) -> None:
        output.write(CONVERT(as_text([LINE % 1] * 20_000)).data)
        CONVERT(as_text([BAD]))

    path = tmp_path / "x.bam"
    with pytest.raises(OutputError), open_sam_text(str(path), HEADER, threads=2) as output:
        write(output)
    assert not list(tmp_path.iterdir())
