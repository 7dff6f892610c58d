"""Reference implementation of the choice of haplotypes and of alleles, one read at a time.

The rules are those of GATK's AlleleLikelihoods.
"""

from __future__ import annotations

from collections.abc import Sequence


def best_haplotype_reference(
    likelihoods: Sequence[float], is_reference: Sequence[bool], elements: Sequence[int]
) -> tuple[int, bool]:
    """Choose the haplotype to which a read is realigned.

    Parameters
    ----------
    likelihoods
        log10, of each haplotype.
    is_reference
        Whether the haplotype is the reference.
    elements
        Elements of its CIGAR.

    Returns
    -------
    The number of the haplotype, and whether it is more than 0.2 above the next.
    """
    ranked = sorted(range(len(likelihoods)), key=lambda k: -likelihoods[k])
    best = ranked[0]
    difference = likelihoods[best] - likelihoods[ranked[1]] if len(ranked) > 1 else float("inf")
    if difference < 0.2:
        near = [best, *(k for k in sorted(ranked) if likelihoods[best] - likelihoods[k] <= 0.2)]
        best = max(near, key=lambda k: int(is_reference[k]) + 1 - elements[k])
    return best, difference > 0.2


def allele_likelihoods_reference(
    likelihoods: Sequence[float], carried: Sequence[int], alleles: int
) -> list[float]:
    """Return the likelihood of a read given each allele, from those given haplotypes.

    Parameters
    ----------
    likelihoods
        log10, of each haplotype.
    carried
        The allele of each haplotype; -1 for none.
    alleles
        Number of alleles.
    """
    lowest = max(likelihoods) - 4.5
    return [
        max(
            (value for value, other in zip(likelihoods, carried, strict=True) if other == allele),
            default=lowest,
        )
        for allele in range(alleles)
    ]


def is_at_site_reference(read: range, site: range) -> bool:
    """Return whether a read, the positions of its alignment, is at a site, those of REF."""
    first, last = read.start + 1, read.stop  # as in GATK: 1-based, both inclusive
    return first <= site.stop + 2 and last >= site.start + 1 - 2
