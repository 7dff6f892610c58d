"""Section of a file of alignments: counts of what its fields and tags hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.bam.constants import UNMAPPED
from hapgpu.io.bam.header import SamHeader, fields_of
from hapgpu.io.bam.read_groups import HAPLOTYPE_GROUP, are_haplotypes, has_haplotypes
from hapgpu.io.bam.record_layout import RecordBlock
from hapgpu.report.alignment_columns import MISSING, ReadColumn, columns_of
from hapgpu.report.charts import CHART_SCRIPTS, COLOURS, Spec, bars, bars_figure, figure, figures
from hapgpu.report.identities import LengthIdentities, identities_of
from hapgpu.report.line_blocks import digests_of
from hapgpu.report.markup import facts, percent, table
from hapgpu.report.page import Section, SectionOptions
from hapgpu.report.tally import LengthTally, Tally

_REVERSE: Final = 0x10
_SECONDARY: Final = 0x100
_DUPLICATE: Final = 0x400
_SUPPLEMENTARY: Final = 0x800
_OPERATIONS: Final = ("INSERTED", "DELETED", "CLIPPED")


@dataclass
class AlignmentCounts:
    """Counts of records, which add up over the blocks of a file.

    Attributes
    ----------
    numbers
        Numbers of records of several kinds, by name.
    contigs
        int64[contigs]: primary records on each contig.
    hits
        NH of each read; 0 if it is unmapped and other reads have NH.
    best
        int64[3]: reads with one best hit and no next ones, with one best hit and next ones, with
        several best hits (X0, X1).
    identities
        Of mapped reads with NM.
    aligned
        int64[contigs]: bases of primary records that are aligned to a base of each contig.
    moved_changes
        By operation of CIGARs: int64[2], reads with it before and after they moved.
    """

    numbers: dict[str, int]
    contigs: NDArray[np.int64]
    aligned: NDArray[np.int64]
    lengths: LengthTally = field(default_factory=LengthTally)
    qualities: Tally = field(default_factory=lambda: Tally(0, 255))
    distances: Tally = field(default_factory=lambda: Tally(0, 1000))
    identities: LengthIdentities = field(default_factory=LengthIdentities)
    scores: Tally = field(default_factory=lambda: Tally(-10_000, 50_000))
    margins: Tally = field(default_factory=lambda: Tally(-1_000, 10_000))
    hits: Tally = field(default_factory=lambda: Tally(0, 1000))
    best: NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, dtype=np.int64))
    shifts: Tally = field(default_factory=lambda: Tally(-1_000, 1_000))
    old_distances: Tally = field(default_factory=lambda: Tally(0, 1000))
    new_distances: Tally = field(default_factory=lambda: Tally(0, 1000))
    moved_changes: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((len(_OPERATIONS), 2), dtype=np.int64)
    )

    @classmethod
    def empty(cls, contigs: int) -> AlignmentCounts:
        """Return counts of no record."""
        return cls({}, np.zeros(contigs, dtype=np.int64), np.zeros(contigs, dtype=np.int64))

    @classmethod
    def of(
        cls, contigs: NDArray[np.int64], block: RecordBlock, *, without_haplotypes: bool = False
    ) -> AlignmentCounts:
        """Count the records of a block.

        Parameters
        ----------
        contigs
            int64[c]: digests of the names of the contigs.
        block
            The records.
        without_haplotypes
            Whether to look for called haplotypes, which only count as such.
        """
        counts = cls.empty(contigs.size)
        if not without_haplotypes:
            return counts.add(columns_of(block), contigs)
        starts = block.layout.starts
        found = are_haplotypes(block.data, block.layout.tag_starts, starts + block.sizes)
        counts.add(columns_of(block)[:, ~found], contigs)
        counts.numbers["records"] = len(block)
        counts.numbers["called haplotypes"] = int(found.sum())
        return counts

    def add(self, columns: NDArray[np.int64], contigs: NDArray[np.int64]) -> Self:
        """Count n records; before, nothing was counted.

        Parameters
        ----------
        columns
            int64[columns, n], a row per `ReadColumn`.
        contigs
            int64[c]: digests of the names of the contigs.
        """
        flags = columns[ReadColumn.FLAGS]
        is_mapped = _are_mapped(columns)
        is_primary = flags & (_SECONDARY | _SUPPLEMENTARY) == 0
        self.numbers = {
            "records": flags.size,
            "reads": int(is_primary.sum()),
            "bases": int(columns[ReadColumn.BASES][is_primary].sum()),
            "mapped": int((is_primary & is_mapped).sum()),
            "reverse": int((is_primary & is_mapped & (flags & _REVERSE != 0)).sum()),
            "secondary": int((flags & _SECONDARY != 0).sum()),
            "supplementary": int((flags & _SUPPLEMENTARY != 0).sum()),
            "duplicates": int((flags & _DUPLICATE != 0).sum()),
        }
        self._count_primary(columns[:, is_primary])
        self._count_moved(columns[:, is_mapped], contigs)
        return self

    def _count_primary(self, columns: NDArray[np.int64]) -> None:
        is_mapped = _are_mapped(columns)
        self.lengths.add(columns[ReadColumn.BASES])
        hits = columns[ReadColumn.NH]
        self.numbers["with_hits"] = int((hits != MISSING).sum())
        self.hits.add(np.where(is_mapped, hits, 0)[~is_mapped | (hits != MISSING)])
        mapped = columns[:, is_mapped]
        self.contigs += np.bincount(mapped[ReadColumn.CONTIG], minlength=self.contigs.size)
        np.add.at(self.aligned, mapped[ReadColumn.CONTIG], mapped[ReadColumn.ALIGNED])
        self.qualities.add(mapped[ReadColumn.MAPPING_QUALITY])
        self._count_distances(mapped[:, mapped[ReadColumn.NM] != MISSING])
        scores, seconds = mapped[ReadColumn.AS], mapped[ReadColumn.XS]
        self.scores.add(_present(scores))
        self.margins.add((scores - seconds)[(scores != MISSING) & (seconds != MISSING)])
        best, following = mapped[ReadColumn.X0], mapped[ReadColumn.X1]
        has_best = best != MISSING
        group = np.where(best > 1, 2, np.where(following > 0, 1, 0))[has_best]
        self.best += np.bincount(group, minlength=3)

    def _count_distances(self, columns: NDArray[np.int64]) -> None:
        """Count edit distances and identities of records that have NM."""
        self.distances.add(columns[ReadColumn.NM])
        operations = ReadColumn.ALIGNED, ReadColumn.INSERTED, ReadColumn.DELETED
        spans = columns[[*operations]].sum(axis=0)
        has_span = spans > 0
        found = identities_of(columns[ReadColumn.NM][has_span], spans[has_span])
        self.identities.add(columns[ReadColumn.BASES][has_span], found)

    def _count_moved(self, columns: NDArray[np.int64], contigs: NDArray[np.int64]) -> None:
        """Count the reads that hapgpu realigned: they hold their old alignment."""
        has_old = (columns[ReadColumn.OP] != MISSING) & (columns[ReadColumn.OLD_CLIPPED] != MISSING)
        moved = columns[:, has_old]
        self.numbers["moved"] = moved.shape[1]
        # Without --reference, reads are on haplotypes: positions cannot be compared.
        has_same = moved[ReadColumn.OLD_CONTIG] == contigs[moved[ReadColumn.CONTIG]]
        self.shifts.add((moved[ReadColumn.POSITION] + 1 - moved[ReadColumn.OP])[has_same])
        both = (moved[ReadColumn.NM] != MISSING) & (moved[ReadColumn.OLD_NM] != MISSING)
        self.old_distances.add(moved[ReadColumn.OLD_NM][both])
        self.new_distances.add(moved[ReadColumn.NM][both])
        for row, name in enumerate(_OPERATIONS):
            old, new = moved[ReadColumn[f"OLD_{name}"]], moved[ReadColumn[name]]
            self.moved_changes[row] += (old > 0).sum(), (new > 0).sum()

    def merge(self, other: AlignmentCounts) -> None:
        """Add the counts of other records of the same file."""
        for name, number in other.numbers.items():
            self.numbers[name] = self.numbers.get(name, 0) + number
        self.contigs += other.contigs
        self.aligned += other.aligned
        self.best += other.best
        self.moved_changes += other.moved_changes
        self.lengths.merge(other.lengths)
        for name in (
            *("qualities", "distances", "identities", "scores", "margins", "hits", "shifts"),
            *("old_distances", "new_distances"),
        ):
            getattr(self, name).merge(getattr(other, name))


def _are_mapped(columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which records are mapped: flags of some programs say so without a contig."""
    are: NDArray[np.bool_] = (columns[ReadColumn.FLAGS] & UNMAPPED == 0) & (
        columns[ReadColumn.CONTIG] >= 0
    )
    return are


