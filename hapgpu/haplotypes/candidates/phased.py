"""Which alleles stand together on the haplotypes of samples, as their genotypes tell."""

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
"""Rows of `Sites.alleles` that stand together, ascending."""

Group: TypeAlias = tuple[Option, ...]


def option_counts(
    sites: Sites, genotypes: Sequence[Sequence[Genotype]] | None = None
) -> NDArray[np.int64]:
    """int64[s]: by how much each site may multiply the combinations of a locus.

    These are the alleles to choose from: of the sample with the most, if there are genotypes. A
    phased genotype counts 1, for it takes the side that its phase set takes elsewhere.

    Parameters
    ----------
    sites
        s sites.
    genotypes
        Of each site, those of its samples; None: all alleles are to be chosen from.
    """
    if genotypes is None:
        is_sequence = sites.kinds == AlleleKind.SEQUENCE
        return np.add.reduceat(is_sequence, sites.allele_offsets[:-1], dtype=np.int64)
    return np.array(
        [
            max(_option_count(options, genotype) for genotype in set(of_site))
            for options, of_site in zip(_site_options(sites, _edits(sites)), genotypes, strict=True)
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
    """Let each sample carry what its genotypes say, at each of l loci.

    What all copies of the chromosome have is no choice. Heterozygous genotypes of one phase set
    and one ploidy are chosen together, a copy of the chromosome each; without phase an allele is
    chosen at each site, and any of the site's where the genotype is unknown. Alleles without a
    sequence change nothing. Of alleles that cannot stand on one copy, for they change the same
    bases, the first does, as in `bcftools consensus`. Samples that have the same choice are one
    carrier.

    Parameters
    ----------
    sites
        s sites.
    loci
        Of these sites.
    genotypes
        Of each site, those of its samples, as many at every site.

    Returns
    -------
    PhaseGroups
        Of the carriers.
    int
        How many alleles were left out because another stands on the same copy.
    """
    edits = _edits(sites)
    options = list(_site_options(sites, edits))
    carriers: list[tuple[Group, ...]] = []
    carrier_counts = []
    contradictions = 0
    for start, stop in pairwise(loci.site_offsets.tolist()):
        distinct: dict[tuple[Group, ...], None] = {}
        # Of many samples, most have what others have.
        by_sample = Counter(zip(*genotypes[start:stop], strict=True))
        for of_sample, samples in by_sample.items():
            copies = _Copies(edits)
            for site_options, genotype in zip(options[start:stop], of_sample, strict=True):
                copies.add(site_options, genotype)
            distinct[copies.groups()] = None
            contradictions += copies.contradictions * samples
        carriers += distinct
        carrier_counts.append(len(distinct))
    return _as_choices(carriers, carrier_counts), contradictions


def _site_options(sites: Sites, edits: Sequence[_Edit]) -> Iterator[tuple[Option, ...]]:
    """Yield, for each site, what each of its alleles puts in place of REF."""
    for reference, end in pairwise(sites.allele_offsets.tolist()):
        alternatives = range(reference + 1, end)
        yield ((), *(() if edits[row].changes_nothing else (row,) for row in alternatives))


class _Edit(NamedTuple):
    """What an allele does to the reference."""

    start: int
    end: int
    has_text: bool

    def clashes(self, other: _Edit) -> bool:
        """Tell whether the two, both of which change something, cannot stand together."""
        if self.start != other.start:
            return self.start < other.end and other.start < self.end
        # At one place, an insertion may stand before bases that are replaced, and nothing else.
        insertion, replaced = sorted((self, other))
        is_insertion = insertion.start == insertion.end
        return not (is_insertion and replaced.start < replaced.end and replaced.has_text)

    @property
    def changes_nothing(self) -> bool:
        """Whether the allele reads as REF does."""
        return self.start == self.end and not self.has_text


def _edits(sites: Sites) -> list[_Edit]:
    """Return what each allele does."""
    edits = trimmed_alleles_of(sites)
    has_text = edits.text_begins < edits.text_ends
    columns = edits.starts.tolist(), edits.ends.tolist(), has_text.tolist()
    return [_Edit(*row) for row in zip(*columns, strict=True)]


class _Copies:
    """The choice of one sample at a locus, put together site by site.

    Attributes
    ----------
    contradictions
        Alleles left out.
    """

    def __init__(self, edits: Sequence[_Edit]) -> None:
        self.contradictions = 0
        self._edits = edits
        self._fixed: list[int] = []
        self._free: list[Group] = []
        self._phased: dict[tuple[str, int], list[list[int]]] = {}

    def add(self, site_options: Sequence[Option], genotype: Genotype) -> None:
        """Add a site by what each of its alleles puts in place of REF."""
        copies = [site_options[allele] for allele in genotype.alleles]
        if not copies:
            self._free.append(tuple(dict.fromkeys(site_options)))
        elif len(set(copies)) == 1:
            self._put_on_all(copies[0])
        elif genotype.phase_set is None:
            self._free.append(tuple(sorted(set(copies))))
        else:
            key = (genotype.phase_set, len(copies))
            sides = self._phased.setdefault(key, [[] for _ in copies])
            for option, side in zip(copies, sides, strict=True):
                self._put(option, side)

    def _put_on_all(self, option: Option) -> None:
        """Put an allele on every copy, or on every copy of a phase set that has no other there."""
        for sides in self._phased.values():
            if any(self._clashes(row, side) for row in option for side in sides):
                for side in sides:
                    self._put(option, side)
                return
        self._put(option, self._fixed)

    def _put(self, option: Option, side: list[int]) -> None:
        """Put an allele on one copy, or on all, unless another stands there."""
        for row in option:
            if self._clashes(row, side) or self._clashes(row, self._fixed):
                self.contradictions += 1
            else:
                side.append(row)

    def _clashes(self, row: int, others: Sequence[int]) -> bool:
        edit = self._edits[row]
        return any(edit.clashes(self._edits[other]) for other in others)

    def groups(self) -> tuple[Group, ...]:
        """Return the choice, of one group at least."""
        phased = [tuple(dict.fromkeys(map(tuple, sides))) for sides in self._phased.values()]
        chosen = (*phased, *self._free)
        return ((tuple(self._fixed),), *chosen) if self._fixed or not chosen else chosen


def _as_choices(carriers: Sequence[Sequence[Group]], counts: Sequence[int]) -> PhaseGroups:
    """Put carriers, so many of each locus, into columns."""
    groups = [group for carrier in carriers for group in carrier]
    options = [option for group in groups for option in group]
    return PhaseGroups(
        np.repeat(np.arange(len(counts)), counts),
        offsets_of([len(carrier) for carrier in carriers]),
        offsets_of([len(group) for group in groups]),
        Ragged.from_lengths(
            np.array([row for option in options for row in option], dtype=np.int32),
            [len(option) for option in options],
        ),
    )
