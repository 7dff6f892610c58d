"""Arguments of GATK's engine: files, intervals, read filters, and the run."""

from __future__ import annotations

from typing import Final

from hapgpu.cli.gatk.arguments import Argument, fixed, ignored, obeyed, refused

_BAM: Final = "bam-output"
_FILTER: Final = "its read filter is not available"
_INDEXED: Final = "indexes are read beside their files"
_JAVA: Final = "there is no Java"
_CLOUD: Final = "files are local"


def _unexpanded(argument: Argument) -> Argument:
    """Return a list whose values are read by `call`: their .list files hold intervals."""
    return argument._replace(is_expanded=False)


FILES: Final = (
    obeyed("input I", "FILE", "", is_list=True),
    obeyed("reference R", "FILE", ""),
    obeyed("output O", "FILE", "--output"),
    obeyed("bam-output bamout", "FILE", "--bam-out"),
    fixed(
        "bam-writer-type",
        "ALL_POSSIBLE_HAPLOTYPES|CALLED_HAPLOTYPES|NO_HAPLOTYPES|CALLED_HAPLOTYPES_NO_READS",
        "CALLED_HAPLOTYPES",
        needs=_BAM,
    ),
    fixed("create-output-bam-index OBI", "", "true", needs=_BAM),
    fixed("create-output-bam-md5 OBM", "", "false", needs=_BAM),
    ignored("add-output-sam-program-record", "", "the header always has it"),
    fixed("create-output-variant-index OVI", "", "true", "a .vcf.gz always has its index"),
    fixed("create-output-variant-md5 OVM", "", "false"),
    ignored("add-output-vcf-command-line", "", "the header always has it"),
    fixed("max-variants-per-shard", "INT", "0"),
    fixed("sites-only-vcf-output", "", "false"),
    obeyed("dbsnp D", "FILE", "--dbsnp"),
    obeyed("comparison comp", "FILE", "--comp", is_list=True)._replace(has_tag=True),
    obeyed("alleles", "FILE", "--alleles"),
    ignored("read-index", "FILE", _INDEXED, is_list=True),
    refused("sequence-dictionary", "FILE", "the index of the reference names the contigs"),
    ignored("disable-sequence-dictionary-validation", "", "contigs are always compared"),
    ignored("read-validation-stringency VS", "WORD", "records are always checked"),
    ignored("lenient LE", "", "records are always checked"),
)

INTERVALS: Final = (
    _unexpanded(obeyed("intervals L", "INTERVAL", "-L", is_list=True)),
    _unexpanded(obeyed("exclude-intervals XL", "INTERVAL", "--exclude-intervals", is_list=True)),
    obeyed("interval-padding ip", "INT", "--interval-padding", "0", "intervals"),
    obeyed(
        "interval-exclusion-padding ixp",
        "INT",
        "--interval-exclusion-padding",
        "0",
        "exclude-intervals",
    ),
    obeyed(
        "interval-set-rule isr", "UNION|INTERSECTION", "--interval-set-rule", "UNION", "intervals"
    ),
    obeyed(
        "interval-merging-rule imr",
        "ALL|OVERLAPPING_ONLY",
        "--interval-merging-rule",
        "ALL",
        "intervals",
    ),
)

