"""Genotypes in the order of VCF 4.3, as in PL and other fields of Number=G."""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray

MAX_GENOTYPES: Final = 10_000
"""A site with more genotypes is not genotyped: its VCF line would be mostly PL."""


def genotype_counts(alleles: NDArray[np.int64], ploidy: int) -> NDArray[np.int64]:
    """Count the genotypes of sites with these numbers of alleles, at least 1.

    Parameters
    ----------
    alleles
        int64[s], REF included.
    ploidy
        Copies of the chromosome.

    Returns
    -------
    int64[s]; 0 where there are more than `MAX_GENOTYPES`.
    """
    distinct, rows = np.unique(alleles, return_inverse=True)
    exact = (comb(int(count) + ploidy - 1, ploidy) for count in distinct)
    counts = np.array([count if count <= MAX_GENOTYPES else 0 for count in exact], dtype=np.int64)
    return counts[rows]


@lru_cache(maxsize=8)
def genotype_table(alleles: int, ploidy: int) -> NDArray[np.int16]:
    """Return all genotypes of a number of alleles, in the order of VCF 4.3 (Number=G).

    They are sorted by their highest allele, then by the next highest, and so on, so that the
    genotypes of fewer alleles are the first rows of this table. The genotype of the alleles
    k_1 <= ... <= k_P is in row sum over m of binom(k_m + m - 1, m).

    Parameters
    ----------
    alleles
        Number of alleles, REF included, at least 1.
    ploidy
        Copies of the chromosome, P, at least 1.

    Returns
    -------
    int16[binom(alleles + P - 1, P), P], read-only: the alleles of each genotype, ascending.
    """
    highest = np.arange(alleles)
    table = highest[:, np.newaxis]
    for copies in range(1, ploidy):
        counts = np.array([comb(allele + copies, copies) for allele in highest])
        others = np.concatenate([np.arange(count) for count in counts])
        table = np.column_stack((table[others], np.repeat(highest, counts)))
    genotypes = table.astype(np.int16)
    genotypes.flags.writeable = False
    return genotypes


def common_table(alleles: NDArray[np.int64], ploidy: int) -> NDArray[np.int16]:
    """Return int16[g, ploidy]: a `genotype_table` whose first rows are the table of each site.

    Parameters
    ----------
    alleles
        int64[s], REF included; sites with more than `MAX_GENOTYPES` are ignored.
    ploidy
        Copies of the chromosome.
    """
    countable = alleles[genotype_counts(alleles, ploidy) > 0]
    return genotype_table(int(countable.max(initial=1)), ploidy)
