"""Genotypes of simulated samples, compared with the truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu import Genotypes, genotype
from hapgpu.simulation.variants import VariantKind
from tests.haplotypes.made_references import random_text
from tests.simulation.made_samples import made_sample

TEXT = random_text(40_000, 11)
REPEATS = {VariantKind.REPEAT, VariantKind.MULTI_REPEAT}


@dataclass(frozen=True)
class Called:
    """The calls of one sample, and whether each is right."""

    calls: Genotypes
    is_right: NDArray[np.bool_]
    is_repeat: NDArray[np.bool_]

    @property
    def qualities(self) -> NDArray[np.int16]:
        return self.calls.genotype_qualities[:, 0]


def called(directory: Path, ploidy: int, depth: float, seed: int = 1) -> Called:
    """Simulate a sample of this depth per chromosome copy, and genotype it.

    Its genotypes are drawn with equal probability: the flat prior is the right one.
    """
    sample = made_sample(directory, TEXT, ploidy, depth, seed)
    calls = genotype(*sample.files, ploidy=ploidy, prior="flat", device="cpu")
    variants, kinds = sample.variants, sample.kinds
    assert len(calls) == len(variants) > 100
    is_right = (calls.genotypes[:, 0] == np.sort(variants.genotypes, axis=1)).all(axis=1)
    return Called(calls, is_right, np.array([kind in REPEATS for kind in kinds]))


@pytest.mark.parametrize(("ploidy", "depth"), [(1, 20), (2, 20), (3, 35), (4, 45)])
def test_genotypes_are_right_if_there_are_enough_reads(
    ploidy: int, depth: float, tmp_path: Path
) -> None:
    """All are outside of repeats, nearly all in repeats; no wrong call has a high quality."""
    sample = called(tmp_path, ploidy, depth)
    assert sample.is_right[~sample.is_repeat].all()
    assert sample.is_right[sample.is_repeat].mean() > 0.95
    assert (sample.qualities[~sample.is_right] < 20).all()
    assert np.median(sample.qualities) > 30


def test_rates_of_wrong_calls_follow_their_quality(tmp_path: Path) -> None:
    """With few reads many calls are wrong: about as many as expected by their GQ."""
    samples = [called(tmp_path, 2, 2.5, seed) for seed in range(1, 11)]
    quality = np.concatenate([sample.qualities for sample in samples])
    is_wrong = ~np.concatenate([sample.is_right for sample in samples])
    for low, high in ((3, 10), (10, 20), (20, 100)):
        is_within = (quality >= low) & (quality < high)
        expected = (10 ** (-(quality[is_within] + 0.5) / 10)).sum()  # GQ is rounded down
        assert is_within.sum() > 250
        assert abs(is_wrong[is_within].sum() - expected) < 0.2 * expected + 3.5 * expected**0.5 + 1
