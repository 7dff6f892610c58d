"""Text of reads of extreme sizes and numbers, SAM and FASTQ, against Python's formatting."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import view_of
from hapgpu.io.alignments.record_texts import (
    BAD_NAME,
    BAD_TAG,
    EXCLUDED,
    FASTA,
    FASTQ,
    SOUND,
    TOO_LONG,
    TextPart,
    measure_texts,
    write_texts,
)
from hapgpu.io.alignments.sam_records import format_records
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.record_layout import RecordBlock
from hapgpu.io.text.builder import built_text
from hapgpu.runtime.pool import Pool
from tests.io.bam.encoded_blocks import encode_block
from tests.io.bam.test_extreme_records import rows_of
from tests.io.sam_oracle import Row, TagValue, batch_of
from tests.io.text.tight import TightBuilder

CONTIGS = ["c" * 100_000, "two"]
HEADER = SamHeader.from_references(CONTIGS, [2**29, 2**29])
FLOATS = (("XF", "f", -0.000123456), ("YF", "B", array("f", [1e30, -1e-30] * 1000)))
COMPLEMENTS = str.maketrans("=ACMGRSVTWYHKDBN", "=TGKCYSBAWRDMHVN")


def tag_text(name: str, kind: str, value: TagValue) -> str:
    if isinstance(value, array):
        element = {"b": "c", "h": "s", "i": "i", "B": "C", "H": "S", "I": "I", "f": "f"}
        numbers = (f"{x:g}" if value.typecode == "f" else str(x) for x in value)
        return f"\t{name}:B:{','.join([element[value.typecode], *numbers])}"
    if kind in "AZH":
        return f"\t{name}:{kind}:{value}"
    return f"\t{name}:f:{value:g}" if kind == "f" else f"\t{name}:i:{value}"


def line(row: Row) -> str:
    names = [*CONTIGS, "*"]
    mate = names[row.mate_reference]
    numbers = (f"{length}{'MIDNSHP=X'[operation]}" for operation, length in row.cigar)
    qualities = "".join(chr(33 + min(q, 93)) for q in row.qualities or ())
    fields = (
        row.name,
        row.flag,
        names[row.reference],
        row.position + 1,
        row.mapping_quality,
        "".join(numbers) or "*",
        "=" if row.reference == row.mate_reference >= 0 else mate,
        row.mate_position + 1,
        row.template_length,
        row.bases or "*",
        qualities or "*",
    )
    return "\t".join(map(str, fields)) + "".join(tag_text(*tag) for tag in row.tags) + "\n"


@pytest.mark.parametrize("operations", [3, 70_001])
def test_lines_of_sam(operations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hapgpu.io.alignments.sam_records.TextBuilder", TightBuilder)
    rows = [replace(row, tags=row.tags + FLOATS) for row in rows_of(operations)]
    rows += [replace(rows[1], reference=0, mate_reference=1), replace(rows[1], mate_reference=0)]
    names = view_of(Ragged.from_names(HEADER.reference_names))
    with Pool(1) as pool:
        (text,) = format_records(batch_of(rows), HEADER, names, pool)
    assert text.tobytes().decode() == "".join(map(line, rows))


def texts_of(
    rows: list[Row], form: int, *, with_comments: bool, max_bytes: int = 2**40
) -> tuple[str, int, int, int]:
    """Return the text of reads, their number, the end of the sound rows, and a fault."""
    with Pool(1) as pool:
        block = encode_block(batch_of(rows), HEADER, pool)
    part = TextPart(0, len(rows), form, with_comments, max_bytes)
    kinds = np.empty(len(rows), dtype=np.uint8)
    sizes = np.empty(len(rows), dtype=np.int64)
    measure_texts(block.data, block.layout, with_comments, kinds, sizes)
    text, found = written(block, kinds, part)
    assert text.size <= sizes.sum()
    return (text.tobytes().decode(), *found)


def written(
    block: RecordBlock, kinds: NDArray[np.uint8], part: TextPart
) -> tuple[NDArray[np.uint8], tuple[int, int, int]]:
    found = (0, 0, 0)

    def write(out: NDArray[np.uint8]) -> int:
        nonlocal found
        end, *rest = map(int, write_texts(block.data, block.layout, kinds, part, out))
        found = (rest[0], rest[1], rest[2])
        return end

    text = built_text(write, 1)
    return text, found


def read_text(row: Row, form: int, *, with_comments: bool) -> str:
    comment = "".join(tag_text(*tag) for tag in row.tags if tag[0] != "NM")
    bases, qualities = row.bases, "".join(chr(33 + min(q, 93)) for q in row.qualities or ())
    if row.flag & 16:
        bases, qualities = bases.translate(COMPLEMENTS)[::-1], qualities[::-1]
    head = f"{'@' if form == FASTQ else '>'}{row.name}{comment if with_comments else ''}\n{bases}\n"
    return f"{head}+\n{qualities}\n" if form == FASTQ else head


def unpaired(operations: int) -> list[Row]:
    """Return reads of both strands, and a secondary alignment."""
    rows = [replace(row, tags=row.tags + FLOATS) for row in rows_of(operations)]
    rows = [replace(row, flag=flag) for row in rows for flag in (0, 16)]
    return [*rows[:3], replace(rows[3], flag=0x100), *rows[3:]]


@pytest.mark.parametrize("form", [FASTQ, FASTA])
@pytest.mark.parametrize("with_comments", [False, True])
@pytest.mark.parametrize("operations", [3, 70_001])
def test_reads_as_text(form: int, operations: int, *, with_comments: bool) -> None:
    rows = [row for row in unpaired(operations) if form == FASTA or row.qualities]
    reads = [row for row in rows if row.flag != 0x100]
    found, *rest = texts_of(rows, form, with_comments=with_comments)
    assert found == "".join(read_text(row, form, with_comments=with_comments) for row in reads)
    assert rest == [len(reads), len(rows), SOUND]


@pytest.mark.parametrize("fault", [BAD_NAME, BAD_TAG, TOO_LONG])
def test_reads_before_a_fault(fault: int) -> None:
    """A fault is found, too, in a text that does not fit at first."""
    row = rows_of(1000)[1]
    row = replace(row, flag=16, tags=(("XZ", "Z", "x" * 500),))
    changed: dict[int, dict[str, Any]] = {
        BAD_NAME: {"name": "a b"},
        BAD_TAG: {"tags": (("XZ", "Z", "a\tb"),)},
        TOO_LONG: {"tags": (("XZ", "Z", "x" * 5000),)},
    }
    bad = replace(row, **changed[fault])
    found, *rest = texts_of([row, row, bad, row], FASTQ, with_comments=True, max_bytes=5000)
    assert found == read_text(row, FASTQ, with_comments=True) * 2
    assert rest == [2, 2, fault]


def test_excluded_records() -> None:
    rows = [replace(row, flag=0x800) for row in rows_of(3)]
    assert texts_of(rows, FASTQ, with_comments=True) == ("", 0, 3, SOUND)
    assert EXCLUDED == 0
