"""Variants that a list of sites lacks, put beside the listed ones onto the same haplotype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.haplotypes.batches import AlleleKind, ReferenceSlice, Sites
from hapgpu.haplotypes.sites.shift_ranges import shift_ranges_of
from hapgpu.simulation.phased_variants import PhasedVariants

_BASES = "ACGT"


@dataclass(frozen=True, slots=True)
class Unlisted:
    """The unlisted variants beside one listed site.

    Attributes
    ----------
    snvs
        How many SNVs.
    indel
        Bases of one insertion (positive) or deletion (negative); 0 for none.
    on_alternative
        Whether the copies with an ALT of the site carry them, or the copies with REF.
    """

    snvs: int = 0
    indel: int = 0
    on_alternative: bool = True


class _Row(NamedTuple):
    """One variant, and the site of the list that it is; none for what the list lacks."""

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
    """Put unlisted variants beside listed ones.

    Their places are drawn within `within` bases of the REF of the site, and at least a base away
    from where any listed allele could be written, and from each other. Where there is no such
    place, there are fewer of them.

    Parameters
    ----------
    reference
        What the variants change.
    listed
        s variants.
    unlisted
        s entries: what is to stand beside each listed variant.
    within
        Bases on either side.
    seed
        For other variants.

    Returns
    -------
    All variants, and bool[v]: which of them are listed.
    """
    drawing = _Drawing(reference, listed, seed)
    rows = []
    for site, beside in enumerate(unlisted):
        genotype = tuple(listed.genotypes[site].tolist())
        rows.append(_Row(int(listed.starts[site]), tuple(listed.texts(site)), genotype, site))
        carriers = tuple(int((allele > 0) == beside.on_alternative) for allele in genotype)
        rows += drawing.beside(site, beside, within, carriers)
    rows.sort(key=lambda row: row.start)
    variants = PhasedVariants.from_rows(
        [row.start for row in rows],
        [row.alleles for row in rows],
        [row.genotype for row in rows],
        listed.ploidy,
    )
    return variants, np.array([row.site is not None for row in rows], dtype=np.bool_)


class _Drawing:
    """A reference, where it may still be changed, and the chance by which it is."""

    def __init__(self, reference: ReferenceSlice, listed: PhasedVariants, seed: int) -> None:
        self._first = reference.start
        self._text = reference.bases.tobytes().decode("ascii")
        self._rng = np.random.default_rng(seed)
        self._is_free = np.isin(reference.bases, np.frombuffer(_BASES.encode(), dtype=np.uint8))
        kinds = np.full(len(listed.alleles), AlleleKind.SEQUENCE, dtype=np.uint8)
        sites = Sites((), listed.starts, listed.alleles, kinds, listed.allele_offsets)
        self._extents = shift_ranges_of(sites, reference)
        for start, end in zip(self._extents.starts, self._extents.ends, strict=True):
            self._take(start - self._first, end - self._first)

    def beside(
        self, site: int, unlisted: Unlisted, within: int, carriers: tuple[int, ...]
    ) -> Iterator[_Row]:
        """Draw the variants beside one site."""
        low = max(int(self._extents.starts[site]) - self._first - within, 0)
        high = int(self._extents.ends[site]) - self._first + within
        if unlisted.indel:
            yield from self._variant(low, high, unlisted.indel, carriers)
        for _ in range(unlisted.snvs):
            yield from self._variant(low, high, 0, carriers)

    def _variant(
        self, low: int, high: int, indel: int, carriers: tuple[int, ...]
    ) -> Iterator[_Row]:
        """Draw an indel or, of 0 bases, an SNV; nothing where there is no room."""
        size = 1 + max(-indel, 0)
        free = self._is_free[low : high + size - 1]
        if free.size < size:
            return
        places = np.flatnonzero(np.lib.stride_tricks.sliding_window_view(free, size).all(axis=1))
        if not places.size:
            return
        start = low + int(self._rng.choice(places))
        old = self._text[start : start + size]
        self._take(start, start + size)
        yield _Row(self._first + start, (old, self._changed(old, indel)), carriers)

    def _changed(self, old: str, indel: int) -> str:
        if indel:
            return old[0] + self._random_bases(max(indel, 0))
        return str(self._rng.choice([base for base in _BASES if base != old]))

    def _random_bases(self, count: int) -> str:
        return "".join(_BASES[code] for code in self._rng.integers(0, 4, count))

    def _take(self, start: int, end: int) -> None:
        """Let nothing else be drawn there, nor right beside it."""
        self._is_free[max(start - 1, 0) : end + 1] = False
