"""Constants of GATK 4.6 HaplotypeCaller, by the names of its classes and options."""

from __future__ import annotations

import pytest

from hapgpu.calling.annotations.fields import FIELDS
from hapgpu.realign.scoring import PRESETS, Scoring
from tests.constants import Rows, constant, names, not_as_named

ROWS: Rows = [
    ("calling.regions.active_regions._MAX_SIZE", 300, "--max-assembly-region-size"),
    ("calling.regions.cutting.MAX_PROPAGATION", 50, "--max-prob-propagation-distance"),
    ("calling.regions.cutting._DEVIATION", 17.0, "BandPassActivityProfile.DEFAULT_SIGMA"),
    ("calling.regions.cutting._MIN_WEIGHT", 1e-5, "MIN_PROB_TO_KEEP_IN_FILTER"),
    ("calling.regions.cutting.THRESHOLD", 0.002, "--active-probability-threshold"),
    ("calling.regions.pileup.DELETION_QUALITY", 30, "REF_MODEL_DELETION_QUAL"),
    ("calling.regions.pileup._TABLE_STEP", 1e-4, "MathUtils.JacobianLogTable.TABLE_STEP"),
    ("calling.regions.pileup._TABLE_END", 8.0, "JacobianLogTable.MAX_TOLERANCE"),
    ("calling.regions.pileup._MAX_TEMPLATE", 100, "ReadUtils.isBaseInsideAdaptor"),
    ("calling.regions.pileup._MIN_CLIP_QUALITY", 28, "HQ_BASE_QUALITY_SOFTCLIP_THRESHOLD"),
    ("calling.regions.activity._MAX_CONFIDENCE", 4.0, "HaplotypeCallerEngine: min(4.0, ..)"),
    ("calling.regions.activity.MAX_COUNT_CHANGE", 0.1, "AlleleFrequencyCalculator"),
    ("calling.genotypes.evidence.NO_MAPPING_QUALITY", 255, "QualityUtils; SAM"),
    ("calling.annotations.heterozygosity._NEGLIGIBLE", 1e-16, "ExcessHet.MIN_NEEDED_VALUE"),
    ("calling.annotations.heterozygosity._MIN_P", 1e-59, "ExcessHet: pval < 10e-60"),
    ("calling.annotations.heterozygosity._MAX_PHRED", 160.0, "PHRED_SCALED_MIN_P_VALUE"),
    ("calling.annotations.rank_sums._C0", 2.515517, "Abramowitz and Stegun 26.2.23"),
    ("calling.annotations.rank_sums._C1", 0.802853, "Abramowitz and Stegun 26.2.23"),
    ("calling.annotations.rank_sums._C2", 0.010328, "Abramowitz and Stegun 26.2.23"),
    ("calling.annotations.rank_sums._D1", 1.432788, "Abramowitz and Stegun 26.2.23"),
    ("calling.annotations.rank_sums._D2", 0.189269, "Abramowitz and Stegun 26.2.23"),
    ("calling.annotations.rank_sums._D3", 0.001308, "Abramowitz and Stegun 26.2.23"),
    ("calling.annotations.annotator._MAX_RATIO", 35.0, "QualByDepth.MAX_QD_BEFORE_FIXING"),
    ("calling.annotations.annotator._IDEAL_RATIO", 30.0, "QualByDepth.IDEAL_HIGH_QD"),
    ("calling.annotations.rank_sums._MIN_NORMAL", 10, "MannWhitneyU.minimumNormalN"),
    ("calling.genotypes.evidence.MIN_READS", 3, "FisherStrand: at most 2 reads do not count"),
    ("calling.annotations.strand_bias._MAX_TABLE", 400, "FisherStrand: 2 * TARGET_TABLE_SIZE"),
    ("calling.annotations.strand_bias._SCALED_TABLE", 200.0, "FisherStrand.TARGET_TABLE_SIZE"),
    ("calling.annotations.strand_bias._TOLERANCE", 1.0 - 1e-6, "FisherExactTest"),
    ("calling.annotations.strand_bias._MIN_P", 1e-320, "FisherStrand.MIN_PVALUE"),
    ("calling.genotypes.evidence._INFORMATIVE", 0.2, "LOG_10_INFORMATIVE_THRESHOLD"),
    ("calling.assembly.assembler._MAX_LARGER_KMERS", 6, "MAX_KMER_ITERATIONS_TO_ATTEMPT"),
    ("calling.assembly.assembler._LEGACY_RULES", -1, "--num-matching-bases-in-dangling-end"),
    ("calling.assembly.assembler._MIN_BRANCH", 4, "--min-dangling-branch-length"),
    ("calling.assembly.assembler._KMER_STEP", 10, "KMER_SIZE_ITERATION_INCREASE"),
    ("calling.assembly.haplotypes._MIN_REFERENCE_LENGTH", 30, "MIN_HAPLOTYPE_REFERENCE_LENGTH"),
    ("calling.assembly.dangling_tails._EQUAL", 25, "STANDARD_NGS"),
    ("calling.assembly.dangling_tails._DIFFERENT", -50, "STANDARD_NGS"),
    ("calling.assembly.dangling_tails._GAP_OPEN", -110, "STANDARD_NGS"),
    ("calling.assembly.dangling_tails._GAP_EXTEND", -6, "STANDARD_NGS"),
    ("calling.assembly.dangling_tails.MAX_ELEMENTS", 3, "MAX_CIGAR_COMPLEXITY"),
    ("calling.assembly.kmers.GraphRules.min_matching", -1, "legacy rules"),
    ("calling.assembly.kmers.GraphRules.min_tail", 4, "--min-dangling-branch-length"),
    ("calling.assembly.kmers.GraphRules.min_head", 4, "--min-dangling-branch-length"),
    ("calling.assembly.simplification._ROUNDS_UNCOMPARED", 6, "SeqGraph: i > 5"),
    (
        "calling.assembly.simplification._MAX_ROUNDS",
        100,
        "SeqGraph.MAX_REASONABLE_SIMPLIFICATION_CYCLES",
    ),
    ("calling.batches.PADDING", 100, "--assembly-region-padding"),
    ("calling.events.alleles.MAX_ALLELES", 44, "--max-genotype-count 1024: 44 * 45 / 2 = 990"),
    ("calling.events.spans._SNP_PADDING", 20, "--padding-around-snps"),
    ("calling.events.spans._INDEL_PADDING", 75, "--padding-around-indels"),
    ("calling.genotypes.calls._HIGHEST_QUALITY", 99, "VCFConstants.MAX_GENOTYPE_QUAL"),
    ("calling.genotypes.allele_frequencies._CONVERGED", 0.1, "AlleleFrequencyCalculator"),
    ("calling.genotypes.kept_alleles._TOLERANCE", 1e-10, "AFCalculationResult.EPSILON"),
    ("calling.options.BANDS", (*range(1, 61), 70, 80, 90, 99), "--gvcf-gq-bands"),
    ("calling.options.MAX_QUALITY", 99, "VCFConstants.MAX_GENOTYPE_QUAL"),
    ("calling.genotypes.genotype_likelihoods._STEPS", 10_000, "1 / JacobianLogTable.TABLE_STEP"),
    ("calling.genotypes.genotype_likelihoods._LARGEST", 8.0, "JacobianLogTable.MAX_TOLERANCE"),
    ("calling.genotypes.genotype_likelihoods._HIGHEST_PHRED", 2**31 - 1, "Integer.MAX_VALUE"),
    ("calling.output.reference_confidence.MAX_INDEL", 10, "--indel-size-to-eliminate-in-ref-model"),
    (
        "calling.output.copy_likelihoods.MIN_QUALITY",
        6,
        "ReferenceConfidenceModel.BASE_QUAL_THRESHOLD",
    ),
    ("calling.output.copy_likelihoods._MAX_INFORMATIVE", 40, "MAX_N_INDEL_INFORMATIVE_READS"),
    ("calling.output.copy_likelihoods._INDEL_ERROR", -4.5, "INDEL_QUAL 45"),
    ("calling.output.reference_confidence._MAX_TEMPLATE", 100, "ReadUtils.isBaseInsideAdaptor"),
    ("calling.genotypes.likelihoods.CLEARLY_BETTER", 0.2, "LOG_10_INFORMATIVE_THRESHOLD"),
    ("calling.genotypes.site_reads.MARGIN", 2, "--informative-read-overlap-margin"),
    ("calling.options.AssemblyOptions.kmer_sizes", (10, 25), "--kmer-size"),
    ("calling.options.AssemblyOptions.min_pruning", 2, "--min-pruning"),
    ("calling.options.AssemblyOptions.max_haplotypes", 128, "--max-num-haplotypes-in-population"),
    ("calling.options.AssemblyOptions.min_base_quality", 10, "--min-base-quality-score"),
    ("calling.options.VariantOptions.heterozygosity", 0.001, "--heterozygosity"),
    (
        "calling.options.VariantOptions.indel_heterozygosity",
        1.25e-4,
        "--indel-heterozygosity",
    ),
    (
        "calling.options.VariantOptions.heterozygosity_deviation",
        0.01,
        "--heterozygosity-stdev",
    ),
    (
        "calling.options.VariantOptions.min_confidence",
        30.0,
        "--standard-min-confidence..",
    ),
    (
        "calling.options.VariantOptions.max_alternate_alleles",
        6,
        "--max-alternate-alleles",
    ),
    ("calling.options.CallOptions.min_mapping_quality", 20, "--minimum-mapping-quality"),
    ("calling.options.CallOptions.max_reads_per_start", 50, "--max-reads-per-alignment-start"),
    ("calling.output.called_haplotypes._MAPPING_QUALITY", 60, "HaplotypeBAMWriter"),
    ("calling.output.called_haplotypes._BASE_QUALITY", 33, "HaplotypeBAMWriter: '!'"),
    ("calling.read_options._NO_EVIDENCE", 0x4 | 0x100 | 0x200 | 0x400, "read filters; SAM"),
    ("calling.output.call_columns._QUALITY_DECIMALS", 2, "VCFEncoder: %.2f"),
    ("calling.output.filters._QUALITY_DECIMALS", 2, "VCFEncoder: %.2f"),
    (
        "calling.annotations.fields.MIN_INBREEDING_SAMPLES",
        10,
        "InbreedingCoeff.MIN_SAMPLES",
    ),
    ("calling.annotations.allele_specific._BIN", 0.1, "Histogram.binSize"),
    ("calling.annotations.allele_specific._BIN_EPSILON", 0.01, "Histogram.BIN_EPSILON"),
    ("calling.annotations.tandem_repeats._CONTEXT", 500, "AssemblyRegion: REFERENCE_PADDING"),
    ("io.vcf.numbers._SMALL", 0.01, "VCFEncoder.formatVCFDouble"),
    ("io.vcf.numbers._ZERO", 1e-20, "VCFEncoder.formatVCFDouble"),
    ("calling.read_options.ReadOptions.min_length", 1, "ReadLengthReadFilter"),
    ("calling.read_options.ReadOptions.min_aligned_bases", 30, "OverclippedReadFilter"),
    ("calling.read_options.ReadOptions.soft_clips", 2, "OverclippedReadFilter: both ends"),
    ("calling.checks.alt_mapping._LENGTH", 170_805_979, "chr6 of GRCh38 (NC_000006.12)"),
    ("calling.reads.filters._UNAVAILABLE", 255, "MappingQualityAvailableReadFilter; SAM"),
    ("calling.reads.clipping.PAIRED", 0x1, "SAM"),
    ("calling.reads.clipping.MATE_UNMAPPED", 0x8, "SAM"),
    ("calling.reads.clipping.REVERSE", 0x10, "SAM"),
    ("calling.reads.clipping.MATE_REVERSE", 0x20, "SAM"),
    (
        "calling.reads.finalized._MAX_QUALITY",
        20,
        "FragmentUtils.HALF_OF_DEFAULT_PCR_SNV_ERROR_QUAL",
    ),
    ("calling.reads.finalized.MIN_BASES", 10, "READ_LENGTH_FILTER_THRESHOLD"),
    ("calling.reads.finalized._MIN_MAPPING_QUALITY", 20, "--shortread-quality-threshold-.."),
]

