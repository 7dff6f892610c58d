"""Inputs and options that `hapgpu genotype` refuses."""

from __future__ import annotations

from typing import Final

from tests.faults.made.odd_files import CONTIG
from tests.faults.table.messages import (
    BCFTOOLS_SORT,
    GIVEN_TWICE,
    NO_QUALITIES,
    SAMTOOLS_SORT,
)
from tests.faults.table.row import line, row, values

_ALL = "genotype genotype_bgzip"
_READS = "genotype reads.bam reference.fa"
_UNKNOWN_CONTIG = "unknown.vcf, line 3 ... 'chr2' ... reference.fa"
_OTHER_INPUTS: Final = (
    (
        "two_without_names",
        "unnamed1.sam two/unnamed1.sam reference.fa sites.vcf.gz",
        1,
        "unnamed1 ... samtools addreplacerg",
    ),
    (
        "reads_twice",
        "reads.bam reads.bam reference.fa sites.vcf.gz",
        2,
        f"reads.bam: {GIVEN_TWICE}",
    ),
    (
        "reads_twice_by_link",
        "reads.bam link.bam reference.fa sites.vcf.gz",
        2,
        f"link.bam: {GIVEN_TWICE}",
    ),
)
"""Command lines with other inputs, for both outputs."""

ROWS: Final = [
    # Sites.
    line("unknown_contig", f"{_READS} unknown.vcf", 1, _UNKNOWN_CONTIG),
    row("unknown_contig", "genotype_bgzip", "sites=unknown.vcf", 1, _UNKNOWN_CONTIG),
    row("contig_again", _ALL, "sites=again.vcf", 1, f"again.vcf, line 5 ... {BCFTOOLS_SORT}"),
    row("no_bases", _ALL, "sites=no_bases.vcf", 1, "no_bases.vcf, line 3 ... ALT"),
    row("no_contig_name", _ALL, "sites=comma.vcf", 1, "comma.vcf, line 3 ... 'chr,1'"),
    row("few_columns", _ALL, "sites=columns.vcf", 1, "columns.vcf, line 4 ... columns"),
    row("no_column_line", _ALL, "sites=header.vcf", 1, "header.vcf: truncated ... #CHROM"),
    row("no_sites", _ALL, "sites=empty.vcf", 1, "empty.vcf: empty"),
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
    row("no_such_contig", _ALL, "reads=elsewhere.sam", 1, f"elsewhere.sam ... '{CONTIG}'"),
    row("contig_of_reads", _ALL, "reads=prefix.sam", 1, "prefix.sam ... found '20' instead"),
    row("no_read_group", _ALL, "reads=no_group.sam", 1, "no_group.sam ... 'r1' ... RG"),
    row("unknown_group", _ALL, "reads=unknown_group.sam", 1, "'r1' ... 'run3'"),
    row("no_sample", _ALL, "reads=no_sample.sam", 1, "'r1' ... 'run2' ... SM"),
    *(
        line(name, f"genotype {words}{output}", status, message)
        for name, words, status, message in _OTHER_INPUTS
        for output in ("", " -o out.vcf.gz")
    ),
    # Options.
    values("--ploidy", "genotype", ["5", "0"]),
    values("--prior", "genotype", ["strong"]),
    values("--min-mapping-quality", "genotype", ["256", "-1"]),
]
