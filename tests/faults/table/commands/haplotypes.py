"""Inputs that `hapgpu haplotypes` refuses, and `hapgpu genotype` of the same sites."""

from __future__ import annotations

from typing import Final

from tests.faults.made.odd_files import CONTIG, SITE
from tests.faults.table.messages import BCFTOOLS_SORT, FAIDX, FOUND_INSTEAD
from tests.faults.table.row import Fault, line, row, values

_BOTH = "haplotypes genotype*"
_WHOLE = "targets=whole.bed"


def everywhere(name: str, sites: str, message: str) -> list[Fault]:
    """Return rows of sites outside of the targets of the inputs."""
    return [
        line(name, f"haplotypes reference.fa {sites}", 1, message),
        line(name, f"genotype reads.bam reference.fa {sites}", 1, message),
        row(name, "genotype_bgzip", f"sites={sites}", 1, message),
    ]


ROWS: Final = [
    row(
        "another_base",
        _BOTH,
        "sites=other_base.vcf",
        1,
        f"other_base.vcf, line 4: ... A at {CONTIG}:{SITE + 1} ... {{reference}} has C",
    ),
    row(
        "another_base_in_bcf",
        _BOTH,
        "sites=other_base.bcf",
        1,
        f"other_base.bcf, record 2: ... A at {CONTIG}:{SITE + 1}",
    ),
    row(
        "over_end",
        _BOTH,
        f"sites=over_end.vcf {_WHOLE}",
        1,
        f"over_end.vcf, line 3 ... {CONTIG}:20000 ... 20,000 bases",
    ),
    *everywhere("beyond_end", "beyond.vcf", "beyond.vcf, line 3"),
    row("unsorted", _BOTH, "sites=unsorted.vcf", 1, f"unsorted.vcf, line 4 ... {BCFTOOLS_SORT}"),
    row(
        "genotype",
        "haplotypes",
        "sites=genotype.vcf",
        1,
        "genotype.vcf, line 3 ... '0/2' ... 1 ALT",
    ),
    *everywhere("prefix", "prefix.vcf", f"prefix.vcf, line 3 ... '20' ... {FOUND_INSTEAD}"),
    row("no_faidx", _BOTH, "reference=small.fa", 1, f"small.fa ... {FAIDX}"),
    values("--flank", "haplotypes", ["-1", "x", "1000000"]),
]
