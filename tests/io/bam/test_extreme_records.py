"""BAM records of extreme sizes and numbers: from columns, back to columns, and from lines."""

from __future__ import annotations

import struct
from array import array

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.io.alignments.bam_lines import BamLines
from hapgpu.io.bam.decode import decode_block
from hapgpu.io.bam.header import SamHeader
from hapgpu.runtime.pool import Pool
from tests.io.bam.encoded_blocks import encode_block
from tests.io.sam_oracle import Row, batch_of, batch_rows, encoded_tags
from tests.io.sam_texts import HEADER as SAMTOOLS_HEADER
from tests.io.sam_texts import NAMES, as_text, by_samtools
from tests.io.text.tight import TightBuilder

HEADER = SamHeader.from_references(["one", "two"], [2**29, 2**29])
CODES = "=ACMGRSVTWYHKDBN"
LIMITS = {"b": (-(2**7), 2**7 - 1), "h": (-(2**15), 2**15 - 1), "i": (-(2**31), 2**31 - 1)}
LIMITS |= {"B": (0, 2**8 - 1), "H": (0, 2**16 - 1), "I": (0, 2**32 - 1)}
KINDS = {"b": "c", "h": "s", "i": "i", "B": "C", "H": "S", "I": "I"}
TAGS = (
    ("XZ", "Z", "z" * 100_000),
    ("XH", "H", "0F" * 5000),
    ("XA", "A", "~"),
    *(("XB", "B", array(code, ends * 10_000)) for code, ends in LIMITS.items()),
    *((f"X{k}", KINDS[code], ends[k]) for code, ends in LIMITS.items() for k in range(2)),
)


def rows_of(operations: int) -> list[Row]:
    """Return the shortest read, one of the longest, and one with numbers of either sign."""
    cigar = ((0, 1), (1, 1)) * (operations // 2) + ((0, 1),) * (operations % 2)
    bases = (CODES * operations)[:operations]
    qualities = tuple(k % 255 for k in range(operations))
    large = Row(
        "n" * 254, 65535, 1, 2**29 - 1, 255, cigar, 1, 2**31 - 2, 2**31 - 1, bases, qualities, TAGS
    )
    short = Row("*", 0, -1, -1, 0, (), -1, -1, -(2**31), "", None, ())
    odd = Row("odd", 16, 0, 0, 1, ((0, 3),), 0, 0, -1, "NAC", None, (("NM", "c", -128),))
    return [short, large, odd]


def encoded(row: Row) -> bytes:
    """Encode a row in plain Python, as the specification says."""
    name = row.name.encode() + b"\0"
    span = sum(length for operation, length in row.cigar if operation in (0, 2, 3, 7, 8))
    operations = struct.pack(f"<{len(row.cigar)}I", *(n << 4 | op for op, n in row.cigar))
    tags, count = encoded_tags(row.tags), len(row.cigar)
    if count > 65535:
        tags += b"CGBI" + struct.pack("<i", count) + operations
        operations = struct.pack("<2I", len(row.bases) << 4 | 4, span << 4 | 3)
        count = 2
    codes = [*map(CODES.index, row.bases + "=" * (len(row.bases) % 2))]
    packed = bytes(high << 4 | low for high, low in zip(codes[::2], codes[1::2], strict=True))
    qualities = bytes(row.qualities or (255,) * len(row.bases))
    covered = 1 if row.flag & 4 else max(span, 1)
    number = bin_number(row.position, row.position + covered)
    body = struct.pack(
        "<iiBBHHHiiii",
        row.reference,
        row.position,
        len(name),
        row.mapping_quality,
        number,
        count,
        row.flag,
        len(row.bases),
        row.mate_reference,
        row.mate_position,
        row.template_length,
    )
    body += name + operations + packed + qualities + tags
    return struct.pack("<i", len(body)) + body


def bin_number(start: int, end: int) -> int:
    """Return `reg2bin` of the specification of SAM."""
    for shift, first in (14, 4681), (17, 585), (20, 73), (23, 9), (26, 1):
        if start >> shift == (end - 1) >> shift:
            return (first + (start >> shift)) & 0xFFFF
    return 0


@pytest.mark.parametrize("operations", [3, 65_535, 65_536, 70_001])
def test_records_of_columns(operations: int) -> None:
    rows = rows_of(operations)
    with Pool(1) as pool:
        block = encode_block(batch_of(rows), HEADER, pool)
        assert block.data.tobytes() == b"".join(map(encoded, rows))
        found = batch_rows([decode_block(block, pool)])
    assert [*map(repr, found)] == [*map(repr, rows)]


LINES = [
    (
        f"{'n' * 254}\t65535\tHLA:A*01:01\t1000000000\t255\t{'1M1I' * 40_000}\t=\t2147483648\t"
        f"-2147483648\t{'=ACMGRSVTWYHKDBN' * 5000}\t{'!~' * 40_000}"
    ),
    "m\t0\tchr1\t1\t0\t*\t*\t0\t2147483647\t*\t*",
    f"u\t4\t*\t0\t0\t*\t*\t0\t0\t{'A' * 99_999}\t*",
]
FIELDS = [
    f"XZ:Z:{'z' * 100_000}",
    f"XH:H:{'0F' * 5000}",
    "XA:A:~",
    *(f"XI:i:{end}" for ends in LIMITS.values() for end in ends),
    *(f"XB:B:{KINDS[code]}{',{},{}'.format(*ends) * 10_000}" for code, ends in LIMITS.items()),
    f"XF:B:f{',-0.000123456,3.4028234e38' * 5000}",
    *(f"{first}{second}:Z:" for first in "abcdefghij" for second in "ABCDEFGHIJ"),
]


def as_records(lines: list[bytes], monkeypatch: pytest.MonkeyPatch) -> NDArray[np.uint8]:
    monkeypatch.setattr("hapgpu.io.alignments.bam_lines.TextBuilder", TightBuilder)
    return BamLines(SAMTOOLS_HEADER, "out.bam")(as_text(lines))


@pytest.mark.parametrize("fields", [[], FIELDS])
def test_records_of_lines(fields: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert SAMTOOLS_HEADER.reference_names == NAMES
    lines = ["\t".join([line, *fields]).encode() for line in LINES]
    assert as_records(lines, monkeypatch).tobytes() == by_samtools(lines)


def test_unusual_lines_are_found_where_there_was_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Qualities and bases are checked when they are written."""
    usual = b"r\t0\tchr1\t5\t60\t1000M\t*\t0\t0\t%s\t%s" % (b"A" * 1000, b"I" * 1000)
    tab = usual[:-500] + b"\x7f" + usual[-499:]
    lines = [usual, tab, usual, usual.replace(b"chr1\t5", b"chr1\t005"), tab]
    assert as_records(lines, monkeypatch).tobytes() == by_samtools(lines)
