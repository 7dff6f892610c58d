"""Lines of PAF for the mappings of a block of reads."""

from __future__ import annotations

import numpy as np

from hapgpu.chaining.batches import Mappings
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.output.paf import put_paf, targets_of
from hapgpu.chaining.quality.cpu import assess
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.spans import ReadSpans
from hapgpu.io.fastx.text_block import TextBlock


class PafWriter:
    """Writer of the mappings of reads as lines of PAF, on the host.

    Parameters
    ----------
    index
        Index of the reference.
    options
        Options of the user.
    """

    def __init__(self, index: MinimizerIndex, options: MapOptions) -> None:
        self._targets = targets_of(index)
        self._options = options

    def __call__(
        self, block: ReadBlock, spans: ReadSpans, mappings: Mappings, anchors: int
    ) -> TextBlock:
        """Return the lines of a block.

        Parameters
        ----------
        block, spans
            The reads.
        mappings
            Mappings of the reads.
        anchors
            Number of anchors of the reads, for the statistics.
        """
        options = self._options
        reported = assess(mappings, options.chains.min_score)
        lines = put_paf(block.text, spans, reported, self._targets, options.mappings)
        counts = {
            "reads": len(spans),
            "bases": int(spans.lengths.sum(dtype=np.int64)),
            "anchors": anchors,
            "mapped": lines.mapped,
            "records": lines.lines,
            "secondary": lines.secondary,
        }
        return TextBlock(lines.text, counts)
