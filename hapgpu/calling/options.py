"""Options of variant discovery; the defaults are those of GATK HaplotypeCaller."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from hapgpu.calling.ploidies import DIPLOID, DIPLOID_EVERYWHERE, Ploidies
from hapgpu.calling.read_options import ReadOptions
from hapgpu.pairhmm.options import PcrModel

if TYPE_CHECKING:  # the help imports no NumPy
    from hapgpu.pairhmm.dragstr.parameters import DragstrParameters

BANDS: Final = (*range(1, 61), 70, 80, 90, 99)
"""Bounds of the bands of GQ: GATK's `--gvcf-gq-bands`."""
MAX_QUALITY: Final = 99
"""GQ, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyOptions:
    """Options of the assembly.

    Attributes
    ----------
    kmer_sizes
        Ascending; all are tried, and their haplotypes joined. Larger ones follow, in steps of 10,
        only if none of them gives a result.
    min_pruning
        Chains of edges that fewer reads of a sample support are removed.
    max_haplotypes
        Best haplotypes of a graph that are kept.
    min_base_quality
        Bases of lower quality are not assembled; read ends of lower quality are clipped.
    use_soft_clipped_bases
        Whether soft-clipped bases of reads in well-defined fragments are used.
    lower_overlaps
        Whether qualities of bases that both mates have are lowered.
    is_strict
        Whether only GATK's rules are followed: no junctions of split reads, no unrolled cycles, no
        further k where a graph has more than `max_haplotypes` paths.
    recovers_all_branches
        Whether dangling branches that fork are recovered, too, by their heaviest edges.
    """

    kmer_sizes: tuple[int, ...] = (10, 25)
    min_pruning: int = 2
    max_haplotypes: int = 128
    min_base_quality: int = 10
    use_soft_clipped_bases: bool = True
    lower_overlaps: bool = True
    is_strict: bool = False
    recovers_all_branches: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOptions:
    """Options of the events of haplotypes, and of their alleles.

    Attributes
    ----------
    max_mnp_distance
        Substitutions of a haplotype at most so far apart are one event; 0: each is one.
    has_spanning_alleles
        Whether events that start before a position are its allele `*`, else they count as REF.
    """

    max_mnp_distance: int = 0
    has_spanning_alleles: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantOptions:
    """Options of genotypes, QUAL and kept alleles: GATK's GenotypeCalculationArgumentCollection.

    Attributes
    ----------
    heterozygosity, indel_heterozygosity
        Expected heterozygosity of SNPs and of indels.
    heterozygosity_deviation
        Standard deviation of both.
    min_confidence
        Phred: variants with a lower QUAL are not written.
    max_alternate_alleles
        ALT alleles per record, at most.
    has_non_ref
        Whether the last allele of each site is `<NON_REF>`; records then keep all alleles.
    ploidies
        Copies of all samples.
    max_genotypes
        Genotypes per site, at most: alleles of the worst haplotypes are excluded.
    """

    heterozygosity: float = 0.001
    indel_heterozygosity: float = 1.25e-4
    heterozygosity_deviation: float = 0.01
    min_confidence: float = 30.0
    max_alternate_alleles: int = 6
    has_non_ref: bool = False
    ploidies: Ploidies = DIPLOID_EVERYWHERE
    max_genotypes: int = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ContaminationOptions:
    """Options on reads of other samples: GATK's `--contamination-fraction-to-filter`.

    Attributes
    ----------
    fraction
        Contaminated fraction of the reads of each sample, from 0 to 1; 0: nothing is removed.
    by_sample
        Names of samples, and their own fractions.
    is_for_annotations
        Whether annotations, too, are made without the reads that are removed.
    """

    fraction: float = 0.0
    by_sample: tuple[tuple[str, float], ...] = ()
    is_for_annotations: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GenomicOptions:
    """Options of a genomic VCF.

    Attributes
    ----------
    bands
        Exclusive upper bounds of the bands of GQ, ascending, from 1 to 100; 100 closes the last.
    has_floors
        Whether a block has the lower bound of its band as GQ, and neither PL nor MIN_DP.
    is_per_position
        Whether each position has a record, and none is in a block.
    has_phases
        Whether records are phased.
    """

    bands: tuple[int, ...] = BANDS
    has_floors: bool = False
    is_per_position: bool = False
    has_phases: bool = True


DEFAULT_ANNOTATIONS: Final = frozenset(
    {
        "BaseQualityRankSumTest",
        "ChromosomeCounts",
        "Coverage",
        "DepthPerAlleleBySample",
        "DepthPerSampleHC",
        "ExcessHet",
        "FisherStrand",
        "InbreedingCoeff",
        "MappingQualityRankSumTest",
        "QualByDepth",
        "RMSMappingQuality",
        "ReadPosRankSumTest",
        "StrandOddsRatio",
    }
)
"""The annotations of HaplotypeCaller: its groups StandardAnnotation and StandardHCAnnotation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationOptions:
    """Options of the fields of records.

    Attributes
    ----------
    classes
        Enabled annotations, by the names of GATK's classes.
    counts_discovered
        Whether INFO has the number of ALT alleles of the site: NDA.
    has_filters
        Whether FILTER is set by GATK's published thresholds.
    """

    classes: frozenset[str] = DEFAULT_ANNOTATIONS
    counts_discovered: bool = False
    has_filters: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """Options of a run.

    Attributes
    ----------
    assembly, events, genotyping, annotations
        Options of these steps.
    genomic
        Options of a genomic VCF, as they are given; see `genomic_vcf`.
    pcr_model
        Model of PCR indel errors in repeats.
    min_mapping_quality
        Reads with a lower MAPQ are excluded.
    max_reads_per_start
        Reads of a sample that start at one position, at most; 0: all.
    contamination
        Removal of reads of other samples.
    reads
        Other options on the reads.
    dragstr
        Gap penalties of the pair-HMM by the repeats of reads, instead of `pcr_model`.
    """

    assembly: AssemblyOptions = field(default_factory=AssemblyOptions)
    events: EventOptions = field(default_factory=EventOptions)
    genotyping: VariantOptions = field(default_factory=VariantOptions)
    genomic: GenomicOptions = field(default_factory=GenomicOptions)
    annotations: AnnotationOptions = field(default_factory=AnnotationOptions)
    pcr_model: PcrModel = PcrModel.CONSERVATIVE
    min_mapping_quality: int = 20
    max_reads_per_start: int = 50
    contamination: ContaminationOptions = field(default_factory=ContaminationOptions)
    reads: ReadOptions = field(default_factory=ReadOptions)
    dragstr: DragstrParameters | None = None

    @property
    def genomic_vcf(self) -> GenomicOptions:
        """Options of a genomic VCF that have an effect: GATK phases only runs of ploidy 2."""
        is_phased = self.genomic.has_phases and self.genotyping.ploidies.default == DIPLOID
        return replace(self.genomic, has_phases=is_phased)
