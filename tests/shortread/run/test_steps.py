"""Blocks mapped in steps of little memory: the same records as at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hapgpu.io.fastx.read_block import TextBlock
from hapgpu.runtime.pipeline import results_of
from hapgpu.shortread import cpu
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.sam.tables import SamOptions
from hapgpu.shortread.search.cpu import search, search_step
from hapgpu.shortread.search.hits import SearchLimits, SearchOptions
from tests.example_counts import many
from tests.shortread.index_oracle import index_of
from tests.shortread.run.hard_reads import block_of, cut_lines, hard_index, hard_reads
from tests.shortread.search_oracle import pack

OPTIONS = st.builds(
    SamOptions,
    best=st.booleans(),
    max_hits=st.none() | st.sampled_from([1, 2, 100, 3000]),
    unmapped=st.booleans(),
    read_group=st.none() | st.just("x"),
    secondary_seq=st.booleans(),
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> FMIndexArrays:
    return hard_index(tmp_path_factory.mktemp("hard"))


class Budgets(NamedTuple):
    """The limits of a step."""

    rows: int
    hits: int
    text: int
    parts: int


WHOLE = Budgets(10**9, 10**6, 10**9, 1)


@contextmanager
def limited_to(budgets: Budgets) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in budgets._asdict().items():
            patch.setattr(cpu, f"_MAX_{name.upper()}", value)
        yield


def results(index: FMIndexArrays, reads: list[str], options: SamOptions) -> list[TextBlock]:
    mapper = cpu.CpuMapper(index, SearchOptions(), options)
    return list(results_of(mapper, block_of(reads)))


def joined(blocks: list[TextBlock]) -> tuple[str, dict[str, int]]:
    whole = TextBlock.joined(blocks)
    return whole.text.tobytes().decode(), dict(Counter(whole.counts))


# Parts of one record, of which one is a read without hits.
@example(Budgets(10**6, 10**6, 1, 1), [1, 60, 61, 26, 62, 2], SamOptions())
@example(Budgets(1, 10**6, 1, 1), [61, 61, 26, 60, 1, 62], SamOptions(best=True))
@settings(max_examples=many(150), deadline=None)
@given(
    budgets=st.builds(
        Budgets,
        rows=st.sampled_from([1, 10, 300, 5000, 10**6]),
        hits=st.sampled_from([700, 2500, 10**6]),
        text=st.sampled_from([10**4, 10**5, 10**7]),
        parts=st.sampled_from([1, 2, 16]),
    ),
    reads=st.lists(st.integers(0, 64), max_size=8),
    options=OPTIONS,
)
def test_small_budgets_change_nothing(
    index: FMIndexArrays,
    budgets: Budgets,
    reads: list[int],
    options: SamOptions,
) -> None:
    chosen = [hard_reads(index)[number] for number in reads]
    with limited_to(WHOLE):
        whole = results(index, chosen, options)
    with limited_to(budgets):
        divided = results(index, chosen, options)
    assert len(whole) == 1
    assert joined(divided) == joined(whole)
    longest = max((len(line) + 1 for line in joined(whole)[0].splitlines()), default=0)
    room = 400 + 200  # the bound of a line, and of its bases and qualities
    assert all(block.text.size <= max(budgets.text, longest, room) for block in divided)


@pytest.mark.parametrize("best", [False, True])
@pytest.mark.parametrize("max_hits", [None, 1, 2000])
def test_limited_records_are_the_first_of_all(
    index: FMIndexArrays, max_hits: int | None, best: bool
) -> None:
    reads = hard_reads(index)
    every, _ = joined(results(index, reads, SamOptions()))
    expected = cut_lines(every.splitlines(), max_hits, best=best)
    for hits in (10**6, 1000):
        with limited_to(Budgets(4000, hits, 10**5, 3)):
            text, counts = joined(results(index, reads, SamOptions(best=best, max_hits=max_hits)))
        assert text.splitlines() == expected
        assert counts["records"] == len(expected)
        assert counts["reads"] == len(reads)


@pytest.mark.parametrize("most", [1, 700, 3000, 10**6])
def test_the_least_hits_are_kept_and_all_are_counted(index: FMIndexArrays, most: int) -> None:
    reads = pack(hard_reads(index))
    every = search(index, reads, SearchOptions())
    found = search_step(index, reads, SearchOptions(), SearchLimits(hits=most))
    assert len(found) == len(reads)
    for read in range(len(reads)):
        hits = every.hits[every.offsets[read] : every.offsets[read + 1]]
        kept = found.hits[found.offsets[read] : found.offsets[read + 1]]
        assert min(most, hits.size) <= kept.size <= max(2 * most, 4096)
        np.testing.assert_array_equal(kept, hits[: kept.size])
        exact = int((hits < 1 << 62).sum())
        assert (found.exact[read], found.inexact[read]) == (exact, hits.size - exact)


@pytest.mark.parametrize("most", [500, 4000])
def test_later_hits_of_a_read(index: FMIndexArrays, most: int) -> None:
    reads = pack(["A" * 30])
    every = search(index, reads, SearchOptions()).hits
    assert every.size > 5900
    after, found = 0, []
    while True:
        kept = search_step(index, reads, SearchOptions(), SearchLimits(hits=most, after=after))
        assert kept.exact[0] + kept.inexact[0] == every.size
        if not kept.hits.size:
            break
        found += kept.hits.tolist()
        after = found[-1]
    assert found == every.tolist()


def test_a_step_ends_with_the_read_that_reaches_the_limit(index: FMIndexArrays) -> None:
    reads = pack(["GATTACA" * 5, "A" * 30, "A" * 30, "GATTACA" * 5])
    for rows, searched in ((1, 2), (5000, 2), (12_000, 3), (10**6, 4)):
        found = search_step(index, reads, SearchOptions(), SearchLimits(rows=rows))
        assert len(found) == searched


def test_a_limit_is_reached_by_the_last_of_some_positions() -> None:
    homopolymer, reads = index_of(["A" * 2500]), pack(["A" * 30, "A" * 30])
    options = SearchOptions(errors=0, forward_only=True)
    for rows in (2**k for k in range(12)):
        assert len(search_step(homopolymer, reads, options, SearchLimits(rows=rows))) == 1


def test_a_limit_is_reached_after_hundreds_of_reads() -> None:
    contigs = ["A" * 2500, "CGTTGACCATACGGTTAGCAAGCTCGTATC"]
    reads, options = pack([*[contigs[1]] * 300, "A" * 30]), SearchOptions(forward_only=True)
    every = search(index_of(contigs), reads, options)
    found = search_step(index_of(contigs), reads, options, SearchLimits(rows=1000))
    np.testing.assert_array_equal(found.offsets, every.offsets)
    np.testing.assert_array_equal(found.hits, every.hits)


@pytest.mark.parametrize(("after", "kept"), [(0, [1 << 62]), (1 << 62, [])])
def test_the_least_hit_with_an_error_is_no_exact_hit(after: int, kept: list[int]) -> None:
    """A base inserted before the first base of the reference: all parts but the distance are 0."""
    contig = "CGTTGACCATACGGTTAGCAAGCTCGTATC"
    reads, limits = pack(["T" + contig[:24]]), SearchLimits(after=after)
    found = search_step(index_of([contig]), reads, SearchOptions(), limits)
    assert found.hits.tolist() == kept
    assert (found.exact[0], found.inexact[0]) == (0, 1)
