"""Variants made up for a reference, of all the kinds that a genotyper has to tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations_with_replacement
from typing import Final

import numpy as np

from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.simulation.phased_variants import PhasedVariants
from hapgpu.simulation.tandem_repeats import TandemRuns, tandem_runs

_MIN_UNITS: Final = 5
_UNITS_SOUGHT: Final = 4.0
"""Mean of what a repeat is to have in excess of the least."""
_REACH: Final = 3000
"""Bases within which a repeat is sought."""
_MARGIN: Final = 200
"""No variant lies so near to the end of the reference or to a letter other than A, C, G and T."""
_FURTHEST_NEIGHBOUR: Final = 10
_MAX_ALTERNATIVES: Final = 3


class VariantKind(StrEnum):
    """What a variant changes."""

    SNV = "SNV"
    MNV = "MNV"
    INSERTION = "insertion"
    DELETION = "deletion"
    REPEAT = "repeat"
    """The number of units of a homopolymer or of another tandem repeat."""
    MULTI_SNV = "multi-allelic SNV"
    MULTI_REPEAT = "multi-allelic repeat"


def _usual_shares() -> dict[VariantKind, float]:
    shares = (0.4, 0.05, 0.1, 0.1, 0.2, 0.05, 0.1)
    return dict(zip(VariantKind, shares, strict=True))


@dataclass(frozen=True, slots=True)
class VariantModel:
    """What made-up variants are like.

    Attributes
    ----------
    shares
        How frequent the kinds are, in proportion.
    spacing
        Bases from one variant to the next, on average; distributed exponentially. Repeats are
        sought beyond.
    neighbour_share
        Share of the variants that come within ten bases behind the one before. (No variant lies
        where an indel before it could as well be written: its genotype would not be certain.)
    longest_indel
        Bases of an indel, at most, other than in repeats; short ones are more frequent.
    alternative_weight
        Where given, chromosome copies are drawn from a population whose allele frequencies follow
        a Dirichlet distribution, with the weight 1 for REF and this one for each ALT; else every
        genotype of a variant is equally probable.
    """

    shares: Mapping[VariantKind, float] = field(default_factory=_usual_shares)
    spacing: float = 600.0
    neighbour_share: float = 0.1
    longest_indel: int = 40
    alternative_weight: float | None = None


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Start and alleles of a variant, and the end of the stretch in which it could be written."""

    start: int
    alleles: tuple[str, ...]
    end: int


def drawn_variants(
    reference: ReferenceSlice, ploidy: int, model: VariantModel | None = None, seed: int = 1
) -> tuple[PhasedVariants, list[VariantKind]]:
    """Make up variants, as far left as they go, and the genotypes of a sample.

    Genotypes without any ALT are among them.

    Parameters
    ----------
    reference
        What they change.
    ploidy
        Chromosome copies.
    model
        What variants are like.
    seed
        For other variants.

    Returns
    -------
    The variants, none overlapping another, and the kind of each.
    """
    drawing = _Drawing(reference, VariantModel() if model is None else model, seed)
    variants, kinds = drawing.variants()
    genotypes = [drawing.genotype(len(variant.alleles), ploidy) for variant in variants]
    rows = PhasedVariants.from_rows(
        [variant.start for variant in variants],
        [variant.alleles for variant in variants],
        genotypes,
        ploidy,
    )
    return rows, kinds


