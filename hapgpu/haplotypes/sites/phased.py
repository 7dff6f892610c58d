"""Groups of alleles that combine on haplotypes, from the genotypes of samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.haplotypes.batches import AlleleKind, Loci, PhaseGroups, Sites
from hapgpu.haplotypes.sites.sample_genotypes import Genotype
from hapgpu.haplotypes.sites.trimmed_alleles import trimmed_alleles_of

Option: TypeAlias = tuple[int, ...]
"""Rows of `Sites.alleles` on one haplotype, ascending."""

Group: TypeAlias = tuple[Option, ...]


def option_counts(
    sites: Sites, genotypes: Sequence[Sequence[Genotype]] | None = None
) -> NDArray[np.int64]:
    """Return int64[s]: the factor by which each site multiplies the combinations of a locus.

    It is the number of alleles with a sequence or, with genotypes, the largest number of distinct
    alleles of a sample. A phased genotype counts 1: its phase set decides its allele.

    Parameters
    ----------
    sites
        s sites.
    genotypes
        Genotypes of the samples at each site; None: all alleles may be chosen.
    """
    if genotypes is None:
        is_sequence = sites.kinds == AlleleKind.SEQUENCE
        return np.add.reduceat(is_sequence, sites.allele_offsets[:-1], dtype=np.int64)
    return np.array(
        [
            max(_option_count(options, genotype) for genotype in set(of_samples))
            for options, of_samples in zip(
                _site_options(sites, _edits(sites)), genotypes, strict=True
            )
        ],
        dtype=np.int64,
    )


def _option_count(options: Sequence[Option], genotype: Genotype) -> int:
    if not genotype.alleles:
        return len(set(options))
    if genotype.phase_set is not None:
        return 1
    return len({options[allele] for allele in genotype.alleles})


def phase_groups_of_samples(
    sites: Sites, loci: Loci, genotypes: Sequence[Sequence[Genotype]]
) -> tuple[PhaseGroups, int]:
    """Return the phase groups of the genotypes of samples, at each of l loci.

    Alleles of all chromosome copies are fixed. Heterozygous genotypes of one phase set and one
    ploidy form one group, whose options are the chromosome copies. A genotype without phase is a
    group of its alleles, an unknown genotype a group of all alleles of the site. Alleles without a
    sequence change nothing. Of alleles of one copy that change the same bases, only the first is
    used, as in `bcftools consensus`. Samples with equal groups share one set.

    Parameters
    ----------
    sites
        s sites.
    loci
        Loci of these sites.
    genotypes
        Genotypes of the samples at each site, equally many at every site.

    Returns
    -------
    PhaseGroups
        A set for each distinct combination of genotypes at a locus.
    int
        Number of alleles excluded because another allele of the same copy changes the same bases.
    """
    edits = _edits(sites)
    options = list(_site_options(sites, edits))
    group_sets: list[tuple[Group, ...]] = []
    set_counts = []
    conflicting_alleles = 0
    for start, end in pairwise(loci.site_offsets.tolist()):
        distinct: dict[tuple[Group, ...], None] = {}
        # Most of many samples have the same genotypes.
        sample_counts = Counter(zip(*genotypes[start:end], strict=True))
        for sample_genotypes, samples in sample_counts.items():
            copies = _Copies(edits)
            for site_options, genotype in zip(options[start:end], sample_genotypes, strict=True):
                copies.add(site_options, genotype)
            distinct[copies.groups()] = None
            conflicting_alleles += copies.conflicting_alleles * samples
        group_sets += distinct
        set_counts.append(len(distinct))
    return _phase_groups(group_sets, set_counts), conflicting_alleles


def _site_options(sites: Sites, edits: Sequence[_Edit]) -> Iterator[tuple[Option, ...]]:
    """Yield the options of each site: for each of its alleles, the allele rows that replace REF."""
    for reference, end in pairwise(sites.allele_offsets.tolist()):
        alternatives = range(reference + 1, end)
        yield ((), *(() if edits[row].changes_nothing else (row,) for row in alternatives))


class _Edit(NamedTuple):
    """Reference interval of an allele, and whether it inserts bases."""

    start: int
    end: int
    has_text: bool

    def conflicts(self, other: _Edit) -> bool:
        """Return whether the two cannot be on one copy; both change the reference."""
        if self.start != other.start:
            return self.start < other.end and other.start < self.end
        # At one position, only an insertion and a replacement after it can combine.
        insertion, replaced = sorted((self, other))
        is_insertion = insertion.start == insertion.end
        return not (is_insertion and replaced.start < replaced.end and replaced.has_text)

    @property
    def changes_nothing(self) -> bool:
        """Whether the allele equals REF."""
        return self.start == self.end and not self.has_text


def _edits(sites: Sites) -> list[_Edit]:
    """Return the edit of each allele."""
    trimmed = trimmed_alleles_of(sites)
    has_text = trimmed.text_starts < trimmed.text_ends
    columns = trimmed.starts.tolist(), trimmed.ends.tolist(), has_text.tolist()
    return [_Edit(*row) for row in zip(*columns, strict=True)]


class _Copies:
    """Groups of one sample at a locus, built site by site.

    Attributes
    ----------
    conflicting_alleles
        Number of alleles excluded.
    """

    def __init__(self, edits: Sequence[_Edit]) -> None:
        self.conflicting_alleles = 0
        self._edits = edits
        self._fixed: list[int] = []
        self._free: list[Group] = []
        self._phased: dict[tuple[str, int], list[list[int]]] = {}

    def add(self, site_options: Sequence[Option], genotype: Genotype) -> None:
        """Add the genotype of a site, given the options of the site."""
        copies = [site_options[allele] for allele in genotype.alleles]
        if not copies:
            self._free.append(tuple(dict.fromkeys(site_options)))
        elif len(set(copies)) == 1:
            self._put_on_all(copies[0])
        elif genotype.phase_set is None:
            self._free.append(tuple(sorted(set(copies))))
        else:
            key = (genotype.phase_set, len(copies))
            phased = self._phased.setdefault(key, [[] for _ in copies])
            for option, copy in zip(copies, phased, strict=True):
                self._put(option, copy)

    def _put_on_all(self, option: Option) -> None:
        """Put an allele on every copy, or on those of a phase set that do not conflict with it."""
        for phased in self._phased.values():
            if any(self._conflicts(row, copy) for row in option for copy in phased):
                for copy in phased:
                    self._put(option, copy)
                return
        self._put(option, self._fixed)

    def _put(self, option: Option, copy: list[int]) -> None:
        """Put an allele on one copy, or on all, unless it conflicts with another allele."""
        for row in option:
            if self._conflicts(row, copy) or self._conflicts(row, self._fixed):
                self.conflicting_alleles += 1
            else:
                copy.append(row)

    def _conflicts(self, row: int, others: Sequence[int]) -> bool:
        edit = self._edits[row]
        return any(edit.conflicts(self._edits[other]) for other in others)

    def groups(self) -> tuple[Group, ...]:
        """Return the groups, at least one."""
        phased = [tuple(dict.fromkeys(map(tuple, copies))) for copies in self._phased.values()]
        groups = (*phased, *self._free)
        return ((tuple(self._fixed),), *groups) if self._fixed or not groups else groups


def _phase_groups(group_sets: Sequence[Sequence[Group]], counts: Sequence[int]) -> PhaseGroups:
    """Return sets of groups as arrays; `counts` are the sets of each locus."""
    groups = [group for group_set in group_sets for group in group_set]
    options = [option for group in groups for option in group]
    return PhaseGroups(
        np.repeat(np.arange(len(counts)), counts),
        offsets_of([len(group_set) for group_set in group_sets]),
        offsets_of([len(group) for group in groups]),
        Ragged.from_lengths(
            np.array([row for option in options for row in option], dtype=np.int32),
            [len(option) for option in options],
        ),
    )


def phase_groups_of_sites(sites: Sites, loci: Loci) -> PhaseGroups:
    """Return the phase groups of any combination of alleles: one set per locus, a group per site.

    The options of a site are REF, the base option, and each ALT with a sequence, in their order.
    """
    is_reference = np.zeros(sites.kinds.size, dtype=np.bool_)
    is_reference[sites.allele_offsets[:-1]] = True
    is_option = is_reference | (sites.kinds == AlleleKind.SEQUENCE)
    rows = np.flatnonzero(is_option & ~is_reference).astype(np.int32)
    option_ends = np.append(0, np.cumsum(is_option))
    return PhaseGroups(
        np.arange(len(loci)),
        loci.site_offsets,
        option_ends[sites.allele_offsets],
        Ragged(rows, offsets_of(~is_reference[is_option])),
    )
