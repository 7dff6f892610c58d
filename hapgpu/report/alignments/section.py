"""Section of a file of alignments: what its fields and tags hold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.bam.read_groups.haplotypes import has_haplotypes
from hapgpu.report.alignments.counts import AlignmentCounts
from hapgpu.report.charts import CHART_SCRIPTS, COLOURS, Spec, bars, figure, figures
from hapgpu.report.names import digests_of
from hapgpu.report.options import SectionOptions
from hapgpu.report.page import Section
from hapgpu.report.tables import facts, percent, table
from hapgpu.report.tally import Tally

_MAX_CONTIGS: Final = 24
_CHANGES: Final = ("an insertion", "a deletion", "a soft clip")


def alignment_section(path: Path, identifier: str, options: SectionOptions) -> Section:
    """Count the records of a file, and draw the charts that its fields and tags allow.

    Raises
    ------
    InputError
        The file cannot be read or is damaged.
    """
    with open_reads(
        str(path),
        threads=options.threads,
        reference=options.reference,
        max_record=options.max_record,
    ) as source:
        names = source.header.reference_names
        count = partial(
            AlignmentCounts.of,
            digests_of(names),
            without_haplotypes=has_haplotypes(source.header),
        )
        counts = AlignmentCounts.empty(len(names))
        for more in source.converted(count):
            counts.merge(more)
            options.advance(more.numbers["records"])
    html = _summary(counts) + figures(list(_charts(counts, names)))
    if counts.numbers.get("moved"):
        html += _moved(counts)
    return Section(path.name, identifier, html, CHART_SCRIPTS)


def _summary(counts: AlignmentCounts) -> str:
    numbers = counts.numbers
    reads, mapped = numbers.get("reads", 0), numbers.get("mapped", 0)
    shown = {
        "records": numbers.get("records", 0),
        "reads": reads,
        "bases": numbers.get("bases", 0),
        "mapped": f"{mapped:,} ({percent(mapped, reads)})",
        "on the reverse strand": percent(numbers.get("reverse", 0), mapped),
    }
    for name in ("secondary", "supplementary", "duplicates", "called haplotypes"):
        if numbers.get(name):
            shown[name] = numbers[name]
    if numbers.get("moved"):
        shown["realigned records"] = numbers["moved"]
    if len(counts.distances):
        shown["mean edit distance"] = f"{counts.distances.mean:.3f}"
    return facts(shown)


def _charts(counts: AlignmentCounts, names: tuple[str, ...]) -> Iterator[str]:
    if counts.numbers.get("with_hits"):
        yield _of(counts.hits, "Hits per read", "hits (NH)", "reads")
    if counts.best.any():
        kinds = ("one best hit, no next", "one best hit, some next", "several best hits")
        groups = dict(zip(kinds, counts.best.tolist(), strict=True))
        yield figure("Best and next hits", bars(groups, "reads"), "by X0 and X1")
    if len(counts.distances):
        yield _of(counts.distances, "Edit distances", "edit distance (NM)", "reads")
    if len(counts.scores):
        yield _of(counts.scores, "Alignment scores", "score (AS)", "reads")
    if len(counts.margins):
        yield figure(
            "Score margins",
            counts.margins.chart("best minus second score (AS - XS)", "reads"),
            counts.margins.note("-1,000", "10,000")
            or "Reads near 0 fit two places or haplotypes equally well.",
        )
    if len(counts.qualities):
        yield _of(counts.qualities, "Mapping qualities", "MAPQ", "reads")
    if counts.lengths.longest:
        yield figure("Read lengths", counts.lengths.chart("bases", "reads"))
    if counts.contigs.any():
        yield _contigs(counts, names)


def _of(tally: Tally, title: str, x: str, y: str) -> str:
    return figure(title, tally.chart(x, y), tally.note("", "values"))


def _contigs(counts: AlignmentCounts, names: tuple[str, ...]) -> str:
    """Return the reads per contig or haplotype: those with the most reads."""
    order = np.argsort(-counts.contigs, kind="stable")
    used = order[: min(_MAX_CONTIGS, int((counts.contigs > 0).sum()))]
    chosen = {names[k]: int(counts.contigs[k]) for k in np.sort(used)}
    rest = int((counts.contigs > 0).sum()) - used.size
    note = f"{rest:,} more contigs have fewer reads." if rest else ""
    return figure("Reads per contig or haplotype", bars(chosen, "mapped reads"), note)


def _moved(counts: AlignmentCounts) -> str:
    """Return what realignment changed, out of the old alignments in OC, OP and OA."""
    rows = [
        (f"records with {name}", int(before), int(after))
        for name, (before, after) in zip(_CHANGES, counts.moved_changes, strict=True)
    ]
    charts = []
    if len(counts.shifts):
        shifts = counts.shifts.chart("new minus old position (bases)", "realigned records")
        note = counts.shifts.note("values of -1,000", "1,000")
        charts.append(figure("Shift of the start", shifts, note))
    if len(counts.old_distances):
        charts.append(
            figure(
                "Edit distances before and after", _before_and_after(counts), "realigned records"
            )
        )
    return "<h3>Realigned records</h3>\n" + table(("", "before", "after"), rows) + figures(charts)


def _before_and_after(counts: AlignmentCounts) -> Spec:
    values = [
        {"distance": distance, "when": when, "records": int(number)}
        for when, tally in (("before", counts.old_distances), ("after", counts.new_distances))
        for distance, number in enumerate(tally.counts)
        if number
    ]
    count = {"field": "records", "type": "quantitative", "title": "realigned records"}
    distance = {"field": "distance", "type": "ordinal", "title": "edit distance (NM)"}
    return {
        "data": {"values": values},
        "height": 220,
        "mark": "bar",
        "encoding": {
            "x": {**distance, "axis": {"labelAngle": 0}},
            "xOffset": {"field": "when", "sort": ["before", "after"]},
            "y": count,
            "color": {
                "field": "when",
                "type": "nominal",
                "title": None,
                "sort": ["before", "after"],
                "scale": {"domain": ["before", "after"], "range": [COLOURS[4], COLOURS[0]]},
            },
            "tooltip": [{"field": "when"}, distance, {**count, "format": ","}],
        },
    }
