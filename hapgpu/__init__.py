"""Haplotype and read algorithms on NVIDIA GPUs or the CPU."""

from __future__ import annotations

from hapgpu.version import __version__ as __version__

TYPE_CHECKING = False  # as in `typing`, whose import would be the slowest at start-up
if TYPE_CHECKING:
    from hapgpu.calling.api import Calls, call
    from hapgpu.genotyping.api import Genotypes, genotype
    from hapgpu.longread.api import chain
    from hapgpu.longread.batches import AnchorChains, Anchors, Chains
    from hapgpu.longread.index_api import LongReadIndex
    from hapgpu.longread.options import ChainOptions
    from hapgpu.longread.results import ReadAlignments, ReadMappings
    from hapgpu.longread.seed.anchor_files import load_anchors
    from hapgpu.pairhmm.api import pair_hmm, pair_hmm_batches
    from hapgpu.realign.api import Alignments, align, haplotype_cigar, realign_to_reference
    from hapgpu.realign.scoring import Overhang, Scoring
    from hapgpu.shortread.api import FMIndex, Hits

__all__ = [
    "Alignments",
    "AnchorChains",
    "Anchors",
    "Calls",
    "ChainOptions",
    "Chains",
    "FMIndex",
    "Genotypes",
    "Hits",
    "LongReadIndex",
    "Overhang",
    "ReadAlignments",
    "ReadMappings",
    "Scoring",
    "align",
    "call",
    "chain",
    "genotype",
    "haplotype_cigar",
    "load_anchors",
    "pair_hmm",
    "pair_hmm_batches",
    "realign_to_reference",
]

# Resolved on first use: importing hapgpu imports nothing heavy.
_MODULES = {
    "Alignments": "hapgpu.realign.api",
    "AnchorChains": "hapgpu.longread.batches",
    "Anchors": "hapgpu.longread.batches",
    "Calls": "hapgpu.calling.api",
    "ChainOptions": "hapgpu.longread.options",
    "Chains": "hapgpu.longread.batches",
    "FMIndex": "hapgpu.shortread.api",
    "Genotypes": "hapgpu.genotyping.api",
    "Hits": "hapgpu.shortread.api",
    "LongReadIndex": "hapgpu.longread.index_api",
    "ReadAlignments": "hapgpu.longread.results",
    "ReadMappings": "hapgpu.longread.results",
    "align": "hapgpu.realign.api",
    "call": "hapgpu.calling.api",
    "chain": "hapgpu.longread.api",
    "genotype": "hapgpu.genotyping.api",
    "haplotype_cigar": "hapgpu.realign.api",
    "load_anchors": "hapgpu.longread.seed.anchor_files",
    "pair_hmm": "hapgpu.pairhmm.api",
    "pair_hmm_batches": "hapgpu.pairhmm.api",
    "realign_to_reference": "hapgpu.realign.api",
    "Overhang": "hapgpu.realign.scoring",
    "Scoring": "hapgpu.realign.scoring",
}


def __getattr__(name: str) -> object:
    from importlib import import_module  # noqa: PLC0415  (only where it is used)

    if name not in _MODULES:
        message = f"module 'hapgpu' has no attribute '{name}'"
        raise AttributeError(message)
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
