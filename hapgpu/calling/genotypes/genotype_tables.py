"""Genotypes of any ploidy, in the order of VCF: their alleles, copies and numbers.

A genotype of P copies has a row in the table of P. The rows of fewer alleles come first, so one
table per ploidy serves all sites.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb, log10
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import AnyArray, Integer
from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.ploidies import DIPLOID
from hapgpu.genotyping.calls.genotype_order import genotype_table
from hapgpu.runtime.jit import njit, njit_inlined

_LARGEST: Final = 2**62
"""Limit of numbers of genotypes that no site has."""


class GenotypeTables(NamedTuple):
    """Tables of the genotypes of several ploidies other than 2, one after the other.

    Attributes
    ----------
    firsts
        int64[h + 1]: the first row of the table of each ploidy, up to the highest, h.
    offsets
        int64[g + 1]: the different alleles of row k are `offsets[k]` to `offsets[k + 1]`.
    alleles, copies
        int64[c]: the alleles of each genotype, ascending, and how many copies it has of each.
    arrangements
        float64[g]: log10 of the number of ways to order the copies, P! / prod of copies!.
    log10_copies
        float64[h + 1]: log10 of each number of copies; 0 for none.
    steps
        int64[h + 1, a + 1]: how many genotypes of k copies have only alleles below a.
    """

    firsts: NDArray[np.int64]
    offsets: NDArray[np.int64]
    alleles: NDArray[np.int64]
    copies: NDArray[np.int64]
    arrangements: NDArray[np.float64]
    log10_copies: NDArray[np.float64]
    steps: NDArray[np.int64]


class SiteGenotypes(NamedTuple):
    """Genotypes of s sites.

    Attributes
    ----------
    alleles, ploidies
        int64[s]: alleles of each site, REF included, and copies of each sample.
    offsets
        int64[s + 1]: site i has `offsets[i + 1] - offsets[i]` genotypes.
    tables
        Those of the sites that are not diploid.
    highest
        The highest ploidy of the run.
    """

    alleles: NDArray[np.int64]
    ploidies: NDArray[np.int64]
    offsets: NDArray[np.int64]
    tables: GenotypeTables
    highest: int


def site_genotypes(
    alleles: NDArray[np.int64], ploidies: NDArray[np.int64], highest: int
) -> SiteGenotypes:
    """Return the genotypes of s sites.

    Parameters
    ----------
    alleles, ploidies
        int64[s], as of `SiteGenotypes`.
    highest
        The highest ploidy of the run.
    """
    counts = genotype_counts(alleles, ploidies)
    tables = tables_of(alleles, ploidies)
    return SiteGenotypes(
        read_only(alleles), read_only(ploidies), read_only(offsets_of(counts)), tables, highest
    )


class _Table(NamedTuple):
    """Table of one ploidy: number of different alleles of each genotype, and as above."""

    counts: NDArray[np.int64]
    alleles: NDArray[np.int64]
    copies: NDArray[np.int64]
    arrangements: NDArray[np.float64]


def genotype_counts(alleles: NDArray[np.int64], ploidies: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[s]: the number of genotypes of each site.

    Parameters
    ----------
    alleles
        int64[s]: alleles of each site, REF included.
    ploidies
        int64[s]: copies at each site.
    """
    counts: NDArray[np.int64] = alleles * (alleles + 1) // 2
    others = np.flatnonzero(ploidies != DIPLOID)
    if others.size:
        pairs = np.column_stack([alleles[others], ploidies[others]])
        distinct, rows = np.unique(pairs, axis=0, return_inverse=True)
        exact = np.array([comb(a + p - 1, p) for a, p in distinct.tolist()], dtype=np.int64)
        counts[others] = exact[rows.ravel()]
    return counts


def most_alleles(ploidies: NDArray[np.int64], max_genotypes: int) -> NDArray[np.int64]:
    """Return int64[n]: how many alleles have at most `max_genotypes` genotypes; at least 1.

    Source: `GenotypeIndexCalculator.computeMaxAcceptableAlleleCount` of broadinstitute/gatk.

    Parameters
    ----------
    ploidies
        int64[n].
    max_genotypes
        At least 1.
    """
    distinct, rows = np.unique(ploidies, return_inverse=True)
    most = [_most_alleles(p, max_genotypes) for p in distinct.tolist()]
    return np.array(most, dtype=np.int64)[rows.ravel()]


