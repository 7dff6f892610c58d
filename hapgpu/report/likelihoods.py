"""Section of a table of likelihoods: margins, best haplotypes, loci."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.files.compressed import open_inflated
from hapgpu.report.charts import CHART_SCRIPTS, bars_figure, figures
from hapgpu.report.likelihood_lines import (
    Best,
    LinePairs,
    best_of_groups,
    parse_matrix,
    parse_pairs,
)
from hapgpu.report.line_blocks import LineBlocks
from hapgpu.report.markup import facts, percent
from hapgpu.report.page import Section, SectionOptions
from hapgpu.report.tally import Tally

PAIRS: Final = b"read\tmate\tlocus\thaplotype\tlog10_likelihood\n"
BATCH_PAIRS: Final = b"batch\tread\thaplotype\tlog10_likelihood\n"
MATRIX: Final = b"read\tmate\t"
_UNIT: Final = 0.1
_LIMIT: Final = 2.0**40
_NEWLINE: Final = ord("\n")


class NameCounts:
    """Counts of names, such as haplotypes, which lines hold as text."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._counts: dict[int, int] = {}

    def add(self, text: NDArray[np.uint8], names: NDArray[np.int64]) -> None:
        """Count `names`, int64[n, 3], with start, end and digest of each in `text`, uint8."""
        digests, first, counts = np.unique(names[:, 2], return_index=True, return_counts=True)
        for digest, row, count in zip(
            digests.tolist(), first.tolist(), counts.tolist(), strict=True
        ):
            if digest not in self._names:
                start, end, _ = names[row].tolist()
                self._names[digest] = text[start:end].tobytes().decode("utf-8", "replace")
            self._counts[digest] = self._counts.get(digest, 0) + count

    def add_numbered(self, names: Iterable[str], counts: Iterable[int]) -> None:
        """Count names, each so many times."""
        for number, (name, count) in enumerate(zip(names, counts, strict=True)):
            self._names[number] = name
            self._counts[number] = self._counts.get(number, 0) + count

    def most_common(self, limit: int) -> dict[str, int]:
        """Return the names with the largest counts, the largest first."""
        order = sorted(self._counts, key=lambda digest: (-self._counts[digest], digest))
        return {self._names[digest]: self._counts[digest] for digest in order[:limit]}

    def __len__(self) -> int:
        return len(self._names)


@dataclass
class LikelihoodCounts:
    """Counts of likelihoods, which grow block by block.

    Attributes
    ----------
    likelihoods, reads
        Numbers of likelihoods, and of reads at loci with at least one.
    alone
        Of these, reads with a single likelihood: they have no margin.
    margins
        Best minus second likelihood of each other read, in tenths.
    best
        Best likelihood of each read, in tenths.
    loci
        Reads of each locus.
    haplotypes
        Reads whose best haplotype it is, without ties.
    ties
        Reads whose best haplotype is one of several.
    """

    likelihoods: int = 0
    reads: int = 0
    alone: int = 0
    ties: int = 0
    margins: Tally = field(default_factory=lambda: Tally(0, 1000, _UNIT))
    best: Tally = field(default_factory=lambda: Tally(-5000, 0, _UNIT))
    loci: NameCounts = field(default_factory=NameCounts)
    haplotypes: NameCounts = field(default_factory=NameCounts)

    def add(self, best: Best) -> NDArray[np.bool_]:
        """Count the best likelihoods of n reads; return bool[n]: one haplotype alone is best."""
        has_best = best.rows >= 0
        with np.errstate(over="ignore"):  # of numbers that no likelihood has
            margins = best.best - best.second
        has_margin = ~np.isnan(margins)
        self.reads += int(has_best.sum())
        self.alone += int((has_best & ~has_margin).sum())
        self.ties += int((margins == 0).sum())
        self.margins.add(_in_units(margins[has_margin]))
        self.best.add(_in_units(best.best[has_best]))
        is_alone: NDArray[np.bool_] = has_best & ~(margins == 0)
        return is_alone


