"""Dangling branches that fork, `--recover-all-dangling-branches`: GATK's case, and random ones."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.calling.assembly.kmer_graphs.made_graphs import (
    built,
    paths_of,
    reads_of,
    shown,
)
from tests.calling.assembly.kmer_graphs.plain_graph import PlainRead, Rules
from tests.calling.assembly.kmer_graphs.test_build import assert_as_plain

PREFIX = "AAAAAAAAAACCCCCCCCCCGGGGGGGGGGTTTTTTTTTT"
REFERENCE = PREFIX + "GCTAGCTAATCG"
ONE, OTHER = PREFIX + "ACTAGCTAATCG", PREFIX + "ACTAGATAATCG"
RULES = Rules(15, min_pruning=0, recovers_all=True)


def test_forked_tails_of_gatk() -> None:
    """ReadThreadingGraphUnitTest.testForkedDanglingEnds."""
    reads = reads_of(ONE, OTHER)
    assert assert_as_plain(REFERENCE, reads, RULES) == "ready"
    paths = paths_of(shown(built(REFERENCE, reads, RULES).graph))
    assert paths == {REFERENCE, ONE, OTHER}


@pytest.mark.parametrize("seed", range(6))
def test_random_branches(seed: int) -> None:
    """Reads that leave and enter the reference, and each other."""
    source = random.Random(seed)  # noqa: S311  (data for a test)
    differences = 0
    for _ in range(40):
        reference = "".join(source.choices("ACGT", k=60))
        branches = [reference]
        for _ in range(5):
            own = source.choice([branch for branch in branches if len(branch) > 24])
            at = source.randrange(10, len(own) - 10)
            if source.random() < 0.5:
                branches.append(own[:at] + "".join(source.choices("ACGT", k=source.randint(3, 14))))
            else:
                branches.append("".join(source.choices("ACGT", k=source.randint(3, 14))) + own[at:])
        reads = [
            PlainRead(text, [30] * len(text), 0)
            for text in branches
            for _ in range(source.randint(1, 3))
        ]
        rules = Rules(source.choice([5, 7, 9]), min_pruning=source.randint(0, 2), recovers_all=True)
        plain = replace(rules, recovers_all=False)
        statuses = [assert_as_plain(reference, reads, one) for one in (rules, plain)]
        if statuses == ["ready", "ready"]:
            graphs = [shown(built(reference, reads, one).graph) for one in (rules, plain)]
            differences += graphs[0] != graphs[1]
    assert differences > 0


def test_recovery_can_make_a_graph_fail() -> None:
    """GATK gives up a graph in which recovered ends make a cycle; by default, it keeps it."""
    reference = "TGACTCGATCGCTC"
    reads = reads_of("GACTCGATCTGTCGG", "GATCCTCGATCC", "GCTCTCA")
    rules = Rules(3, is_last_try=True, min_pruning=0, min_tail=1, min_head=0)
    assert assert_as_plain(reference, reads, rules) == "ready"
    assert assert_as_plain(reference, reads, replace(rules, recovers_all=True)) == "failed"