OWN_ROWS: Rows = [
    ("calling.regions.junctions._MIN_JUNCTION", 20, "shorter indels are aligned"),
    ("calling.regions.junctions._MIN_READS", 2, "reads that share a junction"),
    ("calling.regions.junctions._MAX_SHIFT", 50, "between positions of their clips"),
    ("calling.regions.junctions._SEED", 8, "two bits per base: uint16"),
    ("calling.regions.junctions._MIN_SCORE", 16, "1 per base that agrees"),
    ("calling.regions.junctions._MIN_LEAD", 4, "over any other position"),
    ("calling.regions.junctions._MISMATCH", -3, "1 per base that agrees"),
    ("calling.assembly.haplotypes.UNROLLED", 1, "one bit"),
    ("calling.assembly.haplotypes.NOT_ASSEMBLED", 2, "one bit"),
    ("calling.assembly.haplotypes.AT_LIMIT", 4, "one bit"),
    (
        "calling.assembly.haplotypes._FEW_GAPS",
        Scoring(200, -400, -2000, -11),
        "GATK: 200, -150, -260, -11",
    ),
    ("calling.assembly.haplotypes._MIN_LENGTH", 20, "shorter insertions stay"),
    ("calling.assembly.pruning._RARE", 20, "reads per read of an edge"),
    ("calling.batches.MAX_JUNCTION", 300, "between the ends of a junction"),
    ("calling.events.spans.LONGEST_UNIT", 50, "padded by both copies, as in GATK"),
]
"""Constants of rules that GATK does not have."""


