"""Lines of SAM become the records that samtools makes of them, or are left to it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.io.bam.sam_lines import encode_lines
from hapgpu.io.text.builder import built_text
from hapgpu.io.text.name_table import NameTable, name_table
from tests.example_counts import many
from tests.io.sam_texts import NAMES, as_text, by_samtools, lines

CONTIGS = name_table(NAMES)
LINE = b"r\t16\tchr1\t5\t60\t2S3M1I2D4M\t=\t90\t-80\tACGTACGTAN\tIIIIIHHHH!\tNM:i:3\tXZ:Z:a b"
_BYTES = b"\t\n\r\0 *0123456789+-.,:;=@ABCcEefHIiMNSZadnx\x7f\x80\xff"


def encoded(text: NDArray[np.uint8]) -> tuple[int, bytes]:
    """Return the offset up to which lines are converted, and the records."""
    at, out = encoded_with(text, CONTIGS)
    return at, out.tobytes()


def encoded_with(text: NDArray[np.uint8], contigs: NameTable) -> tuple[int, NDArray[np.uint8]]:
    """Encode with memory that is too small at first; no byte after it may be written."""
    text = text.view()
    text.flags.writeable = False
    at = 0

    def write(out: NDArray[np.uint8]) -> int:
        nonlocal at
        guarded = np.full(out.size + 8, 0xEE, dtype=np.uint8)
        at, end = map(int, encode_lines(text, contigs, 0, guarded[:-8], 0))
        assert (guarded[-8:] == 0xEE).all()
        out[:] = guarded[:-8]
        return end

    records = built_text(write, text.size // 3)
    return at, records


def converted(rows: Sequence[bytes]) -> list[bytes]:
    """Return the lines that are converted, each by itself, after a check that it ends the text."""
    found = []
    for row in rows:
        text = as_text([row])
        if encoded(text)[0] == text.size and b"\n" not in row:
            found.append(row)
    return found


@settings(max_examples=many(150))
@given(st.lists(lines(), max_size=20))
def test_records_of_samtools(rows: list[bytes]) -> None:
    text = as_text(rows)
    at, records = encoded(text)
    usual = converted(rows)
    if len(usual) == len(rows):
        assert at == text.size
        assert records == by_samtools(rows)
    else:
        assert b"".join(encoded(as_text([row]))[1] for row in usual) == by_samtools(usual)


@given(lines())
def test_few_lines_are_left_to_samtools(row: bytes) -> None:
    """Decimals halfway between two float32, and decimals with a large exponent."""
    plain = b"\t".join(field for field in row.split(b"\t") if field[3:5] not in {b"f:", b"B:"})
    assert converted([plain]) == [plain]


def damaged(row: bytes, random: Random) -> bytes:
    """Return a line with a few bytes replaced, inserted, removed or repeated."""
    data = bytearray(row)
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        at = random.randrange(len(data) + 1)
        choice = random.randrange(5)
        if choice == 0:
            data[at : at + 1] = bytes([random.choice(_BYTES)])
        elif choice == 1:
            data[at:at] = bytes(random.choices(_BYTES, k=random.choice([1, 1, 2, 12])))
        elif choice == 2:
            del data[at : at + random.choice([1, 1, 5])]
        elif choice == 3:
            del data[at:]
        else:
            fields = bytes(data).split(b"\t")
            fields.insert(random.randrange(len(fields) + 1), random.choice(fields))
            del fields[random.randrange(len(fields))]
            data = bytearray(b"\t".join(fields))
    return bytes(data).replace(b"\n", b"")


@settings(max_examples=many(300))
@given(lines(), st.integers(0, 2**32))
def test_damaged_lines(row: bytes, seed: int) -> None:
    """What is converted is what samtools makes; a line that it refuses is not converted."""
    random = Random(seed)  # noqa: S311  (reproducible data, not secrets)
    rows = converted([damaged(row, random) for _ in range(150)])
    expected = by_samtools(rows)
    if b"".join(encoded(as_text([row]))[1] for row in rows) != expected:
        for each in rows:
            assert encoded(as_text([each]))[1] == by_samtools([each]), each


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"r\t", b"\t"),
        (b"r\t", b"r" * 255 + b"\t"),
        (b"\t16\t", b"\t016\t"),
        (b"\t16\t", b"\t0x10\t"),
        (b"\t16\t", b"\t65536\t"),
        (b"chr1", b"chr"),
        (b"chr1", b"chr10"),
        (b"\t5\t", b"\t+5\t"),
        (b"\t5\t", b"\t\t"),
        (b"\t5\t", b"\t2147483649\t"),
        (b"\t60\t", b"\t256\t"),
        (b"2D", b"2B"),
        (b"2D", b"D"),
        (b"2D", b"268435456D"),
        (b"4M", b"5M"),
        (b"4M", b"4M1"),
        (b"-80", b"--80"),
        (b"-80", b"-2147483649"),
        (b"!\t", b"\t"),
        (b"!\t", b" \t"),
        (b"AN\t", b"A\x00\t"),
        (b"NM:i:3", b""),
        (b"NM:i:3", b"NM:i:"),
        (b"NM:i:3", b"NM:i:-"),
        (b"NM:i:3", b"NM:i:+3"),
        (b"NM:i:3", b"NM:i:3 "),
        (b"NM:i:3", b"NM:i:3.0"),
        (b"NM:i:3", b"NM:i:4294967296"),
        (b"NM:i:3", b"NM:i:-2147483649"),
        (b"NM:i:3", b"NM:A:33"),
        (b"NM:i:3", b"NM:A:"),
        (b"NM:i:3", b"NM:H:333"),
        (b"NM:i:3", b"NM:f:nan"),
        (b"NM:i:3", b"NM:f:0x1p3"),
        (b"NM:i:3", b"NM:f:1e"),
        (b"NM:i:3", b"NM:f:."),
        (b"NM:i:3", b"NM:f:1.00000005960464477539062500000000001"),
        (b"NM:i:3", b"NM:f:1e9999999999"),
        (b"NM:i:3", b"NM:d:1"),
        (b"NM:i:3", b"NM:B:"),
        (b"NM:i:3", b"NM:B:c,128"),
        (b"NM:i:3", b"NM:B:C,-1"),
        (b"NM:i:3", b"NM:B:i,1,"),
        (b"NM:i:3", b"NM:B:A,1"),
        (b"NM:i:3", b"NM:B:Z"),
        (b"NM:i:3", b"NM:B"),
        (b"NM:i:3", b"CG:B:I,160,80"),
        (b"NM:i:3", b"NM:i:3\t"),
        (b"NM:i:3", b"1:N:0:ACGT"),
        (b"NM:i:3", b"NM"),
        (b"a b", b"a b\r"),
        (b"a b", b"a\x00b"),
        (b"a b", b"a b\t"),
        (LINE, b""),
        (LINE, LINE[:30]),
    ],
)
def test_unusual_lines_are_left_to_samtools(old: bytes, new: bytes) -> None:
    assert converted([LINE]) == [LINE]
    assert old in LINE
    damaged_line = LINE.replace(old, new)
    assert encoded(as_text([damaged_line, LINE])) == (0, b"")
    at, records = encoded(as_text([LINE, damaged_line, LINE]))
    assert at == len(LINE) + 1
    assert records == by_samtools([LINE])


@pytest.mark.parametrize("operations", [65_534, 65_535, 65_536, 70_001])
@pytest.mark.parametrize("has_bases", [False, True])
def test_long_cigars(operations: int, has_bases: bool) -> None:
    cigar = ("1M1I" * operations)[: 2 * operations]
    bases = "ACGTN" * operations
    sequence = bases[:operations] if has_bases else "*"
    row = f"r\t0\tchr1\t100\t60\t{cigar}\t*\t0\t0\t{sequence}\t*\tXX:Z:end".encode()
    assert converted([row]) == [row]
    assert encoded(as_text([row]))[1] == by_samtools([row])


def test_long_deletions() -> None:
    """A CIGAR of many operations that spans 2**28 bases cannot be in BAM."""
    row = b"r\t0\tchr1\t1\t60\t%s1M\t*\t0\t0\tA\tI" % (b"100000D1P" * 40_000)
    assert converted([row]) == []
    assert by_samtools([row]) is None


def test_many_contigs() -> None:
    names = [f"contig_{k:07}" for k in range(200_000)]
    table = name_table(names)
    random = Random(5)  # noqa: S311  (reproducible data, not secrets)
    chosen = [random.randrange(len(names)) for _ in range(5000)]
    text = as_text([f"r\t0\t{names[k]}\t1\t0\t1M\t*\t0\t0\tA\tI".encode() for k in chosen])
    at, out = encoded_with(text, table)
    assert at == text.size
    found = out.reshape(len(chosen), -1)[:, 4:8].copy().view(np.int32)
    assert found.ravel().tolist() == chosen


def test_no_contigs() -> None:
    text = as_text([b"r\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI", b"r\t4\tx\t0\t0\t*\t*\t0\t0\tA\tI"])
    at, _ = encoded_with(text, name_table([]))
    assert at == text.size // 2