def _present(values: NDArray[np.int64]) -> NDArray[np.int64]:
    present: NDArray[np.int64] = values[values != MISSING]
    return present


_LONG: Final = 1000
"""Bases of the longest read, from which the reads are long reads."""

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
        header = source.header
        names = header.reference_names
        count = partial(
            AlignmentCounts.of,
            digests_of(names),
            without_haplotypes=has_haplotypes(header),
        )
        counts = AlignmentCounts.empty(len(names))
        for more in source.converted(count):
            counts.merge(more)
            options.advance(more.numbers["records"])
    html = _summary(counts, header) + figures(list(_charts(counts, names)))
    if counts.numbers.get("moved"):
        html += _moved(counts)
    programs = list(map(fields_of, header.lines_of("@PG")))
    return Section(
        path.name,
        identifier,
        html,
        CHART_SCRIPTS,
        _samples_of(header),
        path.name,
        programs[-1].get("CL", "") if programs else "",
    )


def _samples_of(header: SamHeader) -> tuple[str, ...]:
    """Return the samples of the read groups; called haplotypes are none."""
    groups = map(fields_of, header.lines_of("@RG"))
    names = [group.get("SM", "") for group in groups if group.get("ID") != HAPLOTYPE_GROUP]
    return tuple(dict.fromkeys(filter(None, names)))