READS: Final = (
    obeyed("sample-name ALIAS", "NAME", "--sample-name"),
    obeyed("minimum-mapping-quality", "PHRED", "--min-mapping-quality", "20"),
    obeyed("max-reads-per-alignment-start", "INT", "--max-reads-per-alignment-start", "50"),
    obeyed("min-base-quality-score mbq", "PHRED", "--min-base-quality-score", "10"),
    obeyed("dont-use-soft-clipped-bases", "", "--dont-use-soft-clipped-bases"),
    obeyed("do-not-correct-overlapping-quality", "", "--do-not-correct-overlapping-quality"),
    obeyed("read-filter RF", "NAME", "--read-filter", is_list=True),
    obeyed("disable-read-filter DF", "NAME", "--disable-read-filter", is_list=True),
    obeyed("disable-tool-default-read-filters", "", "--disable-tool-default-read-filters"),
    obeyed("min-read-length", "INT", "--min-read-length"),
    obeyed("max-read-length", "INT", "--max-read-length"),
    obeyed("filter-too-short", "INT", "--filter-too-short"),
    obeyed("dont-require-soft-clips-both-ends", "", "--dont-require-soft-clips-both-ends"),
    obeyed("sample", "NAME", "--sample", is_list=True),
    obeyed("keep-read-group", "NAME", "--keep-read-group"),
    obeyed("read-group-black-list", "TAG:VALUE", "--read-group-black-list", is_list=True),
    refused("inverted-read-filter XRF", "NAME", "read filters are not inverted", is_list=True),
    refused("maximum-mapping-quality", "PHRED", "mapping qualities have no upper limit"),
    refused("ambig-filter-frac", "FLOAT", _FILTER),
    refused("ambig-filter-bases", "INT", _FILTER),
    refused("max-clipped-bases", "INT", _FILTER),
    refused("max-fragment-length", "INT", _FILTER),
    refused("min-fragment-length", "INT", _FILTER),
    refused("keep-intervals", "INTERVAL", _FILTER, is_list=True),
    refused("read-filter-expression", "JEXL", _FILTER, is_list=True),
    refused("library", "NAME", _FILTER, is_list=True),
    refused("mate-too-distant-length", "INT", _FILTER),
    refused("platform-filter-name", "NAME", _FILTER, is_list=True),
    refused("black-listed-lanes", "NAME", _FILTER, is_list=True),
    refused("read-name", "NAME", _FILTER, is_list=True),
    refused("keep-reverse-strand-only", "", _FILTER),
    refused("read-filter-tag", "TAG", _FILTER),
    refused("read-filter-tag-comp", "FLOAT", _FILTER),
    refused("read-filter-tag-op", "WORD", _FILTER),
    refused("max-soft-clipped-ratio", "FLOAT", _FILTER),
    refused("max-soft-clipped-leading-trailing-ratio", "FLOAT", _FILTER),
    refused("keep-rg", "NAME", "all read groups are genotyped"),
)

RUN: Final = (
    obeyed("native-pair-hmm-threads", "INT", "--threads"),
    ignored("native-pair-hmm-use-double-precision", "", "precision does not depend on it"),
    ignored("pair-hmm-implementation pairHMM", "WORD", "devices do not change results"),
    ignored("smith-waterman", "WORD", "devices do not change results"),
    ignored("tmp-dir", "DIR", "TMPDIR is used"),
    ignored("verbosity", "WORD", "--quiet and --verbose choose the messages"),
    ignored("QUIET", "", "--quiet and --verbose choose the messages"),
    ignored("seconds-between-progress-updates", "FLOAT", "a terminal shows progress"),
    ignored("showHidden show-hidden", "", "it belongs to --help"),
    _unexpanded(obeyed("arguments_file arguments-file", "FILE", "", is_list=True)),
)

JAVA: Final = (
    ignored("java-options", "TEXT", _JAVA),
    ignored("debug-port", "INT", _JAVA),
    ignored("debug-suspend", "", _JAVA),
    fixed("spark-runner", "LOCAL|SPARK|GCS", "LOCAL"),
    ignored("spark-submit-command", "TEXT", _JAVA),
    refused("dry-run", "", "there is no command of Java to show"),
    ignored("use-jdk-deflater jdk-deflater", "", _JAVA),
    ignored("use-jdk-inflater jdk-inflater", "", _JAVA),
    ignored("gatk-config-file", "FILE", _JAVA),
    ignored("disable-bam-index-caching DBIC", "", _INDEXED),
    ignored("cloud-prefetch-buffer CPB", "INT", _CLOUD),
    ignored("cloud-index-prefetch-buffer CIPB", "INT", _CLOUD),
    ignored("gcs-max-retries gcs-retries", "INT", _CLOUD),
    ignored("gcs-project-for-requester-pays", "NAME", _CLOUD),
)

OWN: Final = tuple(
    obeyed(name, value, f"--{name}")
    for name, value in {
        "device": "NAME",
        "threads": "INT",
        "processes": "INT",
        "gpu-mem": "SIZE",
        "max-record": "SIZE",
        "sex": "xx|xy",
        "filter": "",
        "gatk-strict": "",
        "json": "FILE",
        "quiet": "",
        "verbose": "",
        "debug": "",
    }.items()
)
