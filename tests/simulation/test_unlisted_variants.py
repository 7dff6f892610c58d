"""Unlisted variants: their positions and copies, and genotypes of the sites beside them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from hapgpu.simulation.paired_reads import PairedReadModel
from hapgpu.simulation.phased_variants import PhasedVariants
from hapgpu.simulation.variants import VariantKind, VariantModel, drawn_variants
from tests.haplotypes.made_references import copy_texts, random_text, slice_of
from tests.simulation.unlisted_samples import (
    HIGH_QUALITY,
    Outcome,
    expected_errors,
    outcome_of,
    spaced,
)
from tests.simulation.unlisted_variants import Unlisted, with_unlisted

WITHIN = 70
START = 500
BESIDE = (
    *(Unlisted(snvs, 0, on_alternative) for on_alternative in (True, False) for snvs in (1, 2, 4)),
    *(Unlisted(0, bases, on_alternative) for on_alternative in (True, False) for bases in (4, -8)),
)


@cache
def listed() -> PhasedVariants:
    """Return variants of all kinds, `SPACING` apart."""
    return spaced(drawn_variants(slice_of(TEXT, START), 2, VariantModel(spacing=300), 2)[0])


TEXT = random_text(60_000, 17)
CHOSEN = tuple(BESIDE[k % len(BESIDE)] for k in range(1000))


def test_variants_beside_a_site() -> None:
    """The variants are on the right copies, near the site and complete; the list is unchanged."""
    sites = listed()
    carried, is_listed = with_unlisted(slice_of(TEXT, START), sites, CHOSEN[: len(sites)], WITHIN)
    carried.check(slice_of(TEXT, START))
    kept = carried.take(np.flatnonzero(is_listed))
    assert [kept.texts(k) for k in range(len(kept))] == [sites.texts(k) for k in range(len(sites))]
    assert kept.genotypes.tolist() == sites.genotypes.tolist()
    rows = np.flatnonzero(~is_listed)
    nearest = [int(np.abs(sites.starts - carried.starts[row]).argmin()) for row in rows]
    for site, beside in enumerate(CHOSEN[: len(sites)]):
        own = [row for row, owner in zip(rows, nearest, strict=True) if owner == site]
        assert len(own) == beside.snvs + (beside.indel != 0)
        expected = ((sites.genotypes[site] > 0) == beside.on_alternative).astype(int).tolist()
        for row in own:
            old, new = carried.texts(row)
            assert carried.genotypes[row].tolist() == expected
            assert len(new) - len(old) == beside.indel
            assert (old[0] != new[0]) == (beside.indel == 0)
    copy_texts(TEXT, carried, START)  # no two overlap on a copy


def test_variants_without_a_free_position_are_excluded() -> None:
    sites = PhasedVariants.from_rows([2], [["C", "A"]], [[0, 1]])
    carried, is_listed = with_unlisted(slice_of("GTCAGT"), sites, [Unlisted(5, -3)], 3)
    assert is_listed.sum() == 1
    assert sorted(carried.starts.tolist()) == [0, 2, 4]


@cache
def outcome(depth: float, read_length: int, kind: VariantKind) -> Outcome:
    model = PairedReadModel(depth, read_length)
    return outcome_of(random_text(150_000, 19), BESIDE, model, 3, kind=kind)


@pytest.mark.parametrize(("depth", "read_length"), [(20, 101), (30, 148)])
@pytest.mark.parametrize("kind", [VariantKind.SNV, VariantKind.DELETION])
def test_genotypes_are_right_beside_unlisted_variants(
    depth: float, read_length: int, kind: VariantKind
) -> None:
    found = outcome(depth, read_length, kind)
    assert found.is_right.size > 200
    assert found.is_right.mean() >= 0.97
    for beside in BESIDE:
        assert found.is_right[found.concerns(BESIDE, beside)].mean() > 0.8
    is_certain = found.qualities >= HIGH_QUALITY
    is_missed = (found.truth > 0).any(axis=1) & (found.called == 0).all(axis=1) & is_certain
    assert is_missed.mean() < 0.01


def test_rates_of_wrong_calls_follow_their_quality() -> None:
    """The depth is low, so that many calls are uncertain; all genotypes are equally frequent."""
    beside = [
        Unlisted(snvs, 0, on_alternative) for on_alternative in (True, False) for snvs in (3, 4)
    ]
    text = random_text(600_000, 23)
    found = outcome_of(text, beside, PairedReadModel(6, 148), 5, prior="flat")
    for low, high in ((3, 12), (12, 20), (20, 100)):
        here = (found.qualities >= low) & (found.qualities < high)
        expected = expected_errors(found.qualities[here])
        assert here.sum() > 50
        assert (here & ~found.is_right).sum() < 1.3 * expected + 3.0 * expected**0.5 + 1
