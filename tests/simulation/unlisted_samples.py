"""Samples with unlisted variants beside the listed ones, and the accuracy of their genotypes.

As a script, it prints the table of `docs/methods/genotype.md`:

    python -m tests.simulation.unlisted_samples REF.fa 4
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hapgpu.benchmark.input_files import _tile_of
from hapgpu.genotyping.api import genotype
from hapgpu.simulation.paired_reads import PairedReadModel
from hapgpu.simulation.phased_variants import PhasedVariants
from hapgpu.simulation.sample import simulated_reads
from hapgpu.simulation.variants import VariantKind, VariantModel, drawn_variants
from tests.haplotypes.made_references import slice_of
from tests.simulation.made_samples import written_sample
from tests.simulation.unlisted_variants import Unlisted, with_unlisted

INDELS = (1, -1, 2, -2, 3, -3, 5, -5, 10, -10)
BESIDE = (
    *(Unlisted(snvs, 0, on_alternative) for on_alternative in (True, False) for snvs in range(7)),
    *(Unlisted(0, bases, on_alternative) for on_alternative in (True, False) for bases in INDELS),
)
DEPTHS = (20, 30, 60)
READ_LENGTHS = (101, 148)
SPACING = 350
HIGH_QUALITY = 20
BINS = (0, 10, 20, 30, 100)


@dataclass(frozen=True)
class Outcome:
    """The calls of s sites.

    Attributes
    ----------
    beside
        int64[s], row of the unlisted variants beside each site.
    truth, called
        int[s, 2]: numbers of alleles, ascending; -1 for no call.
    qualities
        int16[s].
    """

    beside: NDArray[np.int64]
    truth: NDArray[np.int8]
    called: NDArray[np.int16]
    qualities: NDArray[np.int16]

    @property
    def is_right(self) -> NDArray[np.bool_]:
        return (self.called == self.truth).all(axis=1)

    @property
    def is_heterozygous(self) -> NDArray[np.bool_]:
        return self.truth[:, 0] != self.truth[:, 1]

    def concerns(self, beside: Sequence[Unlisted], chosen: Unlisted) -> NDArray[np.bool_]:
        """bool[s]: sites beside which a chromosome copy carries the chosen variants."""
        carries = (self.truth > 0) == chosen.on_alternative
        return carries.any(axis=1) & (self.beside == beside.index(chosen))

    @classmethod
    def concatenate(cls, parts: Sequence[Outcome]) -> Outcome:
        columns = ("beside", "truth", "called", "qualities")
        return cls(*(np.concatenate([getattr(one, column) for one in parts]) for column in columns))


def outcome_of(
    text: str,
    beside: Sequence[Unlisted],
    model: PairedReadModel,
    seed: int,
    *,
    kind: VariantKind = VariantKind.SNV,
    prior: str = "population",
) -> Outcome:
    """Simulate a sample with one of `beside` at each site, and genotype it."""
    reference = slice_of(text)
    drawn = VariantModel(frequencies={kind: 1.0}, spacing=SPACING, neighbour_fraction=0.0)
    listed = spaced(drawn_variants(reference, 2, drawn, seed)[0])
    chosen = np.random.default_rng(seed).integers(0, len(beside), len(listed))
    unlisted = [beside[row] for row in chosen]
    carried, _ = with_unlisted(reference, listed, unlisted, model.read_length // 2, seed)
    reads = simulated_reads(reference, carried, "NA1", model, seed)
    with tempfile.TemporaryDirectory() as directory:
        files = written_sample(Path(directory), text, listed, reads)
        calls = genotype(*files, prior=prior, device="cpu")
    return Outcome(
        chosen,
        np.sort(listed.genotypes, axis=1),
        calls.genotypes[:, 0],
        calls.genotype_qualities[:, 0],
    )


def spaced(variants: PhasedVariants) -> PhasedVariants:
    """Return the variants that are at least `SPACING` apart."""
    kept: list[int] = []
    free = 0
    for row, (start, end) in enumerate(zip(variants.starts, variants.ends, strict=True)):
        if start >= free:
            kept.append(row)
            free = int(end) + SPACING
    return variants.take(np.array(kept, dtype=np.int64))


def expected_errors(qualities: NDArray[np.int16]) -> float:
    """Return the number of wrong calls expected by their GQ, which is rounded down."""
    return float((10 ** (-(qualities + 0.5) / 10)).sum())


def lines_of_table(outcomes: dict[int, Outcome]) -> Iterator[str]:
    """Yield a line per entry of `BESIDE`: heterozygous sites, right and clearly wrong ones in %."""
    yield "| unlisted | on | sites | " + " | ".join(f"{depth}x" for depth in outcomes) + " |"
    for beside in BESIDE:
        kind = f"{beside.indel:+d} bases" if beside.indel else f"{beside.snvs} SNVs"
        cells = []
        for outcome in outcomes.values():
            here = outcome.concerns(BESIDE, beside) & outcome.is_heterozygous
            wrong = here & ~outcome.is_right & (outcome.qualities >= HIGH_QUALITY)
            right = 100 * outcome.is_right[here].mean()
            cells.append(f"{right:.1f} ({100 * wrong.sum() / here.sum():.1f})")
        on = "ALT" if beside.on_alternative else "REF"
        yield f"| {kind} | {on} | {here.sum()} | {' | '.join(cells)} |"


def lines_of_bins(outcome: Outcome) -> Iterator[str]:
    """Yield the numbers of calls in each bin of GQ, of wrong calls, and of expected wrong calls."""
    for low, high in pairwise(BINS):
        here = (outcome.qualities >= low) & (outcome.qualities < high)
        expected = expected_errors(outcome.qualities[here])
        wrong = (here & ~outcome.is_right).sum()
        yield f"GQ {low}-{high - 1}: {here.sum()}: {wrong} ({expected:.1f})"
    yield f"no call: {(outcome.qualities < 0).sum()}"


def main(reference: str, samples: str = "4") -> None:
    """Print the tables for some samples of each depth and read length."""
    text = _tile_of(Path(reference)).tobytes().decode()
    for prior in ("population", "flat"):
        outcomes = {
            depth: Outcome.concatenate(
                [
                    outcome_of(text, BESIDE, PairedReadModel(depth, length), seed, prior=prior)
                    for length in READ_LENGTHS
                    for seed in range(1, 1 + int(samples))
                ]
            )
            for depth in DEPTHS
        }
        for line in lines_of_table(outcomes) if prior == "population" else ():
            sys.stdout.write(f"{line}\n")
        sys.stdout.write(f"{prior}\n")
        for line in lines_of_bins(Outcome.concatenate(list(outcomes.values()))):
            sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
