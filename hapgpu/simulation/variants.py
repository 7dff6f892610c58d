"""Random variants of a reference, of all kinds that a genotyper has to distinguish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations_with_replacement
from typing import Final

import numpy as np

from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.simulation.phased_variants import PhasedVariants
from hapgpu.simulation.sequences import LETTERS, random_bases, tandem_repeats

_MIN_UNITS: Final = 5
_MEAN_EXTRA_UNITS: Final = 4.0
"""Units above `_MIN_UNITS` that a repeat is chosen by, on average."""
_REPEAT_DISTANCE: Final = 3000
"""A repeat is chosen among those that start within this many bases."""
_MARGIN: Final = 200
"""Bases between a variant and an end of the reference, or a letter other than A, C, G and T."""
_FURTHEST_NEIGHBOUR: Final = 10
_MAX_ALTERNATIVES: Final = 3


class VariantKind(StrEnum):
    """Kind of a variant."""

    SNV = "SNV"
    MNV = "MNV"
    INSERTION = "insertion"
    DELETION = "deletion"
    REPEAT = "repeat"
    """Another number of units of a homopolymer or of another tandem repeat."""
    MULTI_SNV = "multi-allelic SNV"
    MULTI_REPEAT = "multi-allelic repeat"
    TANDEM_DUPLICATION = "tandem duplication"
    """A copy of the bases after a position, inserted there."""
    LONG_DELETION = "long deletion"


def _default_frequencies() -> dict[VariantKind, float]:
    frequencies = (0.4, 0.05, 0.1, 0.1, 0.2, 0.05, 0.1, 0.0, 0.0)
    return dict(zip(VariantKind, frequencies, strict=True))


@dataclass(frozen=True, slots=True)
class VariantModel:
    """Frequencies, distances and sizes of random variants.

    Attributes
    ----------
    frequencies
        Relative frequencies of the kinds.
    spacing
        Mean distance of a variant from the one before, in bases; distributed exponentially.
        Repeats are chosen after that distance.
    neighbour_fraction
        Fraction of variants within ten bases after the one before. (No variant lies in the shift
        range of an indel before it: its genotype would be ambiguous.)
    longest_indel
        Bases of an indel, at most, except in repeats.
    mean_indel
        Mean number of bases of an indel before that limit, except in repeats; at least 1, and
        distributed geometrically.
    min_repeat_unit
        Bases of the unit of a repeat that varies, at least.
    duplication_lengths, long_deletion_lengths
        Fewest and most bases of a tandem duplication, and of a long deletion; each is as probable.
    alternative_weight
        If given, chromosome copies are drawn from a population whose allele frequencies follow a
        Dirichlet distribution, with weight 1 for REF and this weight for each ALT; else every
        genotype of a variant is equally probable.
    """

    frequencies: Mapping[VariantKind, float] = field(default_factory=_default_frequencies)
    spacing: float = 600.0
    neighbour_fraction: float = 0.1
    longest_indel: int = 40
    mean_indel: float = 5.0
    min_repeat_unit: int = 1
    duplication_lengths: tuple[int, int] = (60, 150)
    long_deletion_lengths: tuple[int, int] = (51, 150)
    alternative_weight: float | None = None


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Start and alleles of a variant, and the end of its shift range."""

    start: int
    alleles: tuple[str, ...]
    end: int


