"""Small bounds of the batches of each subcommand: small inputs make many batches."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from hapgpu.haplotypes.locus_batches import LocusLimits

SMALL_BATCHES: Final[dict[str, dict[str, Any]]] = {
    "realign": {"hapgpu.realign.pipeline._PAIRS_PER_BATCH": 7},
    "pairhmm": {
        "hapgpu.pairhmm.reads.cpu._CELLS_PER_BATCH": 1,
        "hapgpu.pairhmm.reads.cpu._BASES_PER_BATCH": 300,
        "hapgpu.pairhmm.reads.cpu._LIKELIHOODS_PER_BATCH": 7,
    },
    "genotype": {
        "hapgpu.genotyping.reads.aligned_reads._BATCH_BASES": (300, 600),
        "hapgpu.haplotypes.locus_batches.DEFAULT_LOCUS_LIMITS": LocusLimits(loci=1, bases=1),
    },
    "call": {
        "hapgpu.calling.reads.segments._MIN_BASES": 700,
        "hapgpu.calling.reads.segments._MAX_BASES": 1000,
        "hapgpu.calling.reads.segment_reader._BATCH_BASES": 300,
        "hapgpu.calling.reads.segment_reader._MAX_BASES": 3000,
    },
    "haplotypes": {
        "hapgpu.haplotypes.locus_batches.DEFAULT_LOCUS_LIMITS": LocusLimits(loci=1, bases=1)
    },
    "map": {"hapgpu.shortread.pipeline._CPU_BLOCK": 1000},
    "chain": {"hapgpu.longread.pipeline._CPU_BLOCK": 1000},
}
"""By subcommand: names that bound its batches, and small bounds."""


def make_batches_small(subcommand: str) -> None:
    """Set the small bounds of a subcommand in this process."""
    set_bounds(SMALL_BATCHES[subcommand])


def set_bounds(bounds: dict[str, Any]) -> None:
    """Set names of modules in this process."""
    for target, value in bounds.items():
        module, _, name = target.rpartition(".")
        setattr(import_module(module), name, value)
