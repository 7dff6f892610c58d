"""Arguments of the caller itself: genotypes, GVCF, annotations, assembly and likelihoods."""

from __future__ import annotations

from typing import Final

from hapgpu.cli.gatk.arguments import fixed, ignored, obeyed, refused

_ADAPTIVE: Final = "only with --adaptive-pruning"
_GRAPH: Final = "only with --linked-de-bruijn-graph"
_CORRECTION: Final = "only with --error-correct-reads"
_PRIOR: Final = "the prior of a callset is not available"
_FAMILY: Final = "annotations of families are not available"
_ANNOTATION: Final = "its annotation is not available"
_LEGACY: Final = "older rules are not available"
_GAP_SCORES: Final = (
    ("dangling-end", "25 -50 -110 -6"),
    ("haplotype-to-reference", "200 -150 -260 -11"),
    ("read-to-haplotype", "10 -15 -30 -5"),
)
"""GATK's alignments, with their scores: match, mismatch, gap open and gap extend."""
_SCORES: Final = ("match-value", "mismatch-penalty", "gap-open-penalty", "gap-extend-penalty")

GENOTYPING: Final = (
    obeyed("sample-ploidy ploidy", "INT", "--ploidy", "2"),
    obeyed("ploidy-regions", "FILE", "--ploidy-regions"),
    obeyed(
        "standard-min-confidence-threshold-for-calling stand-call-conf",
        "PHRED",
        "--stand-call-conf",
        "30",
    ),
    obeyed("heterozygosity", "FLOAT", "--heterozygosity", "0.001"),
    obeyed("indel-heterozygosity", "FLOAT", "--indel-heterozygosity", "0.000125"),
    obeyed("heterozygosity-stdev", "FLOAT", "--heterozygosity-stdev", "0.01"),
    obeyed("max-alternate-alleles", "INT", "--max-alternate-alleles", "6"),
    obeyed("max-genotype-count", "INT", "--max-genotype-count", "1024"),
    obeyed(
        "contamination-fraction-to-filter contamination",
        "FLOAT",
        "--contamination-fraction-to-filter",
        "0",
    ),
    obeyed(
        "contamination-fraction-per-sample-file contamination-file",
        "FILE",
        "--contamination-fraction-per-sample-file",
    ),
    obeyed(
        "force-call-filtered-alleles genotype-filtered-alleles",
        "",
        "--force-call-filtered-alleles",
        needs="alleles",
    ),
    obeyed("max-mnp-distance mnp-dist", "INT", "--max-mnp-distance", "0"),
    obeyed("disable-spanning-event-genotyping", "", "--disable-spanning-event-genotyping"),
    fixed(
        "output-mode",
        "EMIT_VARIANTS_ONLY|EMIT_ALL_CONFIDENT_SITES|EMIT_ALL_ACTIVE_SITES",
        "EMIT_VARIANTS_ONLY",
    ),
    ignored("all-site-pls", "", "only with other output modes"),
    fixed(
        "genotype-assignment-method gam",
        "SET_TO_NO_CALL|USE_PLS_TO_ASSIGN|USE_POSTERIORS_ANNOTATION|SET_TO_NO_CALL_NO_ANNOTATIONS|"
        "BEST_MATCH_TO_ORIGINAL|DO_NOT_ASSIGN_GENOTYPES|USE_POSTERIOR_PROBABILITIES|"
        "PREFER_PLS",
        "USE_PLS_TO_ASSIGN",
    ),
    refused("population-callset population", "FILE", _PRIOR),
    ignored("num-reference-samples-if-no-call", "INT", "only with --population-callset"),
    ignored("use-new-qual-calculator new-qual", "", "GATK ignores it, too"),
    fixed("mapping-quality-threshold-for-genotyping", "PHRED", "20"),
    fixed("allele-informative-reads-overlap-margin", "INT", "2"),
    refused("dont-genotype", "", "variants are always genotyped"),
)

GENOMIC_VCF: Final = (
    obeyed("emit-ref-confidence ERC", "NONE|GVCF|BP_RESOLUTION", "", "NONE"),
    obeyed("gvcf-gq-bands GQB", "INT", "--gvcf-gq-bands", is_list=True),
    obeyed("floor-blocks", "", "--floor-blocks"),
    obeyed("do-not-run-physical-phasing", "", "--do-not-run-physical-phasing"),
    fixed("indel-size-to-eliminate-in-ref-model", "INT", "10"),
    fixed("reference-model-deletion-quality", "PHRED", "30"),
)

