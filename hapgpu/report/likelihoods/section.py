"""Section of a table of likelihoods: margins, best haplotypes, loci."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hapgpu.report.charts import CHART_SCRIPTS, bars, figure, figures
from hapgpu.report.likelihoods.counts import LikelihoodCounts, NameCounts, count_likelihoods
from hapgpu.report.options import SectionOptions
from hapgpu.report.page import Section
from hapgpu.report.tables import facts, percent

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
        yield figure(
            "Likelihood margins",
            counts.margins.chart("best minus second likelihood (log10)", "reads"),
            "A margin of 2: the best haplotype is 100 times as likely as the second. "
            + counts.margins.note("", "Margins of"),
        )
    yield figure(
        "Best likelihoods",
        counts.best.chart("likelihood of the best haplotype (log10)", "reads"),
        counts.best.note("likelihoods of", ""),
    )
    if len(counts.haplotypes):
        yield _names("Reads by best haplotype", counts.haplotypes, "reads, without ties")
    if len(counts.loci):
        yield _names("Reads per locus", counts.loci, "reads")


def _names(title: str, names: NameCounts, x: str) -> str:
    chosen = names.most_common(_MAX_NAMES)
    rest = len(names) - len(chosen)
    return figure(title, bars(chosen, x), f"{rest:,} more have fewer reads." if rest else "")
