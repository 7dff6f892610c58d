"""Lines of PAF for the mappings of a block of reads."""

from __future__ import annotations

import numpy as np

from hapgpu.chaining.batches import Mappings, NamedReads
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.output.paf import put_paf, targets_of
from hapgpu.chaining.quality.cpu import assess
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

    def __call__(self, reads: NamedReads, mappings: Mappings, anchors: int) -> TextBlock:
        """Return the lines of a block.

        Parameters
        ----------
        reads
            Names and lengths of the reads.
        mappings
            Mappings of the reads.
        anchors
            Number of anchors of the reads, for the statistics.
        """
        options = self._options
        reported = assess(mappings, options.chains.min_score)
        lines = put_paf(reads, reported, self._targets, options.mappings)
        counts = {
            "reads": len(reads),
            "bases": int(reads.lengths.sum(dtype=np.int64)),
            "anchors": anchors,
            "mapped": lines.mapped,
            "records": lines.lines,
            "secondary": lines.secondary,
        }
        return TextBlock(lines.text, counts)
