"""What of a piece lies on the GPU: arrays as the kernels of the pair-HMM take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np


@dataclass(frozen=True, slots=True)
class Inputs:
    """A piece on the device: text, qualities and offsets as the kernels take them."""

    reads: tuple[Any, ...]  # bases and qualities
    haplotypes: Any
    probabilities: Any
    read_offsets: Any
    haplotype_offsets: Any
    region_reads: Any
    region_haplotypes: Any
    region_pairs: Any
    layouts: Any
    mask_starts: Any
    layout_columns: Any
    layout_lanes: Any


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the kernels make of the inputs: constants of rows, values of reads, masks."""

    coefficients: Any
    emissions: Any
    log10_matching: Any
    last_insertions: Any
    thresholds: Any
    masks: Any

    @classmethod
    def empty(cls, bases: int, reads: int, mask_words: int) -> Prepared:
        """Allocate for so many bases and reads, and 32-bit words of masks."""
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
        """All but the masks, as the kernels take them."""
        return (
            self.coefficients,
            self.emissions,
            self.log10_matching,
            self.last_insertions,
            self.thresholds,
        )


@dataclass(frozen=True, slots=True)
class Listed:
    """The pairs by layout and read length, those for `exact`, and what comes of them."""

    pairs: Any
    layout_starts: Any
    layout_pairs: Any
    exact_pairs: Any
    exact_count: Any
    unknown: Any
    likelihoods: Any

    @classmethod
    def empty(cls, pairs: int, layouts: int) -> Listed:
        """Allocate for so many pairs and layouts."""
        counts = cupy.zeros(2, dtype=np.int32)
        return cls(
            pairs=cupy.empty(8 * pairs, dtype=np.int32),
            layout_starts=cupy.empty(layouts, dtype=np.int32),
            layout_pairs=cupy.empty(layouts, dtype=np.int32),
            exact_pairs=cupy.empty(pairs, dtype=np.int32),
            exact_count=counts[:1],
            unknown=counts[1:],
            likelihoods=cupy.empty(pairs, dtype=np.float64),
        )
