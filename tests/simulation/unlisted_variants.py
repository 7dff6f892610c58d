"""Variants that a list of sites lacks, beside listed variants on the same haplotype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.haplotypes.sites.shift_ranges import shift_ranges_of
from hapgpu.simulation.phased_variants import PhasedVariants
from hapgpu.simulation.sequences import LETTERS, random_bases


@dataclass(frozen=True, slots=True)
class Unlisted:
    """The unlisted variants beside one listed site.

    Attributes
    ----------
    snvs
        Number of SNVs.
    indel
        Bases of one insertion (positive) or deletion (negative); 0 for none.
    on_alternative
        True: the copies with an ALT of the site carry them; False: the copies with REF.
    """

    snvs: int = 0
    indel: int = 0
    on_alternative: bool = True


class _Row(NamedTuple):
    """One variant, and its site in the list; None for an unlisted variant."""

    start: int
    alleles: tuple[str, ...]
    genotype: tuple[int, ...]
    site: int | None = None


def with_unlisted(
    reference: ReferenceSlice,
    listed: PhasedVariants,
    unlisted: Sequence[Unlisted],
    within: int,
    seed: int = 1,
) -> tuple[PhasedVariants, NDArray[np.bool_]]:
    """Put unlisted variants beside listed variants.

    Their positions are drawn within `within` bases of the shift range of the site. They are at
    least a base away from every shift range of the list, and from each other. Where there is no
    such position, a variant is left out.

    Parameters
    ----------
    reference
        The reference of the variants.
    listed
        s variants.
    unlisted
        s entries: the unlisted variants beside each listed variant.
    within
        Bases on either side.
    seed
        Seed of the random numbers.

    Returns
    -------
    PhasedVariants
        All v variants.
    NDArray
        bool[v]: which of them are listed.
    """
    drawing = _Drawing(reference, listed, seed)
    rows = []
    for site, beside in enumerate(unlisted):
        genotype = tuple(listed.genotypes[site].tolist())
        rows.append(_Row(int(listed.starts[site]), tuple(listed.texts(site)), genotype, site))
        carried = tuple(int((allele > 0) == beside.on_alternative) for allele in genotype)
        rows += drawing.beside(site, beside, within, carried)
    rows.sort(key=lambda row: row.start)
    variants = PhasedVariants.from_rows(
        [row.start for row in rows],
        [row.alleles for row in rows],
        [row.genotype for row in rows],
        listed.ploidy,
    )
    return variants, np.array([row.site is not None for row in rows], dtype=np.bool_)


class _Drawing:
    """A reference, the positions still free for a variant, and the random numbers."""

    def __init__(self, reference: ReferenceSlice, listed: PhasedVariants, seed: int) -> None:
        self._first = reference.start
        self._text = reference.bases.tobytes().decode("ascii")
        self._rng = np.random.default_rng(seed)
        self._is_free = np.isin(reference.bases, LETTERS)
        self._shift_ranges = shift_ranges_of(listed.sites, reference)
        for start, end in zip(self._shift_ranges.starts, self._shift_ranges.ends, strict=True):
            self._occupy(start - self._first, end - self._first)

    def beside(
        self, site: int, unlisted: Unlisted, within: int, genotype: tuple[int, ...]
    ) -> Iterator[_Row]:
        """Draw the variants beside one site."""
        low = max(int(self._shift_ranges.starts[site]) - self._first - within, 0)
        high = int(self._shift_ranges.ends[site]) - self._first + within
        if unlisted.indel:
            yield from self._variant(low, high, unlisted.indel, genotype)
        for _ in range(unlisted.snvs):
            yield from self._variant(low, high, 0, genotype)

    def _variant(
        self, low: int, high: int, indel: int, genotype: tuple[int, ...]
    ) -> Iterator[_Row]:
        """Draw an indel or, for 0 bases, an SNV; none where no position is free."""
        size = 1 + max(-indel, 0)
        free = self._is_free[low : high + size - 1]
        if free.size < size:
            return
        starts = np.flatnonzero(np.lib.stride_tricks.sliding_window_view(free, size).all(axis=1))
        if not starts.size:
            return
        start = low + int(self._rng.choice(starts))
        old = self._text[start : start + size]
        self._occupy(start, start + size)
        yield _Row(self._first + start, (old, self._changed(old, indel)), genotype)

    def _changed(self, old: str, indel: int) -> str:
        if indel:
            return old[0] + random_bases(max(indel, 0), self._rng).tobytes().decode("ascii")
        return str(self._rng.choice([base for base in "ACGT" if base != old]))

    def _occupy(self, start: int, end: int) -> None:
        """Exclude an interval, and a base on either side, from later variants."""
        self._is_free[max(start - 1, 0) : end + 1] = False
