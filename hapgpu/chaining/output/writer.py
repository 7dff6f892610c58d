"""What comes out of chaining a block of reads: its mappings as lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.chaining.batches import Mappings
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.output.paf import put_paf, targets_of
from hapgpu.chaining.quality.cpu import assess
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.spans import ReadSpans


@dataclass(frozen=True, slots=True)
class PafBlock:
    """Lines of PAF of a block of reads, and what there is to count.

    Attributes
    ----------
    text
        uint8.
    reads, bases
        How many reads there were, and of how many bases.
    anchors
        How many k-mers they share with the reference, as far as these were looked at.
    mapped
        How many reads have a mapping.
    records, secondary
        How many mappings were written, and how many of these are not primary.
    """

    text: NDArray[np.uint8]
    reads: int
    bases: int
    anchors: int
    mapped: int
    records: int
    secondary: int

    def counts(self) -> dict[str, int]:
        """Return what is told of a run: the counts by name."""
        return {
            "reads": self.reads,
            "bases": self.bases,
            "anchors": self.anchors,
            "mapped": self.mapped,
            "records": self.records,
            "secondary": self.secondary,
        }


class PafWriter:
    """Turns the mappings of reads, on the host, into lines of PAF.

    Parameters
    ----------
    index
        Of the reference.
    options
        What the user chose.
    """

    def __init__(self, index: MinimizerIndex, options: MapOptions) -> None:
        self._targets = targets_of(index)
        self._options = options

    def __call__(
        self, block: ReadBlock, spans: ReadSpans, mappings: Mappings, anchors: int
    ) -> PafBlock:
        """Return the lines of a block, whose reads have so many anchors."""
        options = self._options
        reported = assess(mappings, options.chains.min_score)
        lines = put_paf(block.text, spans, reported, self._targets, options.mappings)
        return PafBlock(
            text=lines.text,
            reads=len(spans),
            bases=int(spans.lengths.sum(dtype=np.int64)),
            anchors=anchors,
            mapped=lines.mapped,
            records=lines.lines,
            secondary=lines.secondary,
        )
