"""Lines of PAF for the mappings of blocks of reads, as minimap2's `mm_write_paf3` writes them.

The columns are those of https://lh3.github.io/minimap2/minimap2.html#10; the tags are tp, cm, s1,
s2 (of a primary mapping), dv and rl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.batches import Mappings, NamedReads
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import MapOptions, MappingOptions
from hapgpu.chaining.output.parts import PART_BYTES, LineRange, line_parts
from hapgpu.chaining.quality.cpu import ReportedMappings, assess
from hapgpu.io.fastx.text_block import TextBlock
from hapgpu.io.text.at_addresses import put_fraction
from hapgpu.io.text.fields import NEWLINE, TAB, put_count, put_tag, put_text, text_of
from hapgpu.runtime.jit import njit, njit_inlined

_FIXED_TEXT: Final = 256
"""Largest number of characters in a line, except the names."""
_STRANDS: Final = text_of("+-")
_TYPES: Final = text_of("SP")
_UNMAPPED: Final = text_of("\t0\t0\t*\t*\t0\t0\t0\t0\t0\t0")
_TP: Final = text_of("\ttp:A:")
_CM: Final = text_of("\tcm:i:")
_S1: Final = text_of("\ts1:i:")
_S2: Final = text_of("\ts2:i:")
_DV: Final = text_of("\tdv:f:")
_RL: Final = text_of("\trl:i:")


class Targets(NamedTuple):
    """Names and lengths of the reference sequences, as in lines of PAF.

    Attributes
    ----------
    text
        uint8: tab, name, tab, length, tab of each sequence, concatenated.
    offsets
        int64[t + 1].
    """

    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]


class _ReadArrays(NamedTuple):
    """Columns of `NamedReads` and `Mappings` with one row per read, for compiled code."""

    name_starts: NDArray[np.int32]
    name_lengths: NDArray[np.int32]
    lengths: NDArray[np.int32]
    repeat_lengths: NDArray[np.int32]


class _MappingArrays(NamedTuple):
    """Columns of `Mappings` with one row per mapping, for compiled code."""

    scores: NDArray[np.int32]
    counts: NDArray[np.int32]
    sequences: NDArray[np.int32]
    is_reverse: NDArray[np.uint8]
    query_starts: NDArray[np.int32]
    query_ends: NDArray[np.int32]
    target_starts: NDArray[np.int32]
    target_ends: NDArray[np.int32]
    matches: NDArray[np.int32]
    lengths: NDArray[np.int32]
    second_scores: NDArray[np.int32]


class _ReportedArrays(NamedTuple):
    """`ReportedMappings` for compiled code, except `mappings`."""

    rows: NDArray[np.int64]
    offsets: NDArray[np.int64]
    is_primary: NDArray[np.bool_]
    divergences: NDArray[np.float32]
    qualities: NDArray[np.uint8]


class _LineOptions(NamedTuple):
    """Whether to write lines of secondary mappings and of unmapped reads."""

    secondary: bool
    unmapped: bool


class Lines(NamedTuple):
    """Lines of PAF.

    Attributes
    ----------
    text
        uint8.
    mapped
        Number of reads with a mapping.
    lines, secondary
        Number of mappings written, and number of secondary mappings among them.
    """

    text: NDArray[np.uint8]
    mapped: int
    lines: int
    secondary: int


def targets_of(index: MinimizerIndex) -> Targets:
    """Return names and lengths of the reference sequences for `put_paf`."""
    texts = Ragged.from_sequences(
        f"\t{name}\t{length}\t".encode("utf-8", "surrogateescape")
        for name, length in zip(index.names, index.lengths, strict=True)
    )
    return Targets(read_only(texts.data), read_only(texts.offsets))


@njit_inlined
def _put_name(
    text: NDArray[np.uint8], start: Integer, length: Integer, out: NDArray[np.uint8], at: Integer
) -> Integer:
    source, target = np.uint64(start), np.uint64(at)
    for k in range(np.uint64(length)):
        out[target + k] = text[source + k]
    return at + np.int64(length)


@njit
def _put_column(out: NDArray[np.uint8], at: Integer, value: Integer) -> Integer:
    """Write a tab and a number."""
    out[at] = TAB
    return put_count(out, at + 1, value)


@njit
def _put_divergence(out: NDArray[np.uint8], at: Integer, divergence: np.float32) -> Integer:
    """Write a fraction from 0 to 1 with four decimals, as C does, or `0`."""
    at = put_text(out, at, _DV)
    start = out.ctypes.data
    return put_fraction(start + at, np.float64(divergence)) - start


@njit
def _put_lines(
    text: NDArray[np.uint8],
    reads: _ReadArrays,
    mappings: _MappingArrays,
    reported: _ReportedArrays,
    targets: Targets,
    line_options: _LineOptions,
    part: LineRange,
    out: NDArray[np.uint8],
) -> tuple[Integer, Integer, Integer, Integer]:
    """Write the lines of a part; return their size and the other numbers of `Lines`."""
    name_starts, name_lengths = reads.name_starts, reads.name_lengths
    lengths, repeat_lengths = reads.lengths, reads.repeat_lengths
    rows, offsets, is_primary = reported.rows, reported.offsets, reported.is_primary
    divergences, qualities = reported.divergences, reported.qualities
    scores, counts, second_scores = mappings.scores, mappings.counts, mappings.second_scores
    sequences, is_reverse = mappings.sequences, mappings.is_reverse
    query_starts, query_ends = mappings.query_starts, mappings.query_ends
    target_starts, target_ends = mappings.target_starts, mappings.target_ends
    matches, block_lengths = mappings.matches, mappings.lengths
    target_text, target_offsets = targets.text, targets.offsets
    at: Integer = np.int64(0)
    mapped = lines = secondary = np.int64(0)
    for read in range(part.first_read, part.end_read):
        start, end = offsets[read], offsets[read + 1]
        mapped += end > start >= part.first_row
        if start == end and line_options.unmapped:
            at = _put_name(text, name_starts[read], name_lengths[read], out, at)
            at = _put_column(out, at, lengths[read])
            at = put_text(out, at, _UNMAPPED)
            at = put_tag(out, at, _RL, repeat_lengths[read])
            out[at] = NEWLINE
            at += 1
        for row in range(max(start, part.first_row), min(end, part.end_row)):
            if not (is_primary[row] or line_options.secondary):
                continue
            mapping = rows[row]
            at = _put_name(text, name_starts[read], name_lengths[read], out, at)
            at = _put_column(out, at, lengths[read])
            at = _put_column(out, at, query_starts[mapping])
            at = _put_column(out, at, query_ends[mapping])
            out[at], out[at + 1] = TAB, _STRANDS[is_reverse[mapping]]
            target = target_offsets[sequences[mapping]]
            size = target_offsets[sequences[mapping] + 1] - target
            at = _put_name(target_text, target, size, out, at + 2)
            at = put_count(out, at, target_starts[mapping])
            at = _put_column(out, at, target_ends[mapping])
            at = _put_column(out, at, matches[mapping])
            at = _put_column(out, at, block_lengths[mapping])
            at = _put_column(out, at, qualities[row])
            at = put_text(out, at, _TP)
            out[at] = _TYPES[np.int64(is_primary[row])]
            at = put_tag(out, at + 1, _CM, counts[mapping])
            at = put_tag(out, at, _S1, scores[mapping])
            if is_primary[row]:
                at = put_tag(out, at, _S2, second_scores[mapping])
            at = _put_divergence(out, at, divergences[row])
            at = put_tag(out, at, _RL, repeat_lengths[read])
            out[at] = NEWLINE
            at += 1
            lines += 1
            secondary += not is_primary[row]
    return at, mapped, lines, secondary


def paf_parts(
    named_reads: NamedReads,
    reported: ReportedMappings,
    targets: Targets,
    options: MappingOptions,
    most: int = PART_BYTES,
) -> list[Callable[[], Lines]]:
    """Return functions that write the mappings of reads as lines of PAF.

    Each writes a part of the lines, in the order of the reads and their mappings. The line of an
    unmapped read, if asked for, is `mm_write_paf`'s: zeros, `*` and the tag rl.

    Parameters
    ----------
    named_reads
        Names and lengths of n reads.
    reported
        Mappings of these reads.
    targets
        Result of `targets_of`.
    options
        Options for mappings.
    most
        Most bytes of a part of several lines.
    """
    mappings = reported.mappings
    reads = _ReadArrays(
        read_only(named_reads.name_starts),
        read_only(named_reads.name_lengths),
        read_only(named_reads.lengths),
        read_only(mappings.repeat_lengths),
    )
    columns = _MappingArrays(
        *(read_only(getattr(mappings, name)) for name in _MappingArrays._fields)
    )
    rows = _ReportedArrays(
        *(read_only(getattr(reported, name)) for name in _ReportedArrays._fields)
    )
    line_options = _LineOptions(options.prints_secondary, options.prints_unmapped)

    def put(part: LineRange) -> Lines:
        out = np.empty(part.size, dtype=np.uint8)
        text = read_only(named_reads.text)
        size, *counts = _put_lines(text, reads, columns, rows, targets, line_options, part, out)
        return Lines(out[:size], *map(int, counts))

    longest_target = int(np.diff(targets.offsets).max(initial=0))
    sizes = _FIXED_TEXT + longest_target + named_reads.name_lengths.astype(np.int64)
    row_sizes = np.repeat(sizes, np.diff(reported.offsets))
    parts = line_parts(reported.offsets, sizes, row_sizes, most)
    return [partial(put, part) for part in parts]


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
