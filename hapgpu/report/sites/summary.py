"""Summary of a VCF: counts of its variants and genotypes, distributions of their qualities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.vcf.batches import VcfBatch
from hapgpu.report.charts import COLOURS, Spec, bars_figure, figure, figures
from hapgpu.report.markup import facts, percent, table
from hapgpu.report.sites.variants import (
    DELETION,
    HET,
    HOM_ALT,
    HOM_REF,
    INSERTION,
    MAX_INDEL,
    MNV,
    NO_CALL,
    OTHER,
    SNV,
    VariantTallies,
    count_variants,
)
from hapgpu.report.tally import Tally

_MAX_FILTERS: Final = 1000
_MAX_BARS: Final = 12
_MAX_SAMPLES: Final = 100
_HEIGHT: Final = 150
_STEP: Final = 2
"""Percent of allele fraction per bar."""

_ALWAYS_SHOWN: Final = ("SNVs", "indels")
_NOT_FILTERED: Final = ("PASS", ".")
_KIND_BITS: Final = (
    ("SNVs", int(SNV)),
    ("indels", int(INSERTION | DELETION)),
    ("MNVs", int(MNV)),
    ("other variants", int(OTHER)),
)


class VariantCounts:
    """Counts of the records of a VCF, which grow batch by batch.

    Parameters
    ----------
    samples
        Names of the samples.

    Attributes
    ----------
    records
        Number of records.
    tallies
        Counts of variants and genotypes.
    filters
        Number of records by FILTER; of the first 1,000 different texts.
    """

    def __init__(self, samples: Sequence[str]) -> None:
        self._samples = samples
        self._filter_names: dict[int, str] = {}
        self.records = 0
        self.tallies = VariantTallies.empty(len(samples))
        self.filters: dict[str, int] = {}

    def add(self, batch: VcfBatch) -> NDArray[np.uint8]:
        """Count records, and return uint8[n]: bits of the kinds of the alleles of each."""
        kinds = np.empty(len(batch), dtype=np.uint8)
        filters = np.empty(len(batch), dtype=np.int64)
        count_variants(batch.text, batch.columns, self.tallies, kinds, filters)
        self.records += len(batch)
        self._count_filters(batch, filters)
        return kinds

    def _count_filters(self, batch: VcfBatch, digests: NDArray[np.int64]) -> None:
        found, first, numbers = np.unique(digests, return_index=True, return_counts=True)
        for digest, row, number in zip(
            found.tolist(), first.tolist(), numbers.tolist(), strict=True
        ):
            if digest not in self._filter_names:
                if len(self._filter_names) == _MAX_FILTERS:
                    continue
                start, end = batch.columns[row, 6:8].tolist()
                filtered = batch.text[start : end - 1].tobytes()
                self._filter_names[digest] = filtered.decode("utf-8", "surrogateescape")
            name = self._filter_names[digest]
            self.filters[name] = self.filters.get(name, 0) + number

    def with_kinds(self, bits: int) -> int:
        """Return the number of records with an allele of one of some kinds."""
        masks = np.arange(self.tallies.kinds.size)
        return int(self.tallies.kinds[masks & bits > 0].sum())

    def html(self) -> str:
        """Return the summary: numbers, charts, and a table of several samples."""
        return facts(self._facts()) + figures(list(self._charts()), small=True) + self._table()

    def _facts(self) -> dict[str, object]:
        transitions, transversions = self.tallies.substitutions.tolist()
        shown: dict[str, object] = {"records": self.records}
        numbers = {name: self.with_kinds(bits) for name, bits in _KIND_BITS}
        shown |= {name: n for name, n in numbers.items() if n or name in _ALWAYS_SHOWN}
        if self.tallies.kinds[0]:
            shown["without a variant"] = int(self.tallies.kinds[0])
        shown["multiallelic"] = int(self.tallies.multiallelic[0])
        shown["Ti/Tv"] = _ratio(transitions, transversions)
        passed = self.filters.get("PASS", 0)
        if self.filters.keys() - {"."}:
            shown["PASS"] = f"{passed:,} ({percent(passed, self.records)})"
        if len(self._samples) == 1:
            genotypes = self.tallies.genotypes[0].tolist()
            shown["heterozygous"] = genotypes[HET]
            shown["homozygous ALT"] = genotypes[HOM_ALT]
            shown["het/hom"] = _ratio(genotypes[HET], genotypes[HOM_ALT])
            for name, row in (("homozygous REF", HOM_REF), ("no call", NO_CALL)):
                if genotypes[row]:
                    shown[name] = genotypes[row]
        return shown

    def _charts(self) -> Iterator[str]:
        tallies = self.tallies
        for title, counts, x, y in (
            ("QUAL", tallies.qualities, "QUAL", "records"),
            ("Genotype quality", tallies.genotype_qualities, "GQ", "genotypes"),
            ("Depth", tallies.depths, "DP", "genotypes"),
        ):
            tally = _tally(counts).capped()
            if len(tally):
                is_cut = counts[tally.counts.size :].any()
                note = tally.note("", "values of") if is_cut else ""
                yield tally.figure(title, x, y, note, height=_HEIGHT)
        if tallies.fractions.any():
            note = "reads of each called ALT allele / all reads, by AD"
            yield figure("Allele fraction", _fractions(tallies.fractions), note)
        indels = _tally(tallies.indels, -MAX_INDEL)
        if len(indels):
            note = indels.note("lengths of", "lengths of")
            axes = "inserted minus deleted bases", "indel alleles"
            yield indels.figure("Indel lengths", *axes, note, height=_HEIGHT)
        if self.filters.keys() - {*_NOT_FILTERED}:
            yield self._filter_bars()

    def _filter_bars(self) -> str:
        order = sorted(self.filters, key=lambda name: -self.filters[name])
        rest = len(order) - _MAX_BARS
        note = f"{rest:,} more have fewer records" if rest > 0 else ""
        chosen = {name: self.filters[name] for name in order[:_MAX_BARS]}
        return bars_figure("FILTER", chosen, "records", note)

    def _table(self) -> str:
        if len(self._samples) < 2:
            return ""
        rows = []
        for name, genotypes, sums in zip(
            self._samples[:_MAX_SAMPLES],
            self.tallies.genotypes.tolist(),
            self.tallies.sums.tolist(),
            strict=False,
        ):
            ratio = _ratio(genotypes[HET], genotypes[HOM_ALT])
            numbers = (genotypes[kind] for kind in (HET, HOM_ALT, HOM_REF, NO_CALL))
            rows.append((name, *numbers, ratio, _mean(*sums[:2]), _mean(*sums[2:])))
        header = ("sample", "het", "hom ALT", "hom REF", "no call", "het/hom", "mean GQ", "mean DP")
        rest = len(self._samples) - len(rows)
        note = f'<p class="note">{rest:,} more samples.</p>\n' if rest else ""
        return "<h3>Samples, at records with a variant</h3>\n" + table(header, rows) + note


def _tally(counts: NDArray[np.int64], low: int = 0) -> Tally:
    tally = Tally(low, low + counts.size - 1)
    tally.counts[:] = counts
    return tally


def _ratio(part: int, other: int) -> str:
    return f"{part / other:.2f}" if other else "-"


def _mean(number: int, total: int) -> str:
    return f"{total / number:.1f}" if number else "-"


def _fractions(counts: NDArray[np.int64]) -> Spec:
    """Return bars of allele fractions: homozygous genotypes above heterozygous ones."""
    padded = np.pad(counts, ((0, 0), (0, -counts.shape[1] % _STEP)))
    joined = padded.reshape(len(counts), -1, _STEP).sum(axis=2)
    tops = np.cumsum(joined, axis=0)
    names = ("heterozygous", "homozygous ALT")
    values = [
        {
            "from": k * _STEP / 100,
            "to": (k + 1) * _STEP / 100,
            "low": int(tops[row, k] - joined[row, k]),
            "high": int(tops[row, k]),
            "alleles": int(joined[row, k]),
            "genotype": names[row],
        }
        for row, k in np.argwhere(joined).tolist()
    ]
    x = {"field": "from", "type": "quantitative", "title": "allele fraction"}
    count = {"field": "alleles", "type": "quantitative", "title": "called ALT alleles"}
    end = 1 + _STEP / 100  # a fraction of 1 has a bar of its own
    return {
        "data": {"values": values},
        "height": _HEIGHT,
        "mark": {"type": "rect"},
        "encoding": {
            "x": {**x, "scale": {"domain": [0, end], "nice": False}, "axis": {"format": "~g"}},
            "x2": {"field": "to"},
            "y": {**count, "field": "low"},
            "y2": {"field": "high"},
            "color": {
                "field": "genotype",
                "type": "nominal",
                "title": None,
                "scale": {"domain": list(names), "range": list(COLOURS[:2])},
            },
            "tooltip": [
                {"field": "genotype", "type": "nominal"},
                {**x, "title": "from", "format": ".2f"},
                {"field": "to", "type": "quantitative", "title": "to (below)", "format": ".2f"},
                {**count, "format": ","},
            ],
        },
    }
