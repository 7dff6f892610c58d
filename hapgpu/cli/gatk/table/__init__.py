"""The table of all arguments of HaplotypeCaller (GATK 4.6.2.0), by topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hapgpu.cli.gatk.arguments import Argument
from hapgpu.cli.gatk.table.caller import (
    ANNOTATIONS,
    ASSEMBLY,
    GENOMIC_VCF,
    GENOTYPING,
    LIKELIHOODS,
)
from hapgpu.cli.gatk.table.engine import FILES, INTERVALS, JAVA, OWN, READS, RUN
from hapgpu.cli.gatk.table.modes import DEBUGGING, DRAGEN, FLOW, PILEUPS

TOPICS: Final[Mapping[str, tuple[Argument, ...]]] = {
    "Files": FILES,
    "Intervals": INTERVALS,
    "Reads": READS,
    "Genotyping": GENOTYPING,
    "Genomic VCF": GENOMIC_VCF,
    "Annotations": ANNOTATIONS,
    "Assembly": ASSEMBLY,
    "Likelihoods and alignment": LIKELIHOODS,
    "DRAGEN mode": DRAGEN,
    "Pileup detection": PILEUPS,
    "Flow-based calling": FLOW,
    "Debugging": DEBUGGING,
    "Run": RUN,
    "Java and cloud": JAVA,
}
"""GATK's arguments by topic."""

OWN_OPTIONS: Final = {argument.name: argument for argument in OWN}
"""Options of `call` that HaplotypeCaller lacks, by name; they are given with two hyphens."""

ARGUMENTS: Final = {
    name: argument for topic in TOPICS.values() for argument in topic for name in argument.names
}
"""GATK's arguments by each of their names, without hyphens."""
