"""Inputs and options that `hapgpu call` refuses."""

from __future__ import annotations

from typing import Final

from tests.faults.table.messages import (
    FOUND_INSTEAD,
    GIVEN_TWICE,
    NO_QUALITIES,
    SAMTOOLS_SORT,
)
from tests.faults.table.row import line, row, values

_ALL = "call call_bgzip"
_WHOLE = "call_bgzip"
_FRACTIONS: Final = ("--heterozygosity", "--indel-heterozygosity", "--heterozygosity-stdev")
_OTHER_INPUTS: Final = (
    (
        "two_without_names",
        "unnamed1.sam two/unnamed1.sam reference.fa",
        1,
        "unnamed1 ... samtools addreplacerg",
    ),
    ("reads_twice", "reads.bam reads.bam reference.fa", 2, f"reads.bam: {GIVEN_TWICE}"),
    ("reads_twice_by_link", "reads.bam link.bam reference.fa", 2, f"link.bam: {GIVEN_TWICE}"),
)
"""Command lines with other inputs, for both outputs."""

_BANDS: Final = (
    ("below", "--gvcf-gq-bands 0", "0: not from 1 to 100; correct it"),
    ("negative", "--gvcf-gq-bands -5", "-5: not from 1 to 100; correct it"),
    ("above", "--gvcf-gq-bands 10 --gvcf-gq-bands 101", "101: not from 1 to 100; correct it"),
    ("huge", f"--gvcf-gq-bands {2**64}", f"{2**64}: not from 1 to 100; correct it"),
    ("twice", "--gvcf-gq-bands 9 --gvcf-gq-bands 9", "9: after 9; give rising bounds, each once"),
    ("falling", "--gvcf-gq-bands 9 --gvcf-gq-bands 8", "8: after 9; give rising bounds, each once"),
)
"""Lists that are no bands of GQ."""

ROWS: Final = [
    # Reads.
    row("fastq", _ALL, "reads=good.fq", 1, "good.fq: looks like FASTQ; give BAM, CRAM or SAM"),
    row("unsorted_reads", _ALL, "reads=unsorted.sam", 1, f"unsorted.sam ... {SAMTOOLS_SORT}"),
    row("no_qualities", _ALL, "reads=bare.bam", 1, f"bare.bam ... 'r1' ... {NO_QUALITIES}"),
    row(
        "another_length",
        _ALL,
        "reads=longer.bam",
        1,
        "longer.bam ... 20,100 ... 20,000 ... {reference}",
    ),
    row("no_read_group", _ALL, "reads=no_group.sam", 1, "no_group.sam ... 'r1' ... RG"),
    row("unknown_group", _ALL, "reads=unknown_group.sam", 1, "'r1' ... 'run3'"),
    row("no_sample", _ALL, "reads=no_sample.sam", 1, "'r1' ... 'run2' ... SM"),
    # Contigs.
    row("contig_of_targets", "call", "reads=elsewhere.sam", 1, "elsewhere.sam: no contig 'chr20'"),
    row("contig_of_reads", "call", "reads=prefix.sam", 1, "prefix.sam ... found '20' instead"),
    row("no_contig", _WHOLE, "reads=elsewhere.sam", 1, "elsewhere.sam: none of its 1 contigs"),
    row("no_contig_prefix", _WHOLE, "reads=prefix.sam", 1, f"prefix.sam ... {FOUND_INSTEAD}"),
    row("after_the_contig", _ALL, "-r chr20:20001-", 2, "chr20:20001- ... only 20,000 bases"),
    *(
        line(name, f"call {words}{output}", status, message)
        for name, words, status, message in _OTHER_INPUTS
        for output in ("", " -o out.vcf.gz")
    ),
    # Options.
    values("--kmer-size", "call", ["4", "201", "many"]),
    values("--min-pruning", "call", ["-1"]),
    values("--max-num-haplotypes-in-population", "call", ["0"]),
    values("--min-base-quality-score", "call", ["94", "-1"]),
    values("--max-reads-per-start", "call", ["-1"]),
    values("--min-mapping-quality", "call", ["256", "-1"]),
    values("--pcr-model", "call", ["friendly"]),
    values("--stand-call-conf", "call", ["-1", "nan", "inf", "high"]),
    row(
        "confidence_of_gvcf",
        "call",
        "--gvcf --stand-call-conf 20",
        2,
        "^--stand-call-conf: no effect with --gvcf; drop one of them$",
    ),
    *(
        row(f"bands_{name}", "call", f"--gvcf {words}", 2, f"^--gvcf-gq-bands {message}$")
        for name, words, message in _BANDS
    ),
    values("--gvcf-gq-bands", "call", ["many", "1.5", ""]),
    row(
        "floors_of_vcf",
        "call",
        "--floor-blocks",
        2,
        "^--floor-blocks: no effect without --gvcf; add it$",
    ),
    row(
        "both_genomic_outputs",
        "call",
        "--gvcf --bp-resolution",
        2,
        "^--gvcf: no effect with --bp-resolution; drop one of them$",
    ),
    values("--max-alternate-alleles", "call", ["0", "44"]),
    *(values(option, "call", ["0", "1", "nan", "high"]) for option in _FRACTIONS),
]
