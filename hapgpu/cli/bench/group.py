"""`hapgpu bench`: the methods whose speed it measures."""

from __future__ import annotations

from typing import Final

METHODS: Final = {
    "realign": "Measure the alignment of reads to haplotypes.",
    "pairhmm": "Measure the pair-HMM.",
    "genotype": "Measure genotyping, from BAM to VCF, on a simulated sample.",
    "call": "Measure variant calling, from BAM to VCF, on a simulated sample.",
    "map": "Measure the mapping of short reads.",
    "chain": "Measure the mapping of long reads, and their alignment on the CPU.",
    "io": "Measure reading and writing of BAM.",
}
"""Each method with its line of help; its module has what the module of a subcommand has."""