class _Drawing:
    """A reference, and the chance by which variants of it are drawn."""

    def __init__(self, reference: ReferenceSlice, model: VariantModel, seed: int) -> None:
        self._first = reference.start
        self._text = reference.bases.tobytes().decode("ascii")
        self._model = model
        self._rng = np.random.default_rng(seed)
        self._runs: TandemRuns = tandem_runs(reference.bases, _MIN_UNITS)
        self._run_counts = self._runs.counts
        is_base = np.isin(reference.bases, np.frombuffer(b"ACGT", dtype=np.uint8))
        self._others = np.flatnonzero(~is_base)

    def variants(self) -> tuple[list[_Drawn], list[VariantKind]]:
        """Draw variants from one end of the reference to the other."""
        phase_groups = list(self._model.shares)
        weights = np.array(list(self._model.shares.values()))
        variants: list[_Drawn] = []
        kinds = []
        free = _MARGIN
        while (at := free + self._gap()) < len(self._text) - _MARGIN:
            kind = phase_groups[self._rng.choice(len(phase_groups), p=weights / weights.sum())]
            variant = self._variant(kind, at)
            if variant is None or self._is_unfit(variant, free):
                free += 1
                continue
            variants.append(variant)
            kinds.append(kind)
            free = variant.end - self._first + 1
        return variants, kinds

    def genotype(self, alleles: int, ploidy: int) -> list[int]:
        """Draw the allele of each chromosome copy."""
        if self._model.alternative_weight is not None:
            weights = [1.0] + [self._model.alternative_weight] * (alleles - 1)
            frequencies = self._rng.dirichlet(weights)
            copies: list[int] = self._rng.choice(alleles, ploidy, p=frequencies).tolist()
            return copies
        genotypes = list(combinations_with_replacement(range(alleles), ploidy))
        chosen = genotypes[self._rng.integers(len(genotypes))]
        drawn: list[int] = self._rng.permutation(chosen).tolist()
        return drawn

    def _gap(self) -> int:
        if self._rng.random() < self._model.neighbour_share:
            return int(self._rng.integers(_FURTHEST_NEIGHBOUR))
        return int(self._rng.exponential(self._model.spacing))

    def _is_unfit(self, variant: _Drawn, free: int) -> bool:
        start, end = variant.start - self._first, variant.end - self._first
        if start < free or end > len(self._text) - _MARGIN:
            return True
        nearest = int(np.searchsorted(self._others, start - _MARGIN))
        return nearest < self._others.size and self._others[nearest] < end + _MARGIN

    def _variant(self, kind: VariantKind, at: int) -> _Drawn | None:
        is_multiple = kind in {VariantKind.MULTI_SNV, VariantKind.MULTI_REPEAT}
        alternatives = int(self._rng.integers(2, _MAX_ALTERNATIVES + 1)) if is_multiple else 1
        match kind:
            case VariantKind.SNV | VariantKind.MULTI_SNV:
                return self._substitution(at, 1, alternatives)
            case VariantKind.MNV:
                return self._substitution(at, int(self._rng.integers(2, 6)), alternatives)
            case VariantKind.INSERTION:
                return self._indel(at, "", self._random_bases(self._indel_length()))
            case VariantKind.DELETION:
                return self._indel(at, self._text[at : at + self._indel_length()], "")
            case VariantKind.REPEAT | VariantKind.MULTI_REPEAT:
                return self._repeat(at, alternatives)

    def _substitution(self, at: int, length: int, alternatives: int) -> _Drawn:
        """Replace every base of a stretch."""
        old = self._text[at : at + length]
        others = [self._rng.permutation([base for base in "ACGT" if base != b]) for b in old]
        new = ["".join(bases[k] for bases in others) for k in range(alternatives)]
        start = self._first + at
        return _Drawn(start, (old, *new), start + length)

    def _indel(self, at: int, old: str, new: str) -> _Drawn:
        """Take `old` out or put `new` in, moved to the left as far as it goes."""
        unit = old or new
        left, end = at, at + len(old)
        while left > 0 and self._text[left - 1] == unit[-1]:
            unit = unit[-1] + unit[:-1]
            left -= 1
        turned = old or new
        while end < len(self._text) and self._text[end] == turned[0]:
            turned = turned[1:] + turned[0]
            end += 1
        anchor = self._text[left - 1]
        alleles = (anchor + unit, anchor) if old else (anchor, anchor + unit)
        start = self._first + left - 1
        return _Drawn(start, alleles, self._first + end)

    def _repeat(self, at: int, alternatives: int) -> _Drawn | None:
        """Change how many units a repeat has that begins behind `at`."""
        run = self._run(at)
        if run is None:
            return None
        start, end = int(self._runs.starts[run]), int(self._runs.ends[run])
        unit, count = int(self._runs.units[run]), int(self._run_counts[run])
        changes = [change for change in (-3, -2, -1, 1, 2, 3) if count + change > 1]
        weights = 0.5 ** np.abs(changes)
        drawn = self._rng.choice(
            changes, alternatives, replace=False, p=weights / weights.sum()
        ).tolist()
        text = self._text[start : start + unit]
        lost = max(0, -min(drawn))
        anchor = self._text[start - 1]
        alleles = [anchor + text * (lost + change) for change in (0, *drawn)]
        first = self._first + start - 1
        return _Drawn(first, tuple(alleles), self._first + end)

    def _run(self, at: int) -> int | None:
        """Choose the next repeat that has as many units as are drawn; else the longest near."""
        first, behind = np.searchsorted(self._runs.starts, [at + 1, at + _REACH])
        if first == behind:
            return None
        counts = self._run_counts[first:behind]
        wanted = _MIN_UNITS + self._rng.exponential(_UNITS_SOUGHT)
        return int(first + ((counts >= wanted) if counts.max() >= wanted else counts).argmax())

    def _indel_length(self) -> int:
        return min(int(self._rng.geometric(0.2)), self._model.longest_indel)

    def _random_bases(self, count: int) -> str:
        return "".join("ACGT"[code] for code in self._rng.integers(0, 4, count))
