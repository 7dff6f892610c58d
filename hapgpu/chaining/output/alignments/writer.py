"""Lines of PAF or SAM for the aligned mappings of a block of reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hapgpu.chaining.align.batches import AlignedMappings, ReadCodes, TargetCodes
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import LineOptions, MappingOptions
from hapgpu.chaining.output.alignments.paf import aligned_paf_parts
from hapgpu.chaining.output.alignments.rows import Lines, LineTargets
from hapgpu.chaining.output.alignments.sam import sam_parts
from hapgpu.io.fastx.spans import ReadSpans, comment_spans
from hapgpu.io.fastx.text_block import TextBlock


class AlignmentWriter:
    """Writer of the aligned mappings of reads as lines of PAF or SAM, on the host.

    Parameters
    ----------
    index
        Index of the reference.
    targets
        Bases of the reference.
    options, line_options
        Options of the user.
    """

    def __init__(
        self,
        index: MinimizerIndex,
        targets: TargetCodes,
        options: MappingOptions,
        line_options: LineOptions,
    ) -> None:
        self._targets = LineTargets.of(index.names, targets)
        self._options = options
        self._line_options = line_options

    def __call__(
        self,
        text: NDArray[np.uint8],
        spans: ReadSpans,
        codes: ReadCodes,
        aligned: AlignedMappings,
        repeat_lengths: NDArray[np.int32],
        anchors: int,
    ) -> list[Callable[[], TextBlock]]:
        """Return functions that write the lines of a block, each a part of them, in order.

        Parameters
        ----------
        text, spans
            uint8 text of n reads, and its spans.
        codes
            Bases of the reads.
        aligned
            Mappings of the reads.
        repeat_lengths
            int32[n]: bases of each read in repetitive seeds.
        anchors
            Number of anchors of the reads, for the statistics.
        """
        comments = None
        if self._line_options.copies_comments:
            comments = comment_spans(text, spans.name_starts, spans.name_lengths)
        line_parts = sam_parts if self._line_options.is_sam else aligned_paf_parts
        parts = line_parts(
            text,
            spans,
            aligned,
            self._targets,
            codes,
            repeat_lengths,
            self._options,
            self._line_options,
            comments,
        )
        counts = {
            "reads": len(spans),
            "bases": int(spans.lengths.sum(dtype=np.int64)),
            "anchors": anchors,
        }
        return [
            partial(_written, part, {} if number else counts) for number, part in enumerate(parts)
        ]


def _written(part: Callable[[], Lines], counts: Mapping[str, int]) -> TextBlock:
    """Write a part of the lines; the counts of the reads are those of the first part."""
    lines = part()
    return TextBlock(lines.text, {"reads": 0, **counts, **lines.counts})
