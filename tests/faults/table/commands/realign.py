"""Inputs that `hapgpu realign` refuses, and `hapgpu pairhmm` of the same inputs."""

from __future__ import annotations

from typing import Final

from tests.faults.table.messages import (
    FOUND_INSTEAD,
    NO_QUALITIES,
    SAMTOOLS_INDEX,
    SAMTOOLS_SORT,
    UNKNOWN_KIND,
)
from tests.faults.table.row import row, values

_BOTH = "realign pairhmm"
_REFERENCE = "realign_reference pairhmm_reference"
_WITHOUT: Final = "no effect without --reference"

ROWS: Final = [
    # Haplotypes.
    row("no_fasta", _BOTH, "haplotypes=no_header.fa", 1, f"no_header.fa: {UNKNOWN_KIND} FASTA"),
    row("some_loci", _BOTH, "haplotypes=free_locus.fa", 1, "free_locus.fa ... 'free' ... no locus"),
    row("name_twice", _BOTH, "haplotypes=loci_twice.fa", 1, "loci_twice.fa ... 'one'"),
    row("name_that_sam_forbids", "realign", "haplotypes=comma_haplotype.fa", 1, "'one,two'"),
    row("no_sequence", _BOTH, "haplotypes=no_sequence.fa", 1, "no_sequence.fa ... 'one'"),
    row("no_base", _BOTH, "haplotypes=gaps.fa", 1, "gaps.fa, line 2 ... '-'"),
    row("contig_prefix", _BOTH, "haplotypes=prefix.fa", 1, f"reads.bam ... {FOUND_INSTEAD}"),
    row("unknown_contig", _BOTH, "haplotypes=unknown.fa", 1, "chrUn"),
    # The reference.
    row("no_loci", "realign_reference", "haplotypes=alleles.fa", 2, "alleles.fa ... --reference"),
    row("haplotype_over_end", _REFERENCE, "haplotypes=beyond.fa", 1, "chr20:20001"),
    row("wrong_reference", "realign_reference", "reference=alleles.fa", 1, "alleles.fa"),
    # Options.
    values("--min-score", "realign", ["2"]),
    values("--best-by", "realign", ["luck"], "'luck'"),
    row("bad_scoring", "realign", "--scoring 1,2,3", 2, "1,2,3 ... read-to-haplotype"),
    row("unknown_scoring", "realign", "--scoring best", 2, "'best'"),
    row("huge_scoring", "realign", "--scoring 999999999,0,0,0", 2, "999999999"),
    *(
        row("without_reference", "realign", option, 2, f"^{option}: {_WITHOUT}; add it$")
        for option in ("--always", "--loci-only", "--write-index")
    ),
    row("all_on_reference", "realign_reference", "--all", 2, "^--all: no effect with --ref"),
    row("table", "realign_reference", "--alleles-table x.tsv", 2, "^--alleles-table: no effect wi"),
    row("not_bam", "realign", "-u -O sam", 2, "^--uncompressed: no effect with -O sam"),
    # Indexes.
    row("no_index", _BOTH, "reads=no_index.bam -r chr20:1-20000", 1, SAMTOOLS_INDEX),
    *(
        row("not_indexed", "realign_write_index", change, 2, "--write-index")
        for change in ("output=out.sam", "output=out", "output=- -O bam")
    ),
    row(
        "unsorted_header",
        "realign_write_index",
        "reads=unsorted_header.sam",
        2,
        f"unsorted_header.sam ... {SAMTOOLS_SORT}",
    ),
    row(
        "fastq_not_indexed",
        "realign_write_index",
        "reads=amplicons.fq.gz",
        1,
        "amplicons.fq.gz: looks like FASTQ; give BAM ... or drop --write-index$",
    ),
    row("misordered", "realign_reference", "reads=misordered.sam", 1, "misordered.sam: not sorted"),
    # Qualities.
    row(
        "no_qualities",
        "realign realign_reference",
        "reads=bare.sam --best-by likelihood",
        1,
        f"bare.sam ... 'r1' ... {NO_QUALITIES} ... --best-by",
    ),
]
