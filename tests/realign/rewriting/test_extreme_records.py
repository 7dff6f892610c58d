"""Records of extreme sizes and numbers after moves, against the same computed by columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hapgpu.io.bam.decode import block_of
from hapgpu.io.bam.header import SamHeader
from hapgpu.realign.records.rewriter import Rewriter, WrittenReads
from hapgpu.realign.selection.choice import NO_SCORE
from hapgpu.runtime.pool import Pool
from tests.io.bam.encoded_blocks import encode_records
from tests.io.sam_oracle import Row, batch_of
from tests.io.text.tight import TightBuilder
from tests.realign.rewriting import columns_oracle
from tests.realign.rewriting.test_rewriter import New, records_of, table_of

CONTIG = "c" * 100_000
HEADER = SamHeader.from_references([CONTIG, "two"], [2**29, 2**29])
LARGEST = 2**31 - 1
MATCH, INSERTION = 0, 1
MAX_POSITION = 2**29 - 2


def long_cigar(operations: int) -> tuple[tuple[int, int], ...]:
    return (((MATCH, 1), (INSERTION, 1)) * operations)[:operations]


def row_of(operations: int, kind: str, distance: int) -> Row:
    tags = (
        ("AS", "i", -LARGEST - 1),
        ("NM", kind, distance),
        ("OA", "Z", f"{CONTIG},1,-,7M,0,;" * 3),
        ("MC", "Z", "100000M" * 100),
        ("SA", "Z", f"{CONTIG},{MAX_POSITION + 1},+,7M,255,{LARGEST};two,6,-,7M,0,0;"),
        *((f"{first}Z", "Z", "z" * 10_000) for first in "abcdefghij"),
    )
    cigar, bases = long_cigar(operations), "ACGTN" * operations
    return Row(
        name="n" * 254,
        flag=65,
        reference=0,
        position=MAX_POSITION,
        mapping_quality=255,
        cigar=cigar,
        mate_reference=0,
        mate_position=7,
        template_length=-LARGEST,
        bases=bases[:operations],
        qualities=(93,) * operations,
        tags=tags,
    )


@pytest.mark.parametrize("operations", [7, 65_535, 65_536, 70_001])
@pytest.mark.parametrize(
    ("kind", "distance"),
    [("C", 255), ("c", -128), ("s", -(2**15)), ("i", -(2**31)), ("I", 2**32 - 1)],
)
def test_long_texts_and_large_numbers(
    operations: int, kind: str, distance: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no room for a record, the block is written again to memory of its size."""
    monkeypatch.setattr("hapgpu.realign.records.rewriter.TextBuilder", TightBuilder)
    first = row_of(operations, kind, distance)
    second = replace(first, flag=129, position=7, mate_position=MAX_POSITION, qualities=None)
    supplementary = replace(first, flag=2113, position=9)
    unmoved = replace(first, name="unmoved")
    rows = [unmoved, first, supplementary, unmoved, second]
    cigar, text = long_cigar(operations), "9A" * 50_000
    new: list[New] = [(LARGEST - operations, cigar, text, LARGEST, -LARGEST)]
    new.append((0, ((MATCH, operations),), "", -LARGEST, NO_SCORE))
    table = table_of([first, second], new)
    with Pool(1) as pool:
        block = block_of(encode_records(batch_of(rows), HEADER, pool), 2, pool)
    rewriter = Rewriter(table, HEADER, WrittenReads(), "x.bam", is_sorted=False)
    found = rewriter(block)
    assert found.changed == 3
    assert records_of(found) == columns_oracle.rewritten(block, table, HEADER)
