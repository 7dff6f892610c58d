"""Lines of PAF for the mappings of blocks of reads, as minimap2's `mm_write_paf3` writes them.

The columns are those of https://lh3.github.io/minimap2/minimap2.html#10; the tags are tp, cm, s1,
s2 (of a primary mapping), dv and rl.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.fastx.read_block import TextBlock
from hapgpu.io.text.at_addresses import put_byte, put_fraction, put_head, put_number_tag, tag_head
from hapgpu.io.text.fields import NEWLINE
from hapgpu.longread.align.start import mapping_rows
from hapgpu.longread.batches import Mappings, NamedReads
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.mappings.quality import ReportedMappings, assess
from hapgpu.longread.options import LongReadOptions, MappingOptions
from hapgpu.longread.output.aligned_paf import put_columns, put_unmapped
from hapgpu.longread.output.parts import (
    COUNT_NAMES,
    MAPPED,
    PART_BYTES,
    RECORDS,
    SECONDARY,
    SUPPLEMENTARY,
    LineRange,
    line_parts,
    text_parts,
)
from hapgpu.longread.output.rows import LineTargets, read_rows
from hapgpu.longread.output.tags import RL, put_tags
from hapgpu.runtime.jit import njit

_FIXED_TEXT: Final = 256
"""Largest number of characters in a line, except the names."""
_DV: Final = tag_head("dv", "f")
_COUNT_NAMES: Final = COUNT_NAMES[:SUPPLEMENTARY]


class _ReportedRows(NamedTuple):
    """Mappings to report.

    Attributes
    ----------
    mappings
        MAPPING[m], without alignments.
    offsets
        int64[n + 1]: as in `ReportedMappings`.
    divergences
        float32[m].
    """

    mappings: NDArray[np.void]
    offsets: NDArray[np.int64]
    divergences: NDArray[np.float32]


@njit
def _put_lines(
    rows: _ReportedRows,
    reads: NDArray[np.void],
    targets: NDArray[np.void],
    has_secondary: Integer,
    has_unmapped: Integer,
    part: LineRange,
    out: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> Integer:
    """Write the lines of a part; return their size."""
    mappings, offsets, divergences = rows.mappings, rows.offsets, rows.divergences
    first = out.ctypes.data
    at: Integer = np.int64(first)
    for row in range(part.first_read, part.end_read):
        read = reads[row]
        start, end = offsets[row], offsets[row + 1]
        counts[MAPPED] += end > start >= part.first_row
        if start == end and has_unmapped:
            at = put_unmapped(at, read)
        for k in range(max(start, part.first_row), min(end, part.end_row)):
            mapping = mappings[k]
            is_primary = mapping.number == mapping.parent
            if not (is_primary or has_secondary):
                continue
            at = put_columns(at, mapping, read, targets[mapping.sequence])
            at = put_head(put_tags(at, mapping), _DV)
            at = put_fraction(at, np.float64(divergences[k]))
            at = put_byte(put_number_tag(at, RL, read.repeats), NEWLINE)
            counts[RECORDS] += 1
            counts[SECONDARY] += not is_primary
    return at - first


class PafWriter:
    """Writer of the mappings of reads as lines of PAF, on the host.

    Parameters
    ----------
    index
        Index of the reference.
    options
        Options of the user.
    """

    def __init__(self, index: MinimizerIndex, options: LongReadOptions) -> None:
        self._targets = LineTargets.of(index.names, index.lengths)
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
        reported = assess(mappings, self._options.chains.min_score)
        return paf_parts(reads, reported, self._targets, self._options.mappings, anchors)


def paf_parts(
    reads: NamedReads,
    reported: ReportedMappings,
    targets: LineTargets,
    options: MappingOptions,
    anchors: int,
    most: int = PART_BYTES,
) -> list[Callable[[], TextBlock]]:
    """Return functions that write the mappings of reads as lines of PAF.

    Each writes a part of the lines, in the order of the reads and their mappings. The line of an
    unmapped read, if asked for, is `mm_write_paf3`'s: zeros, `*` and the tag rl.

    Parameters
    ----------
    reads
        Names and lengths of n reads.
    reported
        Mappings of these reads.
    targets
        Reference sequences.
    options
        Options for mappings.
    anchors
        Number of anchors of the reads.
    most
        Most bytes of a part of several lines.
    """
    lines = _ReportedRows(
        read_only(reported_mapping_rows(reported)),
        read_only(reported.offsets),
        read_only(reported.divergences),
    )
    rows = read_only(read_rows(reads, reported.mappings.repeat_lengths))

    def put(part: LineRange, out: NDArray[np.uint8], counts: NDArray[np.int64]) -> int:
        written = (options.prints_secondary, options.prints_unmapped)
        return int(_put_lines(lines, rows, targets.rows, *written, part, out, counts))

    sizes = _FIXED_TEXT + targets.longest_name + reads.name_lengths.astype(np.int64)
    row_sizes = np.repeat(sizes, np.diff(reported.offsets))
    parts = line_parts(reported.offsets, sizes, row_sizes, most)
    return text_parts(put, parts, reads.lengths, anchors, held=reads.text, names=_COUNT_NAMES)


def reported_mapping_rows(reported: ReportedMappings) -> NDArray[np.void]:
    """Return MAPPING[m]: the mappings to report; a primary one has equal `number` and `parent`."""
    mappings = mapping_rows(reported.mappings, reported.rows)
    mappings["number"], mappings["parent"] = 0, np.where(reported.is_primary, 0, -1)
    mappings["quality"] = reported.qualities
    return mappings
