"""What reads say: their parts at loci, their likelihoods, the genotypes that follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.haplotypes.batches import LocusBatch


@dataclass(frozen=True, slots=True)
class LocusReads:
    """Loci, and the reads that may meet them.

    Attributes
    ----------
    batch
        The loci.
    reads
        n mapped reads with bases of the contig of the loci.
    samples, files
        int32[n], whose each read is, and from which of the inputs.
    """

    batch: LocusBatch
    reads: ReadBatch
    samples: NDArray[np.int32]
    files: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ClippedReads:
    """w parts of reads: of a read at a locus, what lies within the locus and a margin.

    They are in the order of locus, sample and fragment: the mates of a pair side by side.

    Attributes
    ----------
    reads
        int64[w], rows of the batch of reads.
    loci
        int64[w], ascending.
    samples
        int32[w].
    begins, ends
        int64[w]: the bases of the read, half-open.
    starts, stops
        int64[w], 0-based, half-open: what of the reference those bases were aligned to; clipped
        bases count as if they were aligned without gaps.
    fragment_offsets
        int64[f + 1]: the parts of fragment k are rows `fragment_offsets[k]` to
        `fragment_offsets[k + 1]`; never empty, and of one locus and one sample.
    """

    reads: NDArray[np.int64]
    loci: NDArray[np.int64]
    samples: NDArray[np.int32]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    fragment_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return self.reads.size


@dataclass(frozen=True, slots=True)
class Evidence:
    """f fragments at loci, in the order of locus and sample, and how likely haplotypes make them.

    Attributes
    ----------
    loci, samples
        int64[f] and int32[f].
    likelihoods
        float64 rows, f of them: log10, finite, a value for each haplotype of the locus.
    cover
        int64 rows, f of them: pairs (start, end) of the reference positions that the parts of the
        fragment cover, one pair after the other.
    is_explained
        bool[f]: whether a haplotype explains at least one of the parts
        (`hapgpu.pairhmm.normalize.is_well_modelled`).
    """

    loci: NDArray[np.int64]
    samples: NDArray[np.int32]
    likelihoods: Ragged
    cover: Ragged
    is_explained: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class SiteLikelihoods:
    """What the reads of m samples say of s sites.

    Genotypes of a site with A alleles and ploidy P are in the order of VCF 4.3 (Number=G).

    Attributes
    ----------
    depths
        int32[s, m]: DP, the fragments that count at the site
        (`hapgpu.genotyping.evidence.spanning.span_requirements_of`).
    allele_depths
        int32 rows, s * m of them, site by site and sample by sample: AD, A values, those of them
        that speak for each allele.
    genotypes
        float64 rows, s * m of them: log10 P(reads | genotype) of each genotype; none at a site with
        too many of them (`hapgpu.genotyping.calls.genotype_order.MAX_GENOTYPES`).
    """

    depths: NDArray[np.int32]
    allele_depths: Ragged
    genotypes: Ragged


@dataclass(frozen=True, slots=True)
class Calls:
    """The genotypes of m samples at s sites.

    Attributes
    ----------
    genotypes
        int16[s, m, P]: numbers of alleles, ascending; -1 throughout where no read speaks.
    qualities
        int16[s, m]: GQ; -1 where no read speaks.
    depths, allele_depths
        As in `SiteLikelihoods`.
    phred_likelihoods
        int32 rows, s * m of them: PL, 0 for the best; no values where no read speaks.
    variant_qualities
        float64[s]: QUAL; NaN where no read speaks in any sample.
    """

    genotypes: NDArray[np.int16]
    qualities: NDArray[np.int16]
    depths: NDArray[np.int32]
    allele_depths: Ragged
    phred_likelihoods: Ragged
    variant_qualities: NDArray[np.float64]
