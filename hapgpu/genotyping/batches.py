"""Arrays between stages: clipped reads at loci, their likelihoods, genotypes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.haplotypes.batches import LocusBatch


@dataclass(frozen=True, slots=True)
class LocusReads:
    """Loci, and the reads that may overlap them.

    Attributes
    ----------
    batch
        The loci.
    reads
        n mapped reads with bases, on the contig of the loci.
    samples, files
        int32[n], sample and input of each read.
    """

    batch: LocusBatch
    reads: ReadBatch
    samples: NDArray[np.int32]
    files: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ClippedReads:
    """w clipped reads: the part of a read within a locus and a margin.

    They are ordered by locus, sample and fragment: mates are side by side.

    Attributes
    ----------
    reads
        int64[w], rows of the batch of reads.
    loci
        int64[w], ascending.
    samples
        int32[w].
    base_starts, base_ends
        int64[w]: offsets of the bases in the read, half-open.
    starts, ends
        int64[w], 0-based, half-open: the reference interval that these bases are aligned to;
        soft-clipped bases count as aligned without gaps.
    fragment_offsets
        int64[f + 1]: the clipped reads of fragment k are rows `fragment_offsets[k]` to
        `fragment_offsets[k + 1]`; never empty, and of one locus and one sample.
    """

    reads: NDArray[np.int64]
    loci: NDArray[np.int64]
    samples: NDArray[np.int32]
    base_starts: NDArray[np.int64]
    base_ends: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    fragment_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return self.reads.size


@dataclass(frozen=True, slots=True)
class FragmentEvidence:
    """f fragments at loci, ordered by locus and sample, with their haplotype likelihoods.

    Attributes
    ----------
    loci, samples
        int64[f] and int32[f].
    likelihoods
        float64 rows, f of them: log10, finite, a value for each haplotype of the locus.
    cover
        int64 rows, f of them: (start, end) of the reference interval of each clipped read of the
        fragment, flattened.
    is_explained
        bool[f]: whether a haplotype explains at least one clipped read of the fragment
        (`hapgpu.pairhmm.normalize.is_well_modelled`).
    """

    loci: NDArray[np.int64]
    samples: NDArray[np.int32]
    likelihoods: Ragged
    cover: Ragged
    is_explained: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class SiteLikelihoods:
    """Genotype likelihoods of m samples at s sites.

    Genotypes of a site with A alleles and ploidy P are in the order of VCF 4.3 (Number=G).

    Attributes
    ----------
    depths
        int32[s, m]: DP, the fragments used at the site
        (`hapgpu.genotyping.reads.spanning.span_requirements_of`).
    allele_depths
        int32 rows, s * m of them, site by site and sample by sample: AD, A values, the fragments
        that support each allele.
    genotypes
        float64 rows, s * m of them: log10 P(reads | genotype) of each genotype; none at a site with
        too many genotypes (`hapgpu.genotyping.calls.genotype_order.MAX_GENOTYPES`).
    """

    depths: NDArray[np.int32]
    allele_depths: Ragged
    genotypes: Ragged


@dataclass(frozen=True, slots=True)
class GenotypeCalls:
    """The genotypes of m samples at s sites.

    Attributes
    ----------
    genotypes
        int16[s, m, P]: numbers of alleles, ascending; all -1 for no call.
    qualities
        int16[s, m]: GQ; -1 for no call.
    depths, allele_depths
        As in `SiteLikelihoods`.
    phred_likelihoods
        int32 rows, s * m of them: PL, 0 for the best; no values for no call.
    variant_qualities
        float64[s]: QUAL; NaN if no sample has a call.
    """

    genotypes: NDArray[np.int16]
    qualities: NDArray[np.int16]
    depths: NDArray[np.int32]
    allele_depths: Ragged
    phred_likelihoods: Ragged
    variant_qualities: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Genotyped:
    """Loci, the calls of their sites, and named counts of the work."""

    batch: LocusBatch
    calls: GenotypeCalls
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class GenotypedLoci:
    """Loci that were genotyped while their reads were read, as they have too many to be held."""

    parts: Sequence[Genotyped]
