"""Section of a file of mappings, PAF: contigs with their depth, counts, charts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.files.compressed import open_inflated
from hapgpu.report.charts import (
    CHART_SCRIPTS,
    COLOURS,
    Spec,
    figure,
    figures,
    histogram,
    sentence,
)
from hapgpu.report.dot_plot import DrawnReads, dot_plot, read_plot
from hapgpu.report.identities import LengthIdentities
from hapgpu.report.line_blocks import LineBlocks
from hapgpu.report.mapping_lines import (
    NO_IDENTITY,
    UNMAPPED,
    PafColumn,
    covered_lengths,
    parse_lines,
)
from hapgpu.report.markup import facts, percent
from hapgpu.report.page import Section, SectionOptions
from hapgpu.report.tally import LengthTally, Tally

MAX_CONTIGS: Final = 1000
OTHER: Final = -1
_BINS: Final = 2000


class ShownContigs:
    """The first 1,000 contigs of a file, in bins; others are only counted.

    Attributes
    ----------
    names, lengths
        One per contig, in file order.
    covered
        Bases of the contigs that mappings cover, each as often as it is covered.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.lengths: list[int] = []
        self.covered = 0
        self._digests = np.empty(0, dtype=np.int64)
        self._sorted = np.empty(0, dtype=np.int64)
        self._partial = np.zeros((0, _BINS + 1), dtype=np.float64)
        self._changes = np.zeros((0, _BINS + 1), dtype=np.float64)

    def numbers_of(
        self, text: NDArray[np.uint8], names: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return int64[n]: the contigs of n lines, new contigs included; `OTHER` for others.

        Parameters
        ----------
        text
            uint8: the lines.
        names
            int64[n, 3]: start, end and digest of each name.
        lengths
            int64[n]: length of each contig.
        """
        found, first = np.unique(names[:, 2], return_index=True)
        is_new = ~np.isin(found, self._digests)
        for row in np.sort(first[is_new])[: MAX_CONTIGS - len(self.names)].tolist():
            start, end, digest = names[row].tolist()
            self.names.append(text[start:end].tobytes().decode("utf-8", "replace"))
            self.lengths.append(int(lengths[row]))
            self._digests = np.append(self._digests, digest)
        self._sorted = np.argsort(self._digests)
        more = len(self.names) - len(self._partial)
        added = np.zeros((more, _BINS + 1), dtype=np.float64)
        self._partial = np.concatenate([self._partial, added])
        self._changes = np.concatenate([self._changes, added])
        return self._look_up(names[:, 2])

    def _look_up(self, digests: NDArray[np.int64]) -> NDArray[np.int64]:
        if not self._digests.size:
            return np.full(digests.size, OTHER)
        ranks = np.searchsorted(self._digests, digests, sorter=self._sorted)
        numbers = self._sorted[np.minimum(ranks, self._sorted.size - 1)]
        return np.where(self._digests[numbers] == digests, numbers, OTHER)

    def cover(
        self, numbers: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> None:
        """Count bases of contigs as covered once more.

        Parameters
        ----------
        numbers
            int64[n]: the contigs, by `numbers_of`.
        starts, ends
            int64[n], 0-based, half-open.
        """
        is_known = numbers != OTHER
        numbers, starts, ends = numbers[is_known], starts[is_known], ends[is_known]
        self.covered += int((ends - starts).sum())
        widths = self.bin_widths()[numbers]
        shape = self._partial.shape
        for positions, sign in ((starts, -1.0), (ends, 1.0)):
            bins = np.minimum(positions // widths, _BINS)
            flat = numbers * shape[1] + bins
            self._partial += sign * _summed(flat, positions - bins * widths, shape)
            self._changes -= sign * _summed(flat, widths, shape)

    def bin_widths(self) -> NDArray[np.int64]:
        """Return int64[contigs]: bases per bin."""
        return np.maximum(-(-np.array(self.lengths, dtype=np.int64) // _BINS), 1)

    def depths(self) -> list[NDArray[np.float64]]:
        """Return float64[bins] for each contig: the mean depth of each bin."""
        bases: NDArray[np.float64] = self._partial + np.cumsum(
            self._changes, axis=1, dtype=np.float64
        )
        depths: list[NDArray[np.float64]] = []
        for row, (length, width) in enumerate(
            zip(self.lengths, self.bin_widths().tolist(), strict=True)
        ):
            used = max(-(-length // width), 1)
            sizes = np.full(used, float(width))
            sizes[-1] = max(length - (used - 1) * width, 1)
            depths.append(bases[row, :used] / sizes)
        return depths


def _summed(
    flat: NDArray[np.int64], weights: NDArray[Any], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return sums of weights in an array of a shape."""
    sums = np.bincount(flat, weights, int(np.prod(shape)))
    return sums.astype(np.float64).reshape(shape)


_NEWLINE: Final = ord("\n")
_COVERAGE_UNIT: Final = 100


@dataclass
class MappingCounts:
    """Counts of mappings, which grow block by block.

    Attributes
    ----------
    numbers
        Numbers of lines, reads and bases, by name.
    identities
        Of primary mappings with a CIGAR and NM.
    coverages
        Of mapped reads: percent of their bases in primary mappings.
    per_read
        Primary mappings of each read in the file.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    lengths: LengthTally = field(default_factory=LengthTally)
    identities: LengthIdentities = field(default_factory=LengthIdentities)
    coverages: Tally = field(default_factory=lambda: Tally(0, _COVERAGE_UNIT, 1 / _COVERAGE_UNIT))
    qualities: Tally = field(default_factory=lambda: Tally(0, 255))
    per_read: Tally = field(default_factory=lambda: Tally(0, 100))
    contigs: ShownContigs = field(default_factory=ShownContigs)
    drawn: DrawnReads = field(default_factory=DrawnReads)

    def _count(self, **numbers: int) -> None:
        for name, number in numbers.items():
            self.numbers[name] = self.numbers.get(name, 0) + int(number)

    def add(self, text: NDArray[np.uint8], columns: NDArray[np.int64]) -> None:
        """Count all lines of some reads.

        Parameters
        ----------
        text
            uint8: the lines.
        columns
            int64[n, columns]: their columns.
        """
        if not len(columns):
            return
        first = first_lines(columns)
        reads = np.cumsum(first) - 1 + self.numbers.get("reads", 0)
        self.lengths.add(columns[first, PafColumn.LENGTH])
        is_mapped = columns[:, PafColumn.REVERSE] != UNMAPPED
        is_primary = is_mapped & (columns[:, PafColumn.SECONDARY] == 0)
        primary = columns[is_primary]
        per_read = np.bincount(reads[is_primary] - reads[0], minlength=int(first.sum()))
        self._count(
            lines=len(columns),
            reads=first.sum(),
            bases=columns[first, PafColumn.LENGTH].sum(),
            mapped=(per_read > 0).sum(),
            primary=len(primary),
            secondary=(is_mapped & ~is_primary).sum(),
            reverse=primary[:, PafColumn.REVERSE].sum(),
        )
        self.per_read.add(per_read)
        aligned = primary[primary[:, PafColumn.IDENTITY] != NO_IDENTITY]
        self.identities.add(aligned[:, PafColumn.LENGTH], aligned[:, PafColumn.IDENTITY])
        self.qualities.add(primary[:, PafColumn.QUALITY])
        self._cover_reads(primary, per_read)
        names = slice(PafColumn.TARGET, PafColumn.TARGET_DIGEST + 1)
        mapped = columns[is_mapped]
        numbers = self.contigs.numbers_of(
            text, mapped[:, names], mapped[:, PafColumn.TARGET_LENGTH]
        )
        known = numbers[is_primary[is_mapped]]
        self.contigs.cover(
            known, primary[:, PafColumn.TARGET_START], primary[:, PafColumn.TARGET_STOP]
        )
        self.drawn.add(text, mapped, reads[is_mapped], numbers)

    def _cover_reads(self, primary: NDArray[np.int64], per_read: NDArray[np.int64]) -> None:
        counts = per_read[per_read > 0]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        covered = np.empty(counts.size, dtype=np.int64)
        starts = np.ascontiguousarray(primary[:, PafColumn.START])
        covered_lengths(starts, np.ascontiguousarray(primary[:, PafColumn.END]), offsets, covered)
        lengths = np.maximum(primary[offsets[:-1], PafColumn.LENGTH], 1)
        self.coverages.add(covered * _COVERAGE_UNIT // lengths)
        self._count(covered=covered.sum())


def first_lines(columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return bool[n]: which lines start another read; lines of a read follow each other.

    `columns` are int64[n, columns], a column per `PafColumn`.
    """
    digests = columns[:, PafColumn.QUERY_DIGEST]
    return np.concatenate([[True], digests[1:] != digests[:-1]])


def count_mappings(path: Path, options: SectionOptions) -> MappingCounts:
    """Count the mappings of a PAF file.

    Raises
    ------
    InputError
        The file cannot be read, or a line is malformed.
    """
    counts = MappingCounts()
    with open_inflated(path, str(path)) as stream:
        blocks = LineBlocks(stream, str(path), options.max_record)
        for text in blocks:
            lines = int(np.count_nonzero(text == _NEWLINE)) + 1
            columns = np.empty((lines, len(PafColumn)), dtype=np.int64)
            parsed, end = map(int, parse_lines(text, columns))
            if end < text.size:
                line = blocks.first_line + parsed
                raise InputError(f"{path}, line {line}: malformed PAF; write the file again")
            columns = columns[:parsed]
            if not blocks.is_last and parsed:
                last = int(np.flatnonzero(first_lines(columns))[-1])
                # The next block may have more mappings of the last read.
                blocks.keep(text[columns[last, PafColumn.QUERY] :])
                columns = columns[:last]
            counts.add(text, columns)
            options.advance(len(columns))
    return counts


_MAX_DEPTH_CONTIGS: Final = 24
_DEPTH_POINTS: Final = 500
_DEPTH_BARS: Final = 50


def mapping_section(path: Path, identifier: str, options: SectionOptions) -> Section:
    """Count the mappings of a PAF file, and draw them.

    Raises
    ------
    InputError
        The file cannot be read, or a line is malformed.
    """
    counts = count_mappings(path, options)
    charts = list(_charts(counts)) if counts.numbers.get("primary") else []
    empty = "" if charts else "<p>The file has no mappings.</p>\n"
    return Section(path.name, identifier, _summary(counts) + empty + figures(charts), CHART_SCRIPTS)


def _summary(counts: MappingCounts) -> str:
    numbers = counts.numbers
    reads, bases, mapped, primary = (
        numbers.get(name, 0) for name in ("reads", "bases", "mapped", "primary")
    )
    shown: dict[str, object] = {
        "reads in the file": reads,
        "bases": bases,
        "read N50 (bases)": counts.lengths.n50(),
        "longest read (bases)": counts.lengths.longest,
        "mapped reads": f"{mapped:,} ({percent(mapped, reads)})",
        "mapped bases": percent(numbers.get("covered", 0), bases),
        "primary mappings": primary,
        "secondary mappings": numbers.get("secondary", 0),
        "on the reverse strand": percent(numbers.get("reverse", 0), primary),
    }
    lengths = sum(counts.contigs.lengths)
    if lengths:
        shown["mean depth of contigs with mappings"] = f"{counts.contigs.covered / lengths:.2f}"
    identities = counts.identities.tally
    if len(identities):
        shown["median identity"] = f"{100 * identities.median:.2f}%"
    elif primary:
        shown["identity"] = "unknown: no cg and NM"
    return facts(shown)


def _charts(counts: MappingCounts) -> Iterator[str]:
    drawn, contigs = counts.drawn, counts.contigs
    drawn.columns = drawn.columns[drawn.columns[:, drawn.CONTIG] != OTHER]
    if len(drawn.columns):
        spec = dot_plot(drawn, contigs.names, contigs.lengths)
        yield figure("Dot plot", spec, _drawn_note(counts), wide=True)
        split = read_plot(drawn, contigs.names)
        if split:
            note = "Reads with several primary mappings, such as split reads; most mappings first."
            yield figure("One read", split, note)
    yield from counts.identities.figures("primary mappings")
    if not len(counts.identities.tally):
        words = "unknown, as no mapping has the tags cg and NM; hapgpu chain -c writes them"
        yield sentence("Identity", words)
    yield counts.coverages.figure(
        "Coverage of reads",
        "fraction of the read in primary mappings",
        "mapped reads",
        x_format=".0%",
    )
    yield counts.lengths.figure("Read lengths", "bases", "reads")
    yield counts.qualities.figure("Mapping qualities", "MAPQ", "primary mappings")
    note = counts.per_read.note("", "values")
    yield counts.per_read.figure("Mappings per read", "primary mappings", "reads", note)
    yield from _depth_charts(contigs)


def _drawn_note(counts: MappingCounts) -> str:
    drawn = counts.drawn
    shown = f"{len(drawn.columns):,} mappings" + (
        f": those of one in {drawn.stride} reads" if drawn.stride > 1 else ""
    )
    shown += "; of a read with more, the longest" * drawn.is_cut
    more = f"; only the first {MAX_CONTIGS:,} contigs" * (len(counts.contigs.names) == MAX_CONTIGS)
    return f"{shown}{more}. Reads are stacked by the position of their longest mapping."


def _depth_charts(contigs: ShownContigs) -> Iterator[str]:
    depths = contigs.depths()
    widths = contigs.bin_widths()
    yield _depth_histogram(depths, np.asarray(contigs.lengths))
    longest = np.argsort(-np.asarray(contigs.lengths), kind="stable")[:_MAX_DEPTH_CONTIGS]
    values = [
        value
        for row in np.sort(longest).tolist()
        for value in _depth_points(contigs.names[row], depths[row], int(widths[row]))
    ]
    note = f"the {_MAX_DEPTH_CONTIGS} longest contigs" * (len(depths) > _MAX_DEPTH_CONTIGS)
    yield figure("Depth along the contigs", _depth_line(values), note, wide=True)


def _depth_points(
    contig: str, depth: NDArray[np.float64], width: int
) -> Iterator[dict[str, object]]:
    step = -(-depth.size // _DEPTH_POINTS)
    for start in range(0, depth.size, step):
        mean = float(depth[start : start + step].mean())
        yield {"contig": contig, "from": start * width, "depth": round(mean, 3)}


def _depth_histogram(depths: list[NDArray[np.float64]], lengths: NDArray[np.int64]) -> str:
    depth = np.concatenate(depths)
    weights = np.concatenate(
        [np.full(d.size, n / d.size) for d, n in zip(depths, lengths.tolist(), strict=True)]
    )
    high = max(float(depth.max()), 1.0)
    if depth.min() == depth.max():
        return sentence("Depth", f"{depth[0]:g} on all bases of the contigs")
    counts, edges = np.histogram(depth, _DEPTH_BARS, (0, high), weights=weights)
    chart = histogram(np.round(counts).astype(np.int64), edges, "depth", "bases")
    note = "bases of the contigs by the mean depth of their bin; a contig has up to 2,000 bins"
    return figure("Depth", chart, note)


def _depth_line(values: list[dict[str, object]]) -> Spec:
    contigs = list(dict.fromkeys(value["contig"] for value in values))
    spec: Spec = {
        "height": 160,
        "data": {"values": values},
        "mark": {"type": "area", "color": COLOURS[0], "opacity": 0.8, "interpolate": "step-after"},
        "encoding": {
            "x": {
                "field": "from",
                "type": "quantitative",
                "title": "position (bases)",
                "axis": {"format": "~s"},
                "scale": {"nice": False},
            },
            "y": {"field": "depth", "type": "quantitative", "title": "mean depth"},
        },
    }
    if len(contigs) > 1:
        bind = {"input": "select", "options": contigs, "name": "contig "}
        spec["params"] = [{"name": "shown_contig", "value": contigs[0], "bind": bind}]
        spec["transform"] = [{"filter": "datum.contig == shown_contig"}]
    return spec
