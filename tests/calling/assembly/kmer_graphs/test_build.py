"""K-mer graphs against plain Python, and GATK's cases of threading."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.calling.assembly.kmer_graphs import CYCLIC, FAILED, READY, SHORT
from tests.calling.assembly.kmer_graphs.made_graphs import (
    built,
    paths_of,
    reads_of,
    shown,
    shown_plain,
)
from tests.calling.assembly.kmer_graphs.plain_branches import assembled
from tests.calling.assembly.kmer_graphs.plain_graph import PlainRead, Rules
from tests.example_counts import many

STATUS = {"ready": READY, "failed": FAILED, "short": SHORT, "cyclic": CYCLIC}


def assert_as_plain(reference: str, reads: list[PlainRead], rules: Rules) -> str:
    status, expected = assembled(reference, reads, rules)
    result = built(reference, reads, rules)
    assert result.status == STATUS[status]
    if expected is not None:
        assert shown(result.graph) == shown_plain(expected)
        assert result.source == 0
        assert result.sink == expected.sink
    return status


@st.composite
def regions(draw: st.DrawFn) -> tuple[str, list[PlainRead], Rules]:
    """Draw a small region: reads are parts of the reference with changes, or anything."""
    alphabet = draw(st.sampled_from(["AC", "ACG", "ACGT", "ACGTN"]))
    rules = Rules(
        draw(st.integers(2, 6)),
        is_last_try=draw(st.booleans()),
        min_pruning=draw(st.integers(0, 3)),
        min_matching=draw(st.sampled_from([-1, -1, 0, 1, 2, 3])),
        min_tail=draw(st.integers(0, 4)),
        min_head=draw(st.integers(0, 4)),
        recovers_all=draw(st.booleans()),
    )
    reference = draw(st.text(alphabet, min_size=1, max_size=30))
    rng = draw(st.randoms(use_true_random=True))
    reads = []
    for _ in range(draw(st.integers(0, 6))):
        start = rng.randrange(len(reference))
        bases = list(reference[start : start + rng.randrange(1, 25)])
        for _ in range(rng.choice([0, 1, 1, 2])):
            at = rng.randrange(len(bases) + 1)
            bases[at : at + rng.choice([0, 1, 1, 3])] = rng.choices(
                alphabet, k=rng.choice([0, 1, 1, 1, 4])
            )
        qualities = [rng.choice([30, 30, 30, 30, 30, 30, 30, 30, 10, 9]) for _ in bases]
        reads += [PlainRead("".join(bases), qualities, rng.randrange(2))] * rng.choice([1, 1, 2, 3])
    return reference, reads, rules


@given(regions())
@settings(max_examples=many(150), deadline=None)
def test_as_plain(region: tuple[str, list[PlainRead], Rules]) -> None:
    assert_as_plain(*region)


@pytest.mark.parametrize("seed", range(4))
def test_larger_regions_as_plain(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311  (data for a test)
    seen = set()
    for _ in range(12):
        reference = "".join(rng.choices("ACGT", k=80))
        at = rng.randrange(20, 60)
        other = reference[:at] + rng.choice(["", "A", "CCGT"]) + reference[at + 1 :]
        reads = []
        for _ in range(30):
            source = rng.choice([reference, other])
            start = rng.randrange(-10, len(source) - 10)
            text = [
                base if rng.random() > 0.02 else rng.choice("ACGT")
                for base in source[max(start, 0) : start + 40]
            ]
            if rng.random() < 0.2:
                text = rng.choices("ACGT", k=5) + text
            qualities = [30 if rng.random() > 0.01 else 5 for _ in text]
            reads.append(PlainRead("".join(text), qualities, rng.randrange(3)))
        seen.add(assert_as_plain(reference, reads, Rules(rng.choice([5, 8, 11]))))
    assert "ready" in seen


def test_memory_is_used_again() -> None:
    reference, other = "ACGTTGCATGCCGATATT", "TTGCCATGACTG"
    reads = reads_of("ACGTTGCCTGCCGATATT", "GCATGCCGATATTTTT")
    rules = Rules(4, min_pruning=0)
    first = built(reference, reads, rules)
    expected = shown(first.graph)
    small = built(other, [], rules, earlier=first)
    assert shown(small.graph) == shown(built(other, [], rules).graph)
    assert shown(built(reference, reads, rules, earlier=small).graph) == expected


def test_short_reference() -> None:
    assert built("ACG", reads_of("ACGT"), Rules(4)).status == SHORT


def test_a_repeat_in_the_reference_fails_except_at_the_last_try() -> None:
    reference = "AACGTAACT"
    assert built(reference, [], Rules(3)).status == FAILED
    last = built(reference, [], Rules(3, is_last_try=True))
    assert last.status == READY
    assert paths_of(shown(last.graph)) == {reference}


def test_a_cycle_fails_also_at_the_last_try() -> None:
    reference, read = "AAGACTTCC", "CTTGACT"
    for is_last_try in (False, True):
        rules = Rules(3, is_last_try=is_last_try)
        assert assert_as_plain(reference, reads_of(read, read), rules) == "cyclic"
        assert assert_as_plain(reference, reads_of(read), rules) == "ready"  # it is pruned


def test_many_repeats_in_reads_fail_except_at_the_last_try() -> None:
    reference, read = "AAGACTTCC", "GGGGGTGTGTGG"
    for is_last_try, expected in ((False, "failed"), (True, "ready")):
        rules = Rules(3, is_last_try=is_last_try)
        assert assert_as_plain(reference, reads_of(read), rules) == expected


@pytest.mark.parametrize(("reference", "expected"), [("ACGTTG", "ready"), ("ACGTT", "failed")])
def test_one_repeat_per_four_kmers_is_accepted(reference: str, expected: str) -> None:
    assert assert_as_plain(reference, reads_of("CCCCC"), Rules(3)) == expected


def test_a_tail_of_a_branch_is_joined_to_the_branch() -> None:
    """The second read leaves the first one, and not the reference."""
    reference, branch = "ABCDEFGHIJKLMOPQ", "ABCDEFXHIJKLMOPQ"
    rules = Rules(5, min_pruning=0, min_tail=3)
    reads = reads_of(branch, "ABCDEFXHYJK")
    assert assert_as_plain(reference, reads, rules) == "ready"
    paths = paths_of(shown(built(reference, reads, rules).graph))
    assert paths == {reference, branch, "ABCDEFXHYJKLMOPQ"}


@pytest.mark.parametrize(
    ("reference", "reads", "expected"),
    [
        ("ACAACTGA", ["ACAGCTGA"], {"ACAACTGA", "ACAGCTGA"}),
        ("ACAACTGA", ["ACAGCT", "GCTGA"], {"ACAACTGA", "ACAGCTGA"}),
        ("GAAAAT", [], {"GAAAAT"}),
    ],
)
def test_paths_of_gatk(reference: str, reads: list[str], expected: set[str]) -> None:
    rules = Rules(3, is_last_try=True, min_pruning=0)
    result = built(reference, reads_of(*reads), rules)
    assert paths_of(shown(result.graph)) == expected


def test_a_variant_at_the_start_of_a_read() -> None:
    """GATK's case with recovery switched off: here the head is too short."""
    result = built("ACAACTGA", reads_of("AGCTGA"), Rules(3, min_pruning=0))
    assert paths_of(shown(result.graph)) == {"ACAACTGA"}