def drawn_variants(
    reference: ReferenceSlice, ploidy: int, model: VariantModel | None = None, seed: int = 1
) -> tuple[PhasedVariants, list[VariantKind]]:
    """Draw left-aligned variants, and the genotypes of a sample.

    Some genotypes are homozygous REF.

    Parameters
    ----------
    reference
        The reference of the variants.
    ploidy
        Number of chromosome copies.
    model
        Frequencies, distances and sizes.
    seed
        Seed of the random numbers.

    Returns
    -------
    PhasedVariants
        Variants that do not overlap.
    list
        The kind of each.
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
    """A reference, and the random numbers that its variants are drawn with."""

    def __init__(self, reference: ReferenceSlice, model: VariantModel, seed: int) -> None:
        self._first = reference.start
        self._text = reference.bases.tobytes().decode("ascii")
        self._model = model
        self._rng = np.random.default_rng(seed)
        repeats = tandem_repeats(reference.bases, _MIN_UNITS)
        self._repeats = repeats.take(repeats.units >= self._model.min_repeat_unit)
        self._unit_counts = self._repeats.counts
        is_base = np.isin(reference.bases, LETTERS)
        self._others = np.flatnonzero(~is_base)

    def variants(self) -> tuple[list[_Drawn], list[VariantKind]]:
        """Draw variants from the start of the reference to its end."""
        all_kinds = list(self._model.frequencies)
        weights = np.array(list(self._model.frequencies.values()))
        variants: list[_Drawn] = []
        kinds = []
        free = _MARGIN
        while (at := free + self._gap()) < len(self._text) - _MARGIN:
            kind = all_kinds[self._rng.choice(len(all_kinds), p=weights / weights.sum())]
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
        if self._rng.random() < self._model.neighbour_fraction:
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
            case VariantKind.REPEAT | VariantKind.MULTI_REPEAT:
                return self._repeat(at, alternatives)
            case VariantKind.INSERTION:
                alleles = "", self._inserted_bases()
            case VariantKind.DELETION:
                alleles = self._text[at : at + self._indel_length()], ""
            case VariantKind.TANDEM_DUPLICATION:
                alleles = "", self._following(at, self._model.duplication_lengths)
            case VariantKind.LONG_DELETION:
                alleles = self._following(at, self._model.long_deletion_lengths), ""
        return self._indel(at, *alleles)

    def _following(self, at: int, lengths: tuple[int, int]) -> str:
        """Return a random number of bases from a position on."""
        shortest, longest = lengths
        return self._text[at : at + int(self._rng.integers(shortest, longest + 1))]

    def _substitution(self, at: int, length: int, alternatives: int) -> _Drawn:
        """Replace every base of an interval."""
        old = self._text[at : at + length]
        others = [self._rng.permutation([base for base in "ACGT" if base != b]) for b in old]
        new = ["".join(bases[k] for bases in others) for k in range(alternatives)]
        start = self._first + at
        return _Drawn(start, (old, *new), start + length)

    def _indel(self, at: int, old: str, new: str) -> _Drawn:
        """Delete `old` or insert `new`, left-aligned."""
        unit = old or new
        left, end = at, at + len(old)
        while left > 0 and self._text[left - 1] == unit[-1]:
            unit = unit[-1] + unit[:-1]
            left -= 1
        rotated = old or new
        while end < len(self._text) and self._text[end] == rotated[0]:
            rotated = rotated[1:] + rotated[0]
            end += 1
        anchor = self._text[left - 1]
        alleles = (anchor + unit, anchor) if old else (anchor, anchor + unit)
        start = self._first + left - 1
        return _Drawn(start, alleles, self._first + end)

    def _repeat(self, at: int, alternatives: int) -> _Drawn | None:
        """Change the number of units of a repeat that starts after `at`."""
        row = self._chosen_repeat(at)
        if row is None:
            return None
        start, end = int(self._repeats.starts[row]), int(self._repeats.ends[row])
        unit, count = int(self._repeats.units[row]), int(self._unit_counts[row])
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

    def _chosen_repeat(self, at: int) -> int | None:
        """Return the first repeat with at least a random number of units; else the longest near."""
        first, last = np.searchsorted(self._repeats.starts, [at + 1, at + _REPEAT_DISTANCE])
        if first == last:
            return None
        counts = self._unit_counts[first:last]
        min_units = _MIN_UNITS + self._rng.exponential(_MEAN_EXTRA_UNITS)
        return int(
            first + ((counts >= min_units) if counts.max() >= min_units else counts).argmax()
        )

    def _indel_length(self) -> int:
        return min(int(self._rng.geometric(1 / self._model.mean_indel)), self._model.longest_indel)

    def _inserted_bases(self) -> str:
        return random_bases(self._indel_length(), self._rng).tobytes().decode("ascii")
