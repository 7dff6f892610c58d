"""Haplotype and read algorithms on NVIDIA GPUs or the CPU."""

from __future__ import annotations

from hapgpu.version import __version__ as __version__

TYPE_CHECKING = False  # as in `typing`, whose import would be the slowest at start-up
if TYPE_CHECKING:
    from hapgpu.arrays.ragged import Ragged
    from hapgpu.calling.api import call, call_batches
    from hapgpu.calling.calls import Calls
    from hapgpu.errors import DeviceError, HapgpuError, InputError, OutputError, UsageError
    from hapgpu.genotyping.api import genotype, genotype_batches
    from hapgpu.genotyping.genotypes import Genotypes
    from hapgpu.longread.api import chain_anchors
    from hapgpu.longread.batches import AnchorChains, Anchors, Chains
    from hapgpu.longread.index_api import LongReadIndex
    from hapgpu.longread.results import ReadAlignments, ReadMappings
    from hapgpu.longread.seed.anchor_files import load_anchors
    from hapgpu.pairhmm.api import pair_hmm, pair_hmm_batches
    from hapgpu.pairhmm.inputs import PairHmmInput
    from hapgpu.realign.api import (
        Alignments,
        RealignedReads,
        align,
        haplotype_cigars,
        realign_to_reference,
    )
    from hapgpu.realign.queue import AlignmentQueue, PendingAlignments
    from hapgpu.realign.scoring import Overhang, Scoring
    from hapgpu.shortread.api import FMIndex, Hits

__all__ = [
    "AlignmentQueue",
    "Alignments",
    "AnchorChains",
    "Anchors",
    "Calls",
    "Chains",
    "DeviceError",
    "FMIndex",
    "Genotypes",
    "HapgpuError",
    "Hits",
    "InputError",
    "LongReadIndex",
    "OutputError",
    "Overhang",
    "PairHmmInput",
    "PendingAlignments",
    "Ragged",
    "ReadAlignments",
    "ReadMappings",
    "RealignedReads",
    "Scoring",
    "UsageError",
    "align",
    "call",
    "call_batches",
    "chain_anchors",
    "genotype",
    "genotype_batches",
    "haplotype_cigars",
    "load_anchors",
    "pair_hmm",
    "pair_hmm_batches",
    "realign_to_reference",
]

# Resolved on first use: importing hapgpu imports nothing heavy.
_MODULES = {
    "AlignmentQueue": "hapgpu.realign.queue",
    "Alignments": "hapgpu.realign.api",
    "AnchorChains": "hapgpu.longread.batches",
    "Anchors": "hapgpu.longread.batches",
    "Calls": "hapgpu.calling.calls",
    "Chains": "hapgpu.longread.batches",
    "DeviceError": "hapgpu.errors",
    "FMIndex": "hapgpu.shortread.api",
    "Genotypes": "hapgpu.genotyping.genotypes",
    "HapgpuError": "hapgpu.errors",
    "Hits": "hapgpu.shortread.api",
    "InputError": "hapgpu.errors",
    "LongReadIndex": "hapgpu.longread.index_api",
    "OutputError": "hapgpu.errors",
    "Overhang": "hapgpu.realign.scoring",
    "PairHmmInput": "hapgpu.pairhmm.inputs",
    "PendingAlignments": "hapgpu.realign.queue",
    "Ragged": "hapgpu.arrays.ragged",
    "ReadAlignments": "hapgpu.longread.results",
    "ReadMappings": "hapgpu.longread.results",
    "RealignedReads": "hapgpu.realign.api",
    "Scoring": "hapgpu.realign.scoring",
    "UsageError": "hapgpu.errors",
    "align": "hapgpu.realign.api",
    "call": "hapgpu.calling.api",
    "call_batches": "hapgpu.calling.api",
    "chain_anchors": "hapgpu.longread.api",
    "genotype": "hapgpu.genotyping.api",
    "genotype_batches": "hapgpu.genotyping.api",
    "haplotype_cigars": "hapgpu.realign.api",
    "load_anchors": "hapgpu.longread.seed.anchor_files",
    "pair_hmm": "hapgpu.pairhmm.api",
    "pair_hmm_batches": "hapgpu.pairhmm.api",
    "realign_to_reference": "hapgpu.realign.api",
}


def __getattr__(name: str) -> object:
    from importlib import import_module  # noqa: PLC0415  (only where it is used)

    if name not in _MODULES:
        message = f"module 'hapgpu' has no attribute '{name}'"
        raise AttributeError(message)
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
