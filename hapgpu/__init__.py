"""hapgpu: exact, fast haplotype and read algorithms on the GPU, and without one."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hapgpu.fmindex.api import FMIndex, Hits
    from hapgpu.pairhmm.api import pair_hmm, pair_hmm_batches
    from hapgpu.realign.anchor import haplotype_cigar
    from hapgpu.realign.api import Alignments, align
    from hapgpu.realign.project import realign_to_reference
    from hapgpu.realign.scoring import Overhang, Scoring

__version__ = "0.1.0"

__all__ = [
    "Alignments",
    "FMIndex",
    "Hits",
    "Overhang",
    "Scoring",
    "align",
    "haplotype_cigar",
    "pair_hmm",
    "pair_hmm_batches",
    "realign_to_reference",
]

# Resolved on first use: importing hapgpu imports nothing heavy.
_MODULES = {
    "Alignments": "hapgpu.realign.api",
    "FMIndex": "hapgpu.fmindex.api",
    "Hits": "hapgpu.fmindex.api",
    "align": "hapgpu.realign.api",
    "haplotype_cigar": "hapgpu.realign.anchor",
    "pair_hmm": "hapgpu.pairhmm.api",
    "pair_hmm_batches": "hapgpu.pairhmm.api",
    "realign_to_reference": "hapgpu.realign.project",
    "Overhang": "hapgpu.realign.scoring",
    "Scoring": "hapgpu.realign.scoring",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        message = f"module 'hapgpu' has no attribute '{name}'"
        raise AttributeError(message)
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
