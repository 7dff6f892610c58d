"""Section of a file of mappings: dot plot, identity, coverage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.report.charts import CHART_SCRIPTS, COLOURS, Spec, figure, figures, histogram
from hapgpu.report.mappings.counts import MappingCounts, count_mappings
from hapgpu.report.mappings.dot_plot import dot_plot, read_plot
from hapgpu.report.mappings.targets import MAX_CONTIGS, OTHER, Contigs
from hapgpu.report.options import SectionOptions
from hapgpu.report.page import Section
from hapgpu.report.tables import facts, percent

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
    if primary:
        shown["median identity"] = f"{100 * counts.identities.median:.2f}%"
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
    yield figure(
        "Identity",
        counts.identities.chart("identity", "primary mappings", "~%"),
        "1 - dv, an estimate that is too high on small references, or 1 - de; without these tags, "
        "matching bases / length of the mapping",
    )
    yield figure(
        "Coverage of reads",
        counts.coverages.chart("fraction of the read in primary mappings", "mapped reads", ".0%"),
    )
    yield figure("Read lengths", counts.lengths.chart("read length (bases)", "reads"))
    yield figure("Mapping qualities", counts.qualities.chart("MAPQ", "primary mappings"))
    yield figure(
        "Mappings per read",
        counts.per_read.chart("primary mappings", "reads"),
        counts.per_read.note("", "values"),
    )
    yield from _depth_charts(contigs)


def _drawn_note(counts: MappingCounts) -> str:
    drawn = counts.drawn
    shown = f"{len(drawn.columns):,} mappings" + (
        f": those of one in {drawn.stride} reads" if drawn.stride > 1 else ""
    )
    shown += "; of a read with more, the longest" * drawn.is_cut
    more = f"; only the first {MAX_CONTIGS:,} contigs" * (len(counts.contigs.names) == MAX_CONTIGS)
    return f"{shown}{more}. Reads stand above each other, by the position of their longest mapping."


def _depth_charts(contigs: Contigs) -> Iterator[str]:
    depths = contigs.depths()
    widths = contigs.bin_widths()
    yield figure(
        "Depth",
        _depth_histogram(depths, np.asarray(contigs.lengths)),
        "bases of the contigs by the mean depth of their bin; a contig has up to 2,000 bins",
    )
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


def _depth_histogram(depths: list[NDArray[np.float64]], lengths: NDArray[np.int64]) -> Spec:
    depth = np.concatenate(depths)
    weights = np.concatenate(
        [np.full(d.size, n / d.size) for d, n in zip(depths, lengths.tolist(), strict=True)]
    )
    high = max(float(depth.max()), 1.0)
    counts, edges = np.histogram(depth, _DEPTH_BARS, (0, high), weights=weights)
    return histogram(np.round(counts).astype(np.int64), edges, "depth", "bases")


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
