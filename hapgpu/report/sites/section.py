"""The section of a VCF on the page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Final

from hapgpu.errors import UsageError
from hapgpu.genotyping.batches import LocusReads
from hapgpu.genotyping.cpu import host_genotyper
from hapgpu.genotyping.options import GenotypeOptions
from hapgpu.genotyping.pipeline import GenotypeInputs, GenotypeSession
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import Region, RegionChoice
from hapgpu.io.vcf.source import open_vcf
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.report.charts import CHART_SCRIPTS
from hapgpu.report.markup import script_json, script_source, text
from hapgpu.report.page import Section, SectionOptions
from hapgpu.report.sites.evidence import MAX_FRAGMENTS, site_reads_of
from hapgpu.report.sites.realignment import realignment_of
from hapgpu.report.sites.slices import Slice, slices_of, tag_of
from hapgpu.report.sites.summary import VariantCounts
from hapgpu.report.sites.table import SiteTable, read_variants
from hapgpu.runtime.devices import CpuDevice
from hapgpu.runtime.pipeline import run_pipeline

_MAX_SAMPLES: Final = 1000
"""Samples of the reads, at most: a read group has three digits."""


_MAX_KEYS: Final = 100
"""Keys of INFO with a column, at most."""


@dataclass(frozen=True, slots=True)
class Variants:
    """What a VCF holds.

    Attributes
    ----------
    table
        Its first sites.
    counts
        Counts of all of them.
    samples
        Names of all its samples.
    """

    table: SiteTable
    counts: VariantCounts
    samples: Sequence[str]


def site_section(path: Path, identifier: str, options: SectionOptions) -> Section:
    """Make the section of a VCF: a table of its sites and, if given, the reads at each site.

    Parameters
    ----------
    path
        VCF or BCF, with or without samples.
    identifier
        The `id` of the section.
    options
        Reads, reference, threads.

    Raises
    ------
    InputError
        A file cannot be read, is damaged, or does not fit the others.
    UsageError
        Reads without a reference, or of too many samples.
    """
    if options.reads and options.reference is None:
        raise UsageError(f"{options.reads[0]}: needs the reference; give --reference REF.fa")
    if options.reads and options.reference is not None:
        inputs = GenotypeInputs(
            options.reads,
            options.reference,
            str(path),
            max_record=options.max_record,
            without_haplotypes=True,
        )
        return _section_with_reads(path, identifier, inputs, options)
    with open_vcf(path, options.max_record) as vcf:
        table, counts = read_variants(vcf, (), options.advance)
        samples = vcf.samples
    return _section(path, identifier, Variants(table, counts, samples), (), [])


def _section_with_reads(
    path: Path, identifier: str, inputs: GenotypeInputs, options: SectionOptions
) -> Section:
    slices: list[Slice] = []

    def keep(found: list[Slice]) -> int:
        slices.extend(found)
        sites = sum(len(part.labels) for part in found)
        options.advance(sites)
        return sites

    devices, model = [CpuDevice(options.threads)], GenotypeOptions()
    with GenotypeSession(inputs, model, devices, options.threads) as session:
        samples = session.samples
        if len(samples) > _MAX_SAMPLES:
            raise UsageError(
                f"{path}: reads of over {_MAX_SAMPLES} samples; give fewer files of reads"
            )
        with open_vcf(path, options.max_record) as vcf:
            table, counts = read_variants(vcf, samples, lambda _: None)
            of_vcf = vcf.samples
    if not table.is_complete:
        inputs = replace(inputs, regions=_shown_regions(table))
    with GenotypeSession(inputs, model, devices, options.threads) as session:
        workers = [_Worker(inputs, model, samples) for _ in range(options.threads)]
        run_pipeline(session.groups(in_pieces=False), workers, keep, threaded=options.threads > 1)
    return _section(path, identifier, Variants(table, counts, of_vcf), samples, slices)


class _Worker:
    """Worker that compares and realigns the reads of groups of loci; one per thread."""

    def __init__(
        self, inputs: GenotypeInputs, options: GenotypeOptions, samples: Sequence[str]
    ) -> None:
        self._samples = len(samples)
        self._source = ", ".join(inputs.reads)
        self._reference = inputs.reference
        self._fasta = ReferenceFasta(inputs.reference)
        likelihoods = partial(log10_likelihoods, device=CpuDevice(1))
        self._genotyper = host_genotyper(options, self._samples, likelihoods, self._source)

    def __call__(self, group: Iterable[LocusReads]) -> list[Slice]:
        return [part for reads in group for part in self._slices(reads)]

    def _slices(self, reads: LocusReads) -> Iterator[Slice]:
        found = site_reads_of(reads, self._genotyper, self._samples)
        realignment = realignment_of(found, self._reference, self._fasta, self._source)
        return slices_of(found, realignment, self._fasta)


def _shown_regions(table: SiteTable) -> RegionChoice:
    """Return a region per contig that holds the sites of the table."""
    regions: dict[str, Region] = {}
    for site in table.regions:
        first = regions.get(site.contig, site)
        end = max(first.end, site.end)
        regions[site.contig] = Region(site.contig, min(first.start, site.start), end)
    return RegionChoice(tuple(regions.values()))


def _section(
    path: Path,
    identifier: str,
    variants: Variants,
    read_samples: Sequence[str],
    slices: Sequence[Slice],
) -> Section:
    table = variants.table
    places = {
        label: (number, site)
        for number, part in enumerate(slices)
        for site, label in enumerate(part.labels)
    }
    for label, site in zip(table.labels, table.sites, strict=True):
        number, of_locus = places.get(label, (-1, 0))
        depths = slices[number].depths[of_locus] if number >= 0 else None
        site += [number, tag_of(of_locus), depths]
    data: dict[str, object] = {
        "id": identifier,
        "file": path.name,
        "samples": table.samples,
        "readSamples": list(read_samples),
        "sites": table.sites,
        "rows": table.rows,
        "info": list(table.keys)[:_MAX_KEYS],
        "definitions": table.definitions,
    }
    return Section(
        f"Sites of {path.name}",
        identifier,
        "".join(_html(identifier, variants, data, slices)),
        CHART_SCRIPTS | ({"datatables", "igv"} if slices else {"datatables"}),
        tuple(dict.fromkeys([*variants.samples, *read_samples])),
        path.name,
        table.command,
    )


def _html(
    identifier: str, variants: Variants, data: dict[str, object], slices: Sequence[Slice]
) -> Iterator[str]:
    table = variants.table
    yield f"<style>{_asset('sites.css')}</style>\n"
    if not table.sites:
        yield "<p>The file has no sites.</p>"
        return
    yield variants.counts.html()
    yield "<h3>Sites</h3>\n"
    if note := _note(table, slices):
        yield f'<p class="note">{text(note)}</p>\n'
    yield f'<div class="sites-filters" id="{identifier}-filters"></div>\n'
    yield f'<div class="sites-table"><table class="sites" id="{identifier}-table"></table></div>\n'
    yield f'<div class="sites-view" id="{identifier}-view"></div>\n'
    for number, part in enumerate(slices):
        uri = _data_uri(part.bam)
        yield f'<script type="text/plain" id="{identifier}-reads-{number}">{uri}</script>\n'
        page = script_json(part.page)
        yield f'<script type="application/json" id="{identifier}-locus-{number}">{page}</script>\n'
    yield f'<script type="application/json" id="{identifier}-data">{script_json(data)}</script>\n'
    yield f"<script>{script_source(_asset('sites.js'))}\nhapgpuSites({json.dumps(identifier)});"
    yield "</script>\n"


def _data_uri(data: bytes) -> str:
    from igv_reports.datauri import get_data_uri  # noqa: PLC0415  (optional)

    uri: str = get_data_uri(data)
    return uri


def _note(table: SiteTable, slices: Sequence[Slice]) -> str:
    sites = len(table.sites)
    parts = [f"The first {sites:,} sites of the file."] if not table.is_complete else []
    if slices:
        parts.append(
            "Choose a row to show its reads. Each read is aligned to the candidate haplotype that "
            "explains its fragment best, and coloured by the allele that its fragment supports."
        )
        if any(part.page["shown"] != part.page["fragments"] for part in slices):
            parts.append(
                f"At most {MAX_FRAGMENTS} fragments per sample and locus are shown, chosen by a "
                "hash of their names."
            )
    return " ".join(parts)


def _asset(name: str) -> str:
    return (resources.files("hapgpu.report.sites") / name).read_text(encoding="utf-8")
