"""Inputs and options that `hapgpu pairhmm` refuses."""

from __future__ import annotations

from typing import Final

from tests.faults.table.messages import FAIDX, NO_FILE, NO_QUALITIES
from tests.faults.table.row import line, row, values

_WITHOUT_BATCHES: Final = (
    # Given explicitly, even the default is refused.
    ("-f 1", "--require-flags"),
    ("-r chr20:1-9", "--region"),
    ("--normalize", "--normalize"),
    ("--gap-open 45", "--gap-open"),
    ("--pcr-model none", "--pcr-model"),
    ("--gap-continuation 9", "--gap-continuation"),
    ("--base-quality-score-threshold 9", "--base-quality-score-threshold"),
    ("--whole-reads", "--whole-reads"),
    (
        "--disable-cap-base-qualities-to-map-quality",
        "--disable-cap-base-qualities-to-map-quality",
    ),
)

_BATCHES: Final = "no effect with --batches; drop one of them"

ROWS: Final = [
    row(
        "fastq",
        "pairhmm",
        "reads=amplicons.fq.gz",
        1,
        "amplicons.fq.gz: looks like FASTQ; give BAM",
    ),
    row(
        "no_qualities",
        "pairhmm",
        "reads=bare.sam",
        1,
        f"bare.sam ... 'r1' ... {NO_QUALITIES}",
    ),
    row(
        "short_tag",
        "pairhmm",
        "reads=short_tag.sam",
        1,
        "short_tag.sam, read 'r1': tag BI ... 100 qualities",
    ),
    # Batches.
    row("cut_short", "pairhmm_batches", "batches=cut.in", 1, "cut.in"),
    row("malformed", "pairhmm_batches", "batches=short.in", 1, "short.in ... line 2"),
    *(
        line(
            f"batches and {reads}",
            f"pairhmm {reads} --batches batches.in",
            2,
            "^READS ... no effect with --batches; drop one of them$",
        )
        for reads in ("reads.bam", "reads.bam one.fa")
    ),
    *(
        row(f"batches and {option}", "pairhmm_batches", change, 2, f"^{option}: {_BATCHES}")
        for change, option in _WITHOUT_BATCHES
    ),
    # Options.
    row(
        "whole_reads",
        "pairhmm_reference",
        "--whole-reads",
        2,
        "--reference: no effect with --whole-reads, except on CRAM; drop one of them",
    ),
    values("--base-quality-score-threshold", "pairhmm", ["5"]),
    values("--gap-open", "pairhmm", ["5", "128"]),
    values("--gap-continuation", "pairhmm", ["-1"]),
    values("--pcr-model", "pairhmm genotype", ["friendly"]),
    # The reference.
    row("no_reference", "pairhmm_reference", "reference=absent.fa", 1, f"absent.fa: {NO_FILE}"),
    row(
        "no_faidx",
        "pairhmm_reference",
        "reference=small.fa",
        1,
        f"no index small.fa.fai; run: {FAIDX}",
    ),
    row(
        "contig_of_reads_only",
        "pairhmm_reference",
        "reference=other_contig.fa",
        1,
        "other_contig.fa: no contig 'chr20'",
    ),
    row(
        "contig_of_reference_only",
        "pairhmm_reference",
        "reference=both.fa haplotypes=other_locus.fa",
        1,
        "reads.bam ... no contig ... other",
    ),
    row(
        "contig_of_neither",
        "pairhmm_reference",
        "haplotypes=unknown.fa",
        1,
        "reads.bam ... no contig 'chrUn'",
    ),
    row(
        "locus_over_end",
        "pairhmm_reference",
        "haplotypes=over_end.fa",
        1,
        "chr20:19951-20001 ends after the ... bases",
    ),
]
