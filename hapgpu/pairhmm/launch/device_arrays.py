"""Arrays of a piece on the GPU, as arguments of the pair-HMM kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs of a piece on the device: bases, qualities, offsets and layouts."""

    reads: tuple[Any, ...]  # bases and qualities
    haplotypes: Any
    probabilities: Any
    read_offsets: Any
    haplotype_offsets: Any
    group_reads: Any
    group_haplotypes: Any
    group_pairs: Any
    layouts: Any
    mask_starts: Any
    layout_columns: Any
    layout_lanes: Any


@dataclass(frozen=True, slots=True)
class PreparedArrays:
    """Arrays prepared from the inputs: coefficients of rows, values of reads, masks."""

    coefficients: Any
    emissions: Any
    log10_matching: Any
    last_insertions: Any
    thresholds: Any
    masks: Any

    @classmethod
    def empty(cls, bases: int, reads: int, mask_words: int) -> PreparedArrays:
        """Allocate for numbers of bases, of reads, and of 32-bit words of masks."""
        return cls(
            coefficients=cupy.empty(4 * bases, dtype=np.float32),
            emissions=cupy.empty(2 * bases, dtype=np.float32),
            log10_matching=cupy.empty(reads, dtype=np.float64),
            last_insertions=cupy.empty(reads, dtype=np.float32),
            thresholds=cupy.empty(reads, dtype=np.float32),
            masks=cupy.empty(mask_words, dtype=np.uint32),
        )

    @property
    def rows_and_reads(self) -> tuple[Any, ...]:
        """All arrays except the masks, in the order of the kernels' parameters."""
        return (
            self.coefficients,
            self.emissions,
            self.log10_matching,
            self.last_insertions,
            self.thresholds,
        )


@dataclass(frozen=True, slots=True)
class PairLists:
    """The pairs sorted by layout and read length, the list for `exact`, and the results."""

    pairs: Any
    layout_starts: Any
    layout_pairs: Any
    exact_pairs: Any
    exact_count: Any
    too_small: Any
    likelihoods: Any

    @classmethod
    def empty(cls, pairs: int, layouts: int) -> PairLists:
        """Allocate for numbers of pairs and of layouts."""
        counts = cupy.zeros(2, dtype=np.int32)
        return cls(
            pairs=cupy.empty(8 * pairs, dtype=np.int32),
            layout_starts=cupy.empty(layouts, dtype=np.int32),
            layout_pairs=cupy.empty(layouts, dtype=np.int32),
            exact_pairs=cupy.empty(pairs, dtype=np.int32),
            exact_count=counts[:1],
            too_small=counts[1:],
            likelihoods=cupy.empty(pairs, dtype=np.float64),
        )