ANNOTATIONS: Final = (
    obeyed("annotation-group G", "NAME", "--annotation-group", is_list=True),
    obeyed("annotation A", "NAME", "--annotation", is_list=True),
    obeyed("annotations-to-exclude AX", "NAME", "--annotations-to-exclude", is_list=True),
    obeyed("disable-tool-default-annotations", "", "--disable-tool-default-annotations"),
    obeyed("enable-all-annotations", "", "--enable-all-annotations"),
    obeyed("annotate-with-num-discovered-alleles", "", "--annotate-with-num-discovered-alleles"),
    obeyed(
        "use-filtered-reads-for-annotations",
        "",
        "--use-filtered-reads-for-annotations",
        needs="contamination-fraction-to-filter contamination-fraction-per-sample-file",
    ),
    refused("pedigree ped", "FILE", _FAMILY),
    refused("founder-id", "NAME", _FAMILY, is_list=True),
    refused("denovo-parent-gq-threshold", "INT", _ANNOTATION),
    refused("denovo-depth-threshold", "INT", _ANNOTATION),
    refused("dirichlet-prior-pseudo-count", "FLOAT", _ANNOTATION),
    refused("dirichlet-keep-prior-in-count", "", _ANNOTATION),
    refused("pseudo-count-weight-decay-rate", "FLOAT", _ANNOTATION),
    refused("assembly-complexity-reference-mode", "", _ANNOTATION),
    ignored("allow-old-rms-mapping-quality-annotation-data", "", "for GVCFs as input"),
)

ASSEMBLY: Final = (
    obeyed("kmer-size", "INT", "--kmer-size", is_list=True),
    obeyed("min-pruning", "INT", "--min-pruning", "2"),
    obeyed("max-num-haplotypes-in-population", "INT", "--max-haplotypes", "128"),
    obeyed("recover-all-dangling-branches", "", "--recover-all-dangling-branches"),
    fixed("num-pruning-samples", "INT", "1"),
    fixed("min-dangling-branch-length", "INT", "4"),
    fixed("num-matching-bases-in-dangling-end-to-recover", "INT", "-1"),
    fixed("dont-increase-kmer-sizes-for-cycles", "", "false"),
    fixed("allow-non-unique-kmers-in-ref", "", "false"),
    fixed("do-not-recover-dangling-branches", "", "false"),
    ignored("recover-dangling-heads", "", "GATK ignores it, too"),
    refused("adaptive-pruning", "", "adaptive pruning is not available"),
    ignored("adaptive-pruning-initial-error-rate", "FLOAT", _ADAPTIVE),
    ignored("pruning-lod-threshold", "FLOAT", _ADAPTIVE),
    ignored("pruning-seeding-lod-threshold", "FLOAT", _ADAPTIVE),
    ignored("max-unpruned-variants", "INT", _ADAPTIVE),
    refused("linked-de-bruijn-graph", "", "linked graphs are not available"),
    ignored("disable-artificial-haplotype-recovery", "", _GRAPH),
    refused("enable-legacy-graph-cycle-detection", "", _LEGACY),
    refused("error-correct-reads", "", "reads are not corrected"),
    refused("error-correction-log-odds", "FLOAT", "reads are not corrected"),
    ignored("kmer-length-for-read-error-correction", "INT", _CORRECTION),
    ignored("min-observations-for-kmer-to-be-solid", "INT", _CORRECTION),
    fixed("min-assembly-region-size", "INT", "50"),
    fixed("max-assembly-region-size", "INT", "300"),
    fixed("assembly-region-padding", "INT", "100"),
    fixed("active-probability-threshold", "FLOAT", "0.002"),
    fixed("max-prob-propagation-distance", "INT", "50"),
    fixed("padding-around-indels", "INT", "75"),
    fixed("padding-around-snps", "INT", "20"),
    fixed("padding-around-strs", "INT", "75"),
    refused("force-active", "", "only active regions are assembled"),
    refused("disable-optimizations", "", "regions without a variant are skipped"),
    refused("enable-legacy-assembly-region-trimming", "", _LEGACY),
    ignored(
        "max-extension-into-assembly-region-padding-legacy",
        "INT",
        "only with --enable-legacy-assembly-region-trimming",
    ),
)

LIKELIHOODS: Final = (
    obeyed(
        "pcr-indel-model", "NONE|HOSTILE|AGGRESSIVE|CONSERVATIVE", "--pcr-model", "CONSERVATIVE"
    ),
    fixed("likelihood-calculation-engine", "PairHMM|FlowBased|FlowBasedHMM", "PairHMM"),
    fixed("base-quality-score-threshold", "PHRED", "18"),
    fixed("pair-hmm-gap-continuation-penalty", "PHRED", "10"),
    fixed("expected-mismatch-rate-for-read-disqualification", "FLOAT", "0.02"),
    fixed("phred-scaled-global-read-mismapping-rate", "PHRED", "45"),
    fixed("disable-symmetric-hmm-normalizing", "", "false"),
    fixed("disable-cap-base-qualities-to-map-quality", "", "false"),
    fixed("soft-clip-low-quality-ends", "", "false"),
    fixed("override-fragment-softclip-check", "", "false"),
    *(
        fixed(f"smith-waterman-{alignment}-{score}", "INT", value)
        for alignment, values in _GAP_SCORES
        for score, value in zip(_SCORES, values.split(), strict=True)
    ),
)