def _most_alleles(ploidy: int, max_genotypes: int) -> int:
    low, high = 1, max_genotypes + 1  # a further allele is at least a further genotype
    while low + 1 < high:
        middle = (low + high) // 2
        fits = comb(middle + ploidy - 1, ploidy) <= max_genotypes
        low, high = (middle, high) if fits else (low, middle)
    return low


def tables_of(alleles: NDArray[np.int64], ploidies: NDArray[np.int64]) -> GenotypeTables:
    """Return the tables of the sites that are not diploid; those are written as loops.

    Parameters
    ----------
    alleles
        int64[s]: alleles of each site, REF included.
    ploidies
        int64[s]: copies at each site.
    """
    others = ploidies != DIPLOID
    if not others.any():
        return _joined({})
    largest = {int(p): int(alleles[ploidies == p].max()) for p in np.unique(ploidies[others])}
    return _joined(largest)


def _joined(largest: dict[int, int]) -> GenotypeTables:
    """Join the tables of ploidies, each of its largest number of alleles."""
    highest, most = max(largest, default=DIPLOID), max(largest.values(), default=1)
    tables = {ploidy: _table(count, ploidy) for ploidy, count in sorted(largest.items())}
    firsts = np.zeros(highest + 1, dtype=np.int64)
    row = 0
    for ploidy, table in tables.items():
        firsts[ploidy] = row
        row += table.counts.size
    parts = [_NO_TABLE, *tables.values()]
    columns = _Table(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    return GenotypeTables(
        read_only(firsts),
        read_only(offsets_of(columns.counts)),
        read_only(columns.alleles),
        read_only(columns.copies),
        read_only(columns.arrangements),
        read_only(np.log10(np.maximum(np.arange(highest + 1), 1))),
        read_only(_steps(highest, most)),
    )


@lru_cache(maxsize=16)
def _table(alleles: int, ploidy: int) -> _Table:
    genotypes = genotype_table(alleles, ploidy).astype(np.int64)
    is_first = np.ones(genotypes.shape, dtype=np.bool_)
    is_first[:, 1:] = genotypes[:, 1:] != genotypes[:, :-1]
    rows, columns = np.nonzero(is_first)
    ends = np.append(columns[1:], 0)
    ends[np.append(rows[1:] != rows[:-1], True)] = ploidy
    copies = ends - columns
    logs = np.array([log10_factorial(k) for k in range(ploidy + 1)])
    arrangements = logs[ploidy] - np.bincount(rows, logs[copies], len(genotypes))
    return _Table(is_first.sum(axis=1), genotypes[rows, columns], copies, arrangements)


_NO_NUMBERS: Final = np.empty(0, dtype=np.int64)
_NO_TABLE: Final = _Table(_NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, np.empty(0))


def log10_factorial(number: int) -> float:
    """Return log10(number!)."""
    return sum(log10(k) for k in range(2, number + 1))


@lru_cache(maxsize=16)
def _steps(highest: int, alleles: int) -> NDArray[np.int64]:
    rows = [
        [min(comb(a + k - 1, k), _LARGEST) if a else 0 for a in range(alleles + 1)]
        for k in range(highest + 1)
    ]
    return np.array(rows, dtype=np.int64)


@njit_inlined
def genotype_number(
    tables: GenotypeTables, row: Integer, numbers: AnyArray, start: Integer
) -> Integer:
    """Return the number of the genotype of a row, whose allele k is `numbers[start + k]`.

    `numbers`, any integer dtype, ascend.
    """
    number, copy = np.int64(0), np.int64(0)
    for k in range(tables.offsets[row], tables.offsets[row + 1]):
        allele = np.int64(numbers[start + tables.alleles[k]])
        for _ in range(tables.copies[k]):
            copy += 1
            number += tables.steps[copy, allele]
    return number


@njit
def copies_of(tables: GenotypeTables, row: Integer, allele: Integer) -> Integer:
    """Return how many copies of an allele the genotype of a row has."""
    for k in range(tables.offsets[row], tables.offsets[row + 1]):
        if tables.alleles[k] == allele:
            return np.int64(tables.copies[k])
    return np.int64(0)
