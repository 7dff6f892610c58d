"""Lines of PAF for the mappings of blocks of reads, as minimap2's `mm_write_paf3` writes them.

The columns are those of https://lh3.github.io/minimap2/minimap2.html#10; the tags are tp, cm, s1,
s2 (of a primary mapping), dv and rl.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import memory_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.fastx.read_block import TextBlock
from hapgpu.io.text.builder import (
    has_room,
    put_byte,
    put_four_decimals,
    put_head,
    put_number_tag,
    tag_head,
)
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
    LinePart,
    WrittenLines,
    all_lines,
    first_part,
)
from hapgpu.longread.output.rows import LineTargets, read_rows
from hapgpu.longread.output.tags import RL, put_tags
from hapgpu.runtime.jit import njit

_DV: Final = tag_head("dv", "f")
_COUNT_NAMES: Final = COUNT_NAMES[:SUPPLEMENTARY]
_LINE_BYTES: Final = 256
"""Expected bytes of a line: memory of more than a block needs is new at each block."""


class _ReportedRows(NamedTuple):
    """Mappings to report, read-only.

    Attributes
    ----------
    mappings
        `MAPPING`[m], without alignments.
    offsets
        int64[n + 1]: as in `ReportedMappings`.
    divergences
        float32[m].
    reads, targets
        `READ`[n], and `TARGET`[s].
    text, names
        uint8: text of the reads, and names of the reference sequences.
    """

    mappings: NDArray[np.void]
    offsets: NDArray[np.int64]
    divergences: NDArray[np.float32]
    reads: NDArray[np.void]
    targets: NDArray[np.void]
    text: NDArray[np.uint8]
    names: NDArray[np.uint8]


@njit
def _put_lines(
    rows: _ReportedRows,
    has_secondary: Integer,
    has_unmapped: Integer,
    first_read: Integer,
    first_row: Integer,
    out: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> WrittenLines:
    """Write lines from a read and a row on, as far as there is room."""
    mappings, offsets, divergences = rows.mappings, rows.offsets, rows.divergences
    text, source, names = memory_of(out), memory_of(rows.text), memory_of(rows.names)
    at: Integer = np.int64(0)
    for row in range(first_read, rows.reads.size):
        read = rows.reads[row]
        start, end = offsets[row], offsets[row + 1]
        if start == end and has_unmapped:
            stop = put_unmapped(text, at, read, source)
            if not has_room(text, stop):
                return WrittenLines(at, stop, np.int64(row), start)
            at = stop
        for k in range(max(start, first_row), end):
            mapping = mappings[k]
            is_primary = mapping.number == mapping.parent
            if not (is_primary or has_secondary):
                continue
            target = rows.targets[mapping.sequence]
            stop = put_columns(text, at, mapping, read, source, target, names)
            stop = put_head(text, put_tags(text, stop, mapping), _DV)
            stop = put_four_decimals(text, stop, np.float64(divergences[k]))
            stop = put_byte(text, put_number_tag(text, stop, RL, read.repeats), NEWLINE)
            if not has_room(text, stop):
                return WrittenLines(at, stop, np.int64(row), k)
            at = stop
            counts[RECORDS] += 1
            counts[SECONDARY] += not is_primary
        counts[MAPPED] += end > start
    return WrittenLines(at, np.int64(0), rows.reads.size, mappings.size)


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
        """Return the lines of a block; the parameters are those of `first_lines`."""
        return all_lines(self.first_lines(reads, mappings, anchors))

    def first_lines(self, reads: NamedReads, mappings: Mappings, anchors: int) -> LinePart:
        """Return the function that writes the first lines of a block.

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
        return first_paf_lines(reads, reported, self._targets, self._options.mappings, anchors)


def first_paf_lines(
    reads: NamedReads,
    reported: ReportedMappings,
    targets: LineTargets,
    options: MappingOptions,
    anchors: int,
    most: int = PART_BYTES,
) -> LinePart:
    """Return the function that writes the first mappings of reads as lines of PAF.

    The lines have the order of the reads and their mappings. The line of an unmapped read, if
    asked for, is `mm_write_paf3`'s: zeros, `*` and the tag rl.

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
    rows = _ReportedRows(
        read_only(reported_mapping_rows(reported)),
        read_only(reported.offsets),
        read_only(reported.divergences),
        read_only(read_rows(reads, reported.mappings.repeat_lengths)),
        targets.rows,
        read_only(reads.text),
        targets.names,
    )

    def put(*place: Any) -> WrittenLines:
        return _put_lines(rows, options.prints_secondary, options.prints_unmapped, *place)

    expected = _LINE_BYTES * (reported.rows.size + len(reads))
    return first_part(put, reads.lengths, anchors, min(most, expected), names=_COUNT_NAMES)


def reported_mapping_rows(reported: ReportedMappings) -> NDArray[np.void]:
    """Return `MAPPING`[m]: the mappings to report; of primary ones, `number` is `parent`."""
    mappings = mapping_rows(reported.mappings, reported.rows)
    mappings["number"], mappings["parent"] = 0, np.where(reported.is_primary, 0, -1)
    mappings["quality"] = reported.qualities
    return mappings
