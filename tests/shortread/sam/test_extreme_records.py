"""SAM records of extreme sizes, and cut at any size, against a plain formatter."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.io.text.builder import TextBuilder
from hapgpu.shortread.sam import cpu
from hapgpu.shortread.sam.cpu import Place, format_records
from hapgpu.shortread.sam.tables import SamOptions, sam_tables
from hapgpu.shortread.search.hits import DELETION, INSERTION, UNGAPPED
from tests.example_counts import many
from tests.shortread.sam.sam_oracle import (
    Case,
    Hit,
    Read,
    counts,
    index_of,
    kept_hits,
    random_case,
    sam_lines,
    text_of,
)

LONG = 100_000


def blocks_of(case: Case, options: SamOptions, max_size: int) -> tuple[list[bytes], dict[str, int]]:
    """Return the text of each block, and the counts of all."""
    text, spans = text_of(case.reads)
    tables, kept = sam_tables(index_of(case.contigs), options), kept_hits(case.hits)
    blocks, total, start = [], dict.fromkeys(counts(case, options), 0), Place(0, 0)
    while start.read < len(case.reads):
        block, start = format_records(tables, text, spans, kept, start=start, max_size=max_size)
        blocks.append(block.text.tobytes())
        total = {name: total[name] + block.counts[name] for name in total}
    return blocks, total


def long_case(qualities: str | None) -> Case:
    length = 150 if qualities is None else LONG
    bases = "ACGTN" * (length // 5)
    reads = [Read("n" * LONG + str(k), bases, qualities and qualities * length) for k in range(3)]
    hits = [Hit(0, 3, 0, UNGAPPED, 0), Hit(1, 3, 1, UNGAPPED, length - 1)]
    hits += [Hit(1, 4, 0, INSERTION, length - 1), Hit(1, 4, 1, DELETION, length // 2)]
    return Case({"r" * LONG: "ACGT" * (LONG // 2)}, reads, [hits, [], hits], [False] * 3)


@pytest.mark.parametrize("qualities", [None, "I"])
@pytest.mark.parametrize("max_size", [0, 1_000_000, 2**62])
def test_long_names_and_reads(
    qualities: str | None, max_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu, "_RECORDS", TextBuilder(1))
    case = long_case(qualities)
    options = SamOptions(read_group="g" * LONG, secondary_seq=True, max_hits=3)
    blocks, total = blocks_of(case, options, max_size)
    lines = [f"{line}\n".encode() for line in sam_lines(case, options)]
    assert b"".join(blocks) == b"".join(lines)
    assert total == counts(case, options)
    assert all(len(block) <= max_size or block in lines for block in blocks)
    assert (len(blocks) == len(lines)) == (max_size == 0)


@settings(max_examples=many(100))
@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 3000),
    st.builds(SamOptions, unmapped=st.booleans(), secondary_seq=st.booleans()),
)
def test_blocks_of_any_size(seed: int, max_size: int, options: SamOptions) -> None:
    case = random_case(seed)
    blocks, total = blocks_of(case, options, max_size)
    lines = [f"{line}\n".encode() for line in sam_lines(case, options)]
    assert b"".join(blocks) == b"".join(lines)
    assert total == counts(case, options)
    assert all(len(block) <= max_size or block in lines for block in blocks)
