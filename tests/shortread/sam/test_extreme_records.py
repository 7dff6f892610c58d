"""SAM records of extreme sizes, and cut at any size, against a plain formatter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.io.text.builder import SLACK, built_text
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
    monkeypatch.setattr(cpu, "built_text", lambda write, _: built_text(write, 1))
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


def reserved_sizes(
    case: Case, options: SamOptions, max_size: int, monkeypatch: pytest.MonkeyPatch
) -> list[list[int]]:
    """Return, for each block, the sizes of the memory to which it was written."""
    reserved: list[list[int]] = []

    def built(write: Callable[[np.ndarray], int], expected: int) -> np.ndarray:
        sizes: list[int] = []
        reserved.append(sizes)

        def counted(out: np.ndarray) -> int:
            sizes.append(out.size)
            return write(out)

        return built_text(counted, expected)

    monkeypatch.setattr(cpu, "built_text", built)
    blocks, _ = blocks_of(case, options, max_size)
    assert len(blocks) == len(reserved)
    return reserved


@pytest.mark.parametrize("max_size", [50_000, 2**62])
@pytest.mark.parametrize("secondary_seq", [False, True])
@pytest.mark.parametrize("length", [50, 150, 2000])
def test_no_text_is_written_twice(
    length: int, secondary_seq: bool, max_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where most records of the first texts are short, and of the last ones long."""
    reads = [Read("n" * 40 + str(k), "A" * length, "I" * length) for k in range(200)]
    many_hits = [Hit(0, start, 0, UNGAPPED, 0) for start in range(50)]
    hits = [many_hits] * 20 + [many_hits[:1]] * 100 + [[]] * 80
    case = Case({"contig": "ACGT" * 1000}, reads, hits, [False] * len(reads))
    options = SamOptions(read_group="group", secondary_seq=secondary_seq)
    reserved = reserved_sizes(case, options, max_size, monkeypatch)
    assert [len(sizes) for sizes in reserved] == [1] * len(reserved)
    assert (len(reserved) == 1) == (max_size == 2**62)
    assert all(size <= max_size + SLACK for sizes in reserved for size in sizes)


def test_a_long_read_reserves_no_memory_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = [LONG, *[100] * 10_000]
    reads = [Read(str(k), "A" * length, "I" * length) for k, length in enumerate(lengths)]
    case = Case({"contig": "A" * 2 * LONG}, reads, [[]] * len(reads), [False] * len(reads))
    (sizes, *_) = reserved_sizes(case, SamOptions(), 2_000_000, monkeypatch)
    assert sizes == [2_000_000 + SLACK]
