"""Genotypes of known sites as arrays, for callers in Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.called_variants import CalledVariants
from hapgpu.arrays.ragged import Ragged
from hapgpu.genotyping.batches import Genotyped
from hapgpu.io.vcf.batches import VcfBatch
from hapgpu.io.vcf.records import alternative_alleles

_ID: Final = 2
_QUAL: Final = 5
"""Columns of VCF."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Genotypes(CalledVariants):
    """The genotypes of m samples at v sites, in the order of the VCF.

    Attributes
    ----------
    samples
        Names of the samples.
    contig_names
        Names of the contigs of the reference.
    contigs
        int32[v]: the contig of each site, a number in `contig_names`.
    positions
        int64[v]: 0-based position in bases of the first base of REF; -1 for POS 0.
    ids
        v texts: ID of the records, `.` for none.
    alleles
        v tuples: REF and ALTs of the records, also symbolic ones.
    qualities
        float64[v]: QUAL, Phred; NaN if no sample has a call.
    genotypes
        int16[v, m, ploidy]: numbers of alleles, 0 for REF, ascending; -1 for no call.
    genotype_qualities
        int16[v, m]: GQ, Phred; -1 for no call.
    depths
        int32[v, m]: DP, the fragments used at the site.
    allele_depths
        Ragged int32, v * m rows, site by site: AD, the fragments that support each allele.
    phred_likelihoods
        Ragged int32, v * m rows, site by site: PL, in the order of VCF; none for no call.
    """

    ids: tuple[str, ...]

    def _further_columns(self) -> dict[str, NDArray[Any]]:
        return {"id": np.array(self.ids, dtype=np.object_)}


def no_genotypes(samples: tuple[str, ...], contig_names: tuple[str, ...], ploidy: int) -> Genotypes:
    """Return the genotypes of some samples at no sites."""
    return Genotypes(**Genotypes.empty_columns(samples, contig_names, ploidy), ids=())


def genotypes_of(
    found: Genotyped, contig: int, samples: tuple[str, ...], contig_names: tuple[str, ...]
) -> Genotypes:
    """Return the genotypes of a batch of sites on a contig, given by its number."""
    records, calls = found.batch.sites.records, found.calls
    ids, alleles = zip(*_names(records), strict=True) if len(records) else ((), ())
    return Genotypes(
        samples=samples,
        contig_names=contig_names,
        contigs=np.full(len(records), contig, dtype=np.int32),
        positions=records.starts,
        ids=ids,
        alleles=alleles,
        qualities=calls.variant_qualities,
        genotypes=calls.genotypes,
        genotype_qualities=calls.qualities,
        depths=calls.depths,
        allele_depths=calls.allele_depths,
        phred_likelihoods=calls.phred_likelihoods,
    )


def _names(records: VcfBatch) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield ID and alleles of each record."""
    starts, ends = records.columns[:, _ID], records.columns[:, _QUAL] - 1
    for row in Ragged.gather(records.text, starts, ends - starts):
        columns = row.tobytes().decode("utf-8", "surrogateescape").split("\t")
        identifier, reference, alternatives = columns
        yield identifier, (reference.upper(), *alternative_alleles(alternatives))
