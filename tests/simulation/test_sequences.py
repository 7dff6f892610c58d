"""Segmental copies: parts of the sequence, with the lengths and divergences that are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.simulation.sequences import random_bases
from tests.simulation.segmental_copies import with_segmental_copies

BASES = random_bases(20_000, np.random.default_rng(2))


def best_difference(copy: np.ndarray) -> float:
    """Return the fraction of bases that differ from the most similar part of the sequence."""
    parts = np.lib.stride_tricks.sliding_window_view(BASES, copy.size)
    return float((parts != copy).mean(axis=1).min())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_copy_is_a_changed_part(seed: int) -> None:
    found = with_segmental_copies(BASES, 1, (800, 1000), (0.03, 0.05), seed)
    assert (found[: BASES.size] == BASES).all()
    copy = found[BASES.size :]
    assert 800 <= copy.size <= 1000
    assert 0.01 < best_difference(copy) < 0.08
    assert set(copy.tobytes()) <= set(b"ACGT")


def test_divergences_are_fractions_of_bases_that_differ() -> None:
    found = with_segmental_copies(BASES, 1, (15_000, 15_000), (0.2, 0.2))
    assert best_difference(found[BASES.size :]) == pytest.approx(0.2, abs=0.015)
    equal = with_segmental_copies(BASES, 3, (50, 60), (0.0, 0.0))
    assert all(
        part in BASES.tobytes()
        for part in [equal[BASES.size :][:50].tobytes(), equal[-50:].tobytes()]
    )


def test_lengths_are_drawn_from_both_bounds_on() -> None:
    sizes = {
        with_segmental_copies(BASES, 1, (3, 5), (0.0, 0.0), seed).size - BASES.size
        for seed in range(40)
    }
    assert sizes == {3, 4, 5}
    whole = with_segmental_copies(BASES, 1, (BASES.size, BASES.size), (0.0, 0.0))
    assert (whole == np.tile(BASES, 2)).all()


def test_no_copies_and_the_same_seed() -> None:
    assert (with_segmental_copies(BASES, 0, (3, 5), (0.1, 0.2)) == BASES).all()
    one, again, other = (
        with_segmental_copies(BASES, 4, (100, 900), (0.1, 0.2), seed) for seed in (5, 5, 6)
    )
    assert one.tobytes() == again.tobytes() != other.tobytes()