def _summary(counts: AlignmentCounts, header: SamHeader) -> str:
    numbers = counts.numbers
    reads, mapped = numbers.get("reads", 0), numbers.get("mapped", 0)
    shown = {
        "records": numbers.get("records", 0),
        "reads": reads,
        "bases": numbers.get("bases", 0),
        "mapped": f"{mapped:,} ({percent(mapped, reads)})",
        "on the reverse strand": percent(numbers.get("reverse", 0), mapped),
    }
    if _are_long(counts):
        shown |= {
            "read N50 (bases)": counts.lengths.n50(),
            "longest read (bases)": counts.lengths.longest,
        }
    has_reads = counts.contigs > 0
    if has_reads.any():
        bases = np.array(header.reference_lengths, dtype=np.int64)[has_reads].sum()
        shown["mean depth of contigs with reads"] = f"{counts.aligned.sum() / bases:.2f}"
    for name in ("secondary", "supplementary", "duplicates", "called haplotypes"):
        if numbers.get(name):
            shown[name] = numbers[name]
    if numbers.get("moved"):
        shown["realigned records"] = numbers["moved"]
    if len(counts.distances) and not _are_long(counts):
        shown["mean edit distance"] = f"{counts.distances.mean:.3f}"
    elif len(counts.identities.tally):
        shown["median identity"] = f"{100 * counts.identities.tally.median:.2f}%"
    return facts(shown)


def _are_long(counts: AlignmentCounts) -> bool:
    return counts.lengths.longest >= _LONG


def _charts(counts: AlignmentCounts, names: tuple[str, ...]) -> Iterator[str]:
    if counts.numbers.get("with_hits"):
        yield _of(counts.hits, "Hits per read", "hits (NH)", "reads")
    if counts.best.any():
        kinds = ("one best hit, no next", "one best hit, some next", "several best hits")
        groups = dict(zip(kinds, counts.best.tolist(), strict=True))
        yield figure("Best and next hits", bars(groups, "reads"), "by X0 and X1")
    if _are_long(counts):
        yield from counts.identities.figures("reads")
    elif len(counts.distances):
        yield _of(counts.distances, "Edit distances", "edit distance (NM)", "reads")
    if len(counts.scores):
        yield _of(counts.scores, "Alignment scores", "score (AS)", "reads")
    if len(counts.margins):
        yield counts.margins.figure(
            "Score margins",
            "best minus second score (AS - XS)",
            "reads",
            counts.margins.note("-1,000", "10,000")
            or "Reads near 0 fit two positions or haplotypes equally well.",
        )
    if len(counts.qualities):
        yield _of(counts.qualities, "Mapping qualities", "MAPQ", "reads")
    if counts.lengths.longest:
        yield counts.lengths.figure("Read lengths", "bases", "reads")
    if counts.contigs.any():
        yield _contigs(counts, names)


def _of(tally: Tally, title: str, x: str, y: str) -> str:
    return tally.figure(title, x, y, tally.note("", "values"))


def _contigs(counts: AlignmentCounts, names: tuple[str, ...]) -> str:
    """Return the reads per contig or haplotype: those with the most reads."""
    order = np.argsort(-counts.contigs, kind="stable")
    used = order[: min(_MAX_CONTIGS, int((counts.contigs > 0).sum()))]
    chosen = {names[k]: int(counts.contigs[k]) for k in np.sort(used)}
    rest = int((counts.contigs > 0).sum()) - used.size
    note = f"{rest:,} more contigs have fewer reads." if rest else ""
    return bars_figure("Reads per contig or haplotype", chosen, "mapped reads", note)


def _moved(counts: AlignmentCounts) -> str:
    """Return what realignment changed, out of the old alignments in OC, OP and OA."""
    rows = [
        (f"records with {name}", int(before), int(after))
        for name, (before, after) in zip(_CHANGES, counts.moved_changes, strict=True)
    ]
    charts = []
    if len(counts.shifts):
        note = counts.shifts.note("values of -1,000", "1,000")
        axes = "new minus old position (bases)", "realigned records"
        charts.append(counts.shifts.figure("Shift of the start", *axes, note))
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
