"""Physical phasing: GATK's cases, and random ones against the plain reference."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.calling.batches import CallSites, Events, TrimmedRegions
from hapgpu.calling.output.phasing import UNPHASED, phase_groups, phased
from tests.calling.events.made_haplotypes import haplotypes_of, regions_of
from tests.calling.gvcf.reference import phase_sets
from tests.calling.made_calls import likelihood_calls

HAPLOTYPES = "abcd"


def groups_of(
    regions: Sequence[Sequence[frozenset[str]]],
) -> list[list[tuple[int, bool] | None]]:
    """Return the groups of the records of each active region, counted within it."""
    firsts = np.concatenate(([0], np.cumsum([len(sets) for sets in regions]))).astype(np.int64)
    rows = [[name in own for name in HAPLOTYPES] for sets in regions for own in sets]
    carriers = Ragged.from_lengths(
        np.array(rows, dtype=np.bool_).ravel(), np.full(len(rows), len(HAPLOTYPES))
    )
    phasing = phase_groups(firsts, carriers)
    return [
        [
            None
            if phasing.groups[row] == UNPHASED
            else (int(phasing.groups[row] - start), bool(phasing.is_flipped[row]))
            for row in range(start, end)
        ]
        for start, end in itertools.pairwise(firsts)
    ]


@pytest.mark.parametrize(
    ("sets", "phased", "groups", "second", "first"),
    [
        (["a"], 0, 0, 0, 0),
        (["a", "b"], 2, 1, 1, 1),
        (["a", "b", "c"], 0, 0, 0, 0),
        (["a", "b", "a"], 3, 1, 2, 1),
        (["ab", "b", "ab"], 3, 1, 3, 0),
        (["a", "b", "abc"], 0, 0, 0, 0),
    ],
)
def test_cases_of_gatk(sets: list[str], phased: int, groups: int, second: int, first: int) -> None:
    """Records phased, groups, `0|1`, `1|0`."""
    carriers = [frozenset(own) for own in sets]
    for found in (groups_of([carriers])[0], phase_sets(carriers)):
        known = [group for group in found if group is not None]
        assert len(known) == phased
        assert len({group for group, _ in known}) == groups
        assert sum(not is_flipped for _, is_flipped in known) == second
        assert sum(is_flipped for _, is_flipped in known) == first


@given(
    st.lists(
        st.lists(st.frozensets(st.sampled_from(HAPLOTYPES)), min_size=1, max_size=5), max_size=6
    )
)
def test_random_haplotypes(regions: list[list[frozenset[str]]]) -> None:
    assert groups_of(regions) == [phase_sets(sets) for sets in regions]


def test_haplotypes_that_no_record_has_do_not_count() -> None:
    """Records at 10, 20 and 30: h1 has the ALTs of the first two, h3 of the third.

    At 10, h2 has ALT A too, but with a shorter REF; none of its alleles is kept.
    """
    alternates = [(10, 13, "A"), (20, 21, "T"), (10, 12, "A"), (20, 21, "C"), (30, 31, "C")]
    starts, ends, texts = zip(*alternates, (30, 31, "G"), strict=True)
    trimmed = TrimmedRegions(
        np.array([0]),
        regions_of((10, 31, 0, 41)),
        haplotypes_of([[("A", "1M")] * 4]),
        Events(
            np.array([0, 0, 2, 5, 6]),
            np.array(starts),
            np.array(ends),
            Ragged.from_sequences(texts),
        ),
    )
    sites = CallSites(
        np.zeros(3, dtype=np.int64),
        np.array([10, 20, 30]),
        np.array([13, 21, 31]),
        np.array([0, 3, 6, 9]),
        Ragged.from_sequences(["ACC", "AC", "A", *"GTC", *"AGC"]),
        Ragged(np.array([0, 2, 1, 0, 0, 1, 2, 0, 0, 0, 2, 1], dtype=np.int16), offsets_of([4] * 3)),
    )
    calls = replace(
        likelihood_calls([[[0, 0, 0]]] * 3, [2] * 3),
        starts=sites.starts,
        alleles=Ragged.from_sequences(["ACC", "A", *"GT", *"AG"]),
        site_alleles=np.array([0, 2, 0, 1, 0, 1], dtype=np.int16),
    )
    phasing = phased(calls, sites, trimmed)
    assert phasing.groups.tolist() == [0, 0, 0]
    assert phasing.is_flipped.tolist() == [False, False, True]