@pytest.mark.parametrize(("name", "value", "source"), ROWS, ids=names(ROWS))
def test_constants_of_gatk(name: str, value: object, source: str) -> None:
    assert constant(name) == value, source


@pytest.mark.parametrize(("name", "value", "reason"), OWN_ROWS, ids=names(OWN_ROWS))
def test_constants_of_other_rules(name: str, value: object, reason: str) -> None:
    assert constant(name) == value, reason


def test_gatk_has_the_other_weights() -> None:
    gatk = PRESETS["haplotype-to-reference"]
    assert (gatk.match, gatk.mismatch, gatk.gap_open, gatk.gap_extend) == (200, -150, -260, -11)


def test_decimals_of_statistics() -> None:
    """The formats of GATK's annotations: %.4f, %.3f for SOR and rank sums, %.2f for QD and MQ."""
    decimals = {field.name: field.decimals for field in FIELDS}
    sums = ("BaseQ", "Clipping", "Likelihood", "MQ", "ReadPos")
    three = ("FS", "SOR", *(f"{name}RankSum" for name in sums))
    four = ("ExcessHet", "InbreedingCoeff")
    expected = dict.fromkeys(three, 3) | dict.fromkeys(four, 4) | {"MQ": 2, "QD": 2}
    assert decimals == expected


def test_numbers_are_named_by_their_values() -> None:
    assert not not_as_named("calling")