def _in_units(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return values in units, rounded down; very large ones are limited."""
    with np.errstate(over="ignore"):
        scaled = values / _UNIT
    units: NDArray[np.int64] = np.floor(np.clip(scaled, -_LIMIT, _LIMIT)).astype(np.int64)
    return units


def count_likelihoods(path: Path, options: SectionOptions) -> LikelihoodCounts:
    """Count the likelihoods of a file of `hapgpu pairhmm`.

    Raises
    ------
    InputError
        The file cannot be read, or a line is malformed.
    """
    counts = LikelihoodCounts()
    with open_inflated(path, str(path)) as stream:
        head = stream.peek(len(PAIRS))
        blocks = LineBlocks(stream, str(path), options.max_record)
        if head.startswith((PAIRS, BATCH_PAIRS)):
            blocks.first_line += stream.readline().count(b"\n")
            _count_pairs(counts, blocks, path, options, has_loci=head.startswith(PAIRS))
        else:
            names = _haplotypes_of(stream, blocks) if head.startswith(MATRIX) else []
            _count_matrix(counts, blocks, path, options, names)
    return counts


def _haplotypes_of(stream: BufferedReader, blocks: LineBlocks) -> list[str]:
    header = stream.readline()
    blocks.first_line += 1
    return header.decode("utf-8", "replace").rstrip("\n").split("\t")[2:]


def _malformed(path: Path, line: int) -> InputError:
    return InputError(f"{path}, line {line}: malformed likelihoods; write the file again")


def _count_pairs(
    counts: LikelihoodCounts,
    blocks: LineBlocks,
    path: Path,
    options: SectionOptions,
    *,
    has_loci: bool,
) -> None:
    columns, locus = (5, 2) if has_loci else (4, -1)
    for text in blocks:
        pairs = LinePairs.allocated(_lines(text))
        parsed, end = map(int, parse_pairs(text, columns, locus, pairs))
        if end < text.size:
            raise _malformed(path, blocks.first_line + parsed)
        groups = pairs.groups[:parsed]
        starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1])[:parsed])
        if not blocks.is_last and starts.size:
            # The next block may have more likelihoods of the last read.
            parsed = int(starts[-1])
            starts = starts[:-1]
            blocks.keep(text[_line_start(text, int(pairs.haplotypes[parsed, 0])) :])
        best = Best.allocated(starts.size)
        best_of_groups(pairs.values, np.append(starts, parsed), best)
        counts.likelihoods += int((~np.isnan(pairs.values[:parsed])).sum())
        is_alone = counts.add(best)
        counts.haplotypes.add(text, pairs.haplotypes[best.rows[is_alone]])
        if has_loci:
            counts.loci.add(text, pairs.loci[starts])
        options.advance(parsed)


def _line_start(text: NDArray[np.uint8], at: int) -> int:
    """Return the start of the line of an offset."""
    before = np.flatnonzero(text[:at] == _NEWLINE)
    return int(before[-1]) + 1 if before.size else 0


def _count_matrix(
    counts: LikelihoodCounts,
    blocks: LineBlocks,
    path: Path,
    options: SectionOptions,
    names: list[str],
) -> None:
    """Count a matrix; without names of haplotypes, that of text batches."""
    state = np.array([0, len(names)], dtype=np.int64)
    for text in blocks:
        best = Best.allocated(_lines(text))
        reads, lines, end = map(int, parse_matrix(text, 2 if names else 0, state, best))
        if end < text.size:
            raise _malformed(path, blocks.first_line + lines)
        best = Best._make(column[:reads] for column in best)
        is_alone = counts.add(best)
        if names:
            numbers = np.bincount(best.rows[is_alone], minlength=len(names))
            counts.haplotypes.add_numbered(names, numbers.tolist())
        options.advance(reads)
    if not names and state[0]:  # the last text batch lacks rows
        raise _malformed(path, blocks.first_line)


def _lines(text: NDArray[np.uint8]) -> int:
    return int(np.count_nonzero(text == _NEWLINE)) + 1


_MAX_NAMES: Final = 24
_SURE: Final = 2


def likelihood_section(path: Path, identifier: str, options: SectionOptions) -> Section:
    """Count the likelihoods of a table, and draw their margins.

    Raises
    ------
    InputError
        The file cannot be read, or a line is malformed.
    """
    counts = count_likelihoods(path, options)
    charts = list(_charts(counts)) if counts.reads else []
    empty = "" if charts else "<p>The file has no likelihoods.</p>\n"
    return Section(path.name, identifier, _summary(counts) + empty + figures(charts), CHART_SCRIPTS)


def _summary(counts: LikelihoodCounts) -> str:
    compared = len(counts.margins)
    sure = compared - counts.margins.below(_SURE)
    shown: dict[str, object] = {"reads at loci": counts.reads}
    if counts.likelihoods:
        shown["likelihoods"] = counts.likelihoods
    if len(counts.loci):
        shown["loci"] = len(counts.loci)
    shown |= {
        "ties of the best": f"{counts.ties:,} ({percent(counts.ties, compared)})",
        f"margin of at least {_SURE}": f"{sure:,} ({percent(sure, compared)})",
    }
    if counts.alone:
        shown["reads with one haplotype"] = counts.alone
    return facts(shown)


def _charts(counts: LikelihoodCounts) -> Iterator[str]:
    if len(counts.margins):
        yield counts.margins.figure(
            "Likelihood margins",
            "best minus second likelihood (log10)",
            "reads",
            "A margin of 2: the best haplotype is 100 times as likely as the second. "
            + counts.margins.note("", "Margins of"),
        )
    yield counts.best.figure(
        "Best likelihoods",
        "likelihood of the best haplotype (log10)",
        "reads",
        counts.best.note("likelihoods of", ""),
    )
    if len(counts.haplotypes):
        yield _names("Reads by best haplotype", counts.haplotypes, "reads, without ties")
    if len(counts.loci):
        yield _names("Reads per locus", counts.loci, "reads")


def _names(title: str, names: NameCounts, x: str) -> str:
    chosen = names.most_common(_MAX_NAMES)
    rest = len(names) - len(chosen)
    return bars_figure(title, chosen, x, f"{rest:,} more have fewer reads." if rest else "")
