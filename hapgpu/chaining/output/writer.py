"""Lines of PAF for the mappings of a block of reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from hapgpu.chaining.batches import Mappings, NamedReads
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.output.paf import Lines, paf_parts, targets_of
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
        """Return the lines of a block; the parameters are those of `parts`."""
        return TextBlock.joined([part() for part in self.parts(reads, mappings, anchors)])

    def parts(
        self, reads: NamedReads, mappings: Mappings, anchors: int
    ) -> list[Callable[[], TextBlock]]:
        """Return functions that write the lines of a block, each a part of them, in order.

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
        counts = {
            "reads": len(reads),
            "bases": int(reads.lengths.sum(dtype=np.int64)),
            "anchors": anchors,
        }
        parts = paf_parts(reads, reported, self._targets, options.mappings)
        return [
            partial(_written, part, {} if number else counts) for number, part in enumerate(parts)
        ]


def _written(part: Callable[[], Lines], counts: Mapping[str, int]) -> TextBlock:
    """Write a part of the lines; the counts of the reads are those of the first part."""
    lines = part()
    numbers = {"mapped": lines.mapped, "records": lines.lines, "secondary": lines.secondary}
    return TextBlock(lines.text, {"reads": 0, **counts, **numbers})
