"""Arguments of modes that hapgpu lacks, and of debugging."""

from __future__ import annotations

from typing import Final

from hapgpu.cli.gatk.arguments import Argument, fixed, ignored, obeyed, refused

_DRAGEN: Final = "DRAGEN mode is not available"
_ONLY_DRAGEN: Final = "only in DRAGEN mode"
_PILEUPS: Final = "pileup detection is not available"
_ONLY_PILEUPS: Final = "only with --pileup-detection"
_FLOW: Final = "flow-based calling is not available"
_ONLY_FLOW: Final = "only with --flow-mode"
_DEBUGGING: Final = "output for debugging is not available"


def _all_ignored(arguments: str, reason: str) -> tuple[Argument, ...]:
    """Declare arguments without effect; `name=INT` has a value, `name` is a flag."""
    pairs = (word.partition("=") for word in arguments.split())
    return tuple(ignored(name, value, reason) for name, _, value in pairs)


def _all_refused(arguments: str, reason: str) -> tuple[Argument, ...]:
    """Declare refused arguments; `name=INT` has a value, `name` is a flag."""
    pairs = (word.partition("=") for word in arguments.split())
    return tuple(refused(name, value, reason) for name, _, value in pairs)


DRAGEN: Final = (
    *_all_refused(
        """dragen-mode dragen-378-concordance-mode apply-bqd apply-frd
        transform-dragen-mapping-quality enable-dynamic-read-disqualification-for-genotyping""",
        _DRAGEN,
    ),
    obeyed("dragstr-params-path", "FILE", "--dragstr-params-path"),
    refused("dont-use-dragstr-pair-hmm-scores", "", "gap penalties are what the file is used for"),
    refused("use-posteriors-to-calculate-qual gp-qual", "", _DRAGEN),
    *_all_ignored(
        """dragstr-het-hom-ratio=INT dont-use-dragstr-priors
        max-effective-depth-adjustment-for-frd=INT dynamic-read-disqualification-threshold=FLOAT""",
        _ONLY_DRAGEN,
    ),
    ignored("dragen-pd-pair-hmm-implementation pdPpairHMM", "WORD", "only with --use-pdhmm"),
)

PILEUPS: Final = (
    *_all_refused("pileup-detection use-pdhmm", _PILEUPS),
    *_all_ignored(
        """use-pdhmm-overlap-optimization make-determined-haps-from-pd-code
        print-pileupcalling-status
        fallback-gga-if-pdhmm-fails pileup-detection-enable-indel-pileup-calling
        pileup-detection-active-region-phred-threshold=FLOAT
        num-artificial-haplotypes-to-add-per-allele=INT
        artifical-haplotype-filtering-kmer-size=INT
        pileup-detection-snp-alt-threshold=FLOAT pileup-detection-indel-alt-threshold=FLOAT
        pileup-detection-absolute-alt-depth=FLOAT
        pileup-detection-snp-adjacent-to-assembled-indel-range=INT
        pileup-detection-snp-basequality-filter=INT pileup-detection-bad-read-tolerance=FLOAT
        pileup-detection-proper-pair-read-badness
        pileup-detection-edit-distance-read-badness-threshold=FLOAT
        pileup-detection-chimeric-read-badness
        pileup-detection-template-mean-badness-threshold=FLOAT
        pileup-detection-template-std-badness-threshold=FLOAT
        pileup-detection-filter-assembly-alt-bad-read-tolerance=FLOAT
        pileup-detection-edit-distance-read-badness-for-assembly-filtering-threshold=FLOAT""",
        _ONLY_PILEUPS,
    ),
)

FLOW: Final = (
    fixed("flow-mode", "NONE|STANDARD|ADVANCED", "NONE", _FLOW),
    fixed("flow-assembly-collapse-hmer-size", "INT", "0", _FLOW),
    *_all_refused(
        """use-flow-aligner-for-stepwise-hc-filtering flow-assembly-collapse-partial-mode
        flow-filter-alleles""",
        _FLOW,
    ),
    refused("flow-order-for-annotations", "TEXT", _FLOW, is_list=True),
    *_all_ignored(
        """flow-filter-alleles-qual-threshold=FLOAT flow-filter-alleles-sor-threshold=FLOAT
        flow-filter-lone-alleles flow-filter-alleles-debug-graphs""",
        "only with --flow-filter-alleles",
    ),
    *_all_ignored(
        """flow-hmm-engine-min-indel-adjust=INT flow-hmm-engine-flat-insertion-penatly=INT
        flow-hmm-engine-flat-deletion-penatly=INT flow-likelihood-parallel-threads=INT
        flow-likelihood-optimized-comp trim-to-haplotype exact-matching flow-use-t0-tag
        flow-remove-non-single-base-pair-indels flow-remove-one-zero-probs
        flow-quantization-bins=INT flow-fill-empty-bins-value=FLOAT flow-symmetric-indel-probs
        flow-report-insertion-or-deletion flow-disallow-probs-larger-than-call flow-lump-probs
        flow-retain-max-n-probs-base-format flow-probability-scaling-factor=INT
        flow-order-cycle-length=INT flow-matrix-mods=TEXT keep-boundary-flows""",
        _ONLY_FLOW,
    ),
)

DEBUGGING: Final = (
    refused("debug-assembly debug", "", _DEBUGGING),
    refused("graph-output graph", "FILE", _DEBUGGING),
    *_all_refused(
        """assembly-region-out=FILE debug-assembly-region-state=FILE debug-genotyper-output=FILE
        debug-graph-transformations debug-assembly-variants-out=FILE
        haplotype-debug-histogram-output=FILE capture-assembly-failure-bam
        pair-hmm-results-file=FILE pdhmm-results-file=FILE alm-path=FILE
        just-determine-active-regions""",
        _DEBUGGING,
    ),
    ignored("alm-interval", "INTERVAL", "only with --alm-path"),
)
