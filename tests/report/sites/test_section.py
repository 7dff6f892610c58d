"""The section of a VCF: its rows, its slices, and inputs that do not fit."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pysam
import pytest

from hapgpu.errors import HapgpuError
from hapgpu.genotyping.api import genotype
from hapgpu.report.sites import evidence, table
from tests.cli.call.command import make_inputs
from tests.cli.in_process import status_of_command
from tests.report.sites.chromium import require_libraries
from tests.report.sites.made_sites import CONTIG, HOSTILE, MadeSites, make, section_of

DEPTHS = 11
"""Reads per allele in a row of the sites of a page."""


class Scripts(HTMLParser):
    """Contents of the scripts with an `id`."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self._identifier = ""

    def handle_starttag(self, _tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._identifier = dict(attributes).get("id") or ""

    def handle_endtag(self, _tag: str) -> None:
        self._identifier = ""

    def handle_data(self, data: str) -> None:
        self.found[self._identifier] = data


def scripts_of(html: str) -> dict[str, str]:
    scripts = Scripts()
    scripts.feed(html)
    return scripts.found


def data_of(html: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(scripts_of(html)["f-data"])
    return found


def reads_of(html: str, locus: int, path: Path) -> list[pysam.AlignedSegment]:
    _, text = scripts_of(html)[f"f-reads-{locus}"].split(",")
    path.write_bytes(b64decode(text))
    with pysam.AlignmentFile(str(path)) as file:
        return list(file)


def html_of(files: MadeSites, *, threads: int = 1) -> str:
    require_libraries()
    return section_of(files.vcf, files.reads, files.reference, threads).html


def test_reads_support_alleles_as_in_genotype(tmp_path: Path) -> None:
    files = make(tmp_path)
    data = data_of(html_of(files))
    calls = genotype(files.reads, files.reference, files.vcf, device="cpu")
    depths = [row.tolist() for row in calls.allele_depths]
    assert [site[DEPTHS] for site in data["sites"]] == [[row] for row in depths]


def test_each_read_is_shown_before_and_after(tmp_path: Path) -> None:
    files = make(tmp_path)
    records = reads_of(html_of(files), 0, tmp_path / "slice.bam")
    with pysam.AlignmentFile(str(files.reads)) as file:
        originals = {record.query_name: record for record in file}
    groups: dict[str, dict[str, pysam.AlignedSegment]] = {"h000": {}, "b000": {}, "a000": {}}
    for record in records:
        groups[record.get_tag("RG")][record.query_name] = record
    assert groups["b000"].keys() == groups["a000"].keys()
    for name, record in groups["b000"].items():
        original = originals[name]
        assert record.reference_start == original.reference_start
        assert record.cigarstring == original.cigarstring
        assert groups["a000"][name].query_sequence == original.query_sequence
    assert sorted(groups["h000"]) == sorted(
        name for name in groups["h000"] if re.fullmatch(r"(reference|2000:.*)\|\d+_reads", name)
    )


def test_long_reads_are_cut(tmp_path: Path) -> None:
    files = make(tmp_path, length=1400)
    with pysam.AlignmentFile(str(files.reads)) as file:
        originals = {record.query_name: record for record in file}
    html = html_of(files)
    start, _ = json.loads(scripts_of(html)["f-locus-0"])["locus"]
    shown = [
        record
        for record in reads_of(html, 0, tmp_path / "slice.bam")
        if record.get_tag("RG") == "b000"
    ]
    assert len(shown) > 5
    for record in shown:
        original = originals[record.query_name]
        assert record.reference_start == max(original.reference_start, start - evidence.MARGIN)
        first = original.query_sequence.index(record.query_sequence)
        expected = dict(original.get_aligned_pairs(matches_only=True))
        pairs = record.get_aligned_pairs(matches_only=True)
        assert len(pairs) > 400
        assert all(expected[first + base] == position for base, position in pairs)


@pytest.mark.parametrize("has_groups", [True, False])
def test_called_haplotypes_are_no_sample(tmp_path: Path, has_groups: bool) -> None:
    """The page of realigned reads with called haplotypes is the page without these records."""
    inputs = make_inputs(tmp_path / "example")
    vcf, realigned = tmp_path / "calls.vcf", tmp_path / "realigned.bam"
    words = [*inputs, "-r", "chr20:10000-10400", "-q", "-o", vcf, "--bam-out", realigned]
    assert status_of_command("call", *words, "--device", "cpu", "-t", "1") == 0
    files = MadeSites(inputs.reference, realigned, vcf)
    pages = []
    with pysam.AlignmentFile(str(realigned)) as reads:
        header, records = reads.header.to_dict(), list(reads)
    sample = header["RG"][0]["SM"]
    groups = [group for group in header["RG"] if has_groups or group["SM"] == "HC"]
    haplotypes = [record.get_tag("RG") == "ArtificialHaplotypeRG" for record in records]
    assert sum(haplotypes) > 1
    for directory in ("with", "without"):
        path = tmp_path / directory / "reads.bam"
        path.parent.mkdir()
        own = groups if directory == "with" else [g for g in groups if g["SM"] != "HC"]
        with pysam.AlignmentFile(str(path), "wb", header={**header, "RG": own}) as file:
            for record, is_haplotype in zip(records, haplotypes, strict=True):
                if not has_groups and not is_haplotype:
                    record.set_tag("RG", None)
                if directory == "with" or not is_haplotype:
                    file.write(record)
        pysam.index(str(path))
        pages.append(html_of(replace(files, reads=path)))
    assert data_of(pages[0])["readSamples"] == [sample if has_groups else "reads"]
    assert pages[0] == pages[1]


def test_threads_do_not_matter(tmp_path: Path) -> None:
    files = make(tmp_path)
    assert html_of(files) == html_of(files, threads=3)


def test_depth_is_capped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = make(tmp_path)
    monkeypatch.setattr(evidence, "MAX_FRAGMENTS", 5)
    html = html_of(files)
    page = json.loads(scripts_of(html)["f-locus-0"])
    assert page["shown"] == [5] < page["fragments"]
    assert "At most" in html
    records = reads_of(html, 0, tmp_path / "slice.bam")
    assert sum(record.get_tag("RG") == "a000" for record in records) == 5


def test_first_sites_of_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = make(tmp_path)
    monkeypatch.setattr(table, "MAX_SITES", 2)
    html = html_of(files)
    data = data_of(html)
    assert len(data["sites"]) == 2
    assert "first 2 sites" in html
    assert "f-reads-2" not in scripts_of(html)


def test_samples_with_reads_have_rows(tmp_path: Path) -> None:
    files = make(tmp_path)
    lines = files.vcf.read_text().splitlines()
    more = [
        line if line.startswith("##") else line + ("\ttwo" if line[0] == "#" else "\t0/1:.:.:.:.")
        for line in lines
    ]
    files.vcf.write_text("\n".join(more) + "\n")
    assert data_of(html_of(files))["samples"] == ["one"]
    without_reads = data_of(section_of(files.vcf).html)
    assert without_reads["samples"] == ["one", "two"]
    assert without_reads["rows"][1] == [0, 1, "0/1", None, None, None, None]


def test_sites_without_samples(tmp_path: Path) -> None:
    files = make(tmp_path)
    lines = [line.split("\t") for line in files.vcf.read_text().splitlines()]
    files.vcf.write_text("".join("\t".join(line[:8]) + "\n" for line in lines))
    data = data_of(html_of(files))
    assert data["samples"] == []
    assert len(data["rows"]) == 3
    assert data["sites"][0][DEPTHS][0][1] > 10


def test_no_genotypes_in_format(tmp_path: Path) -> None:
    files = make(tmp_path)
    text = files.vcf.read_text().replace("GT:GQ:DP:AD:PL", "XX:YY")
    files.vcf.write_text(text)
    assert data_of(section_of(files.vcf).html)["rows"][0][2:] == [None] * 5


def test_info_and_descriptions(tmp_path: Path) -> None:
    files = make(tmp_path)
    head, *rest = files.vcf.read_text().split("\n")
    definitions = [
        '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">',
        '##INFO=<ID=ABSENT,Number=1,Type=Integer,Description="In no site">',
        '##FILTER=<ID=PASS,Description="All filters passed">',
    ]
    commands = ["##first_Command=one", '##GATKCommandLine=<ID=Two,CommandLine="two">']
    annotated = "\n".join([head, *definitions, *commands, *rest])
    annotated = annotated.replace("PASS\t.\t", f"PASS\tDP=20;DB;CSQ={'x' * 5000}\t")
    files.vcf.write_text(annotated)
    section = section_of(files.vcf)
    assert section.command == '<ID=Two,CommandLine="two">'
    assert section.samples == ("one",)
    data = data_of(section.html)
    assert data["info"] == ["DP", "DB", "CSQ"]
    assert data["definitions"] == {
        "INFO": {"DP": "Depth"},
        "FILTER": {"PASS": "All filters passed"},
    }
    entries = data["sites"][0][8].split(";")
    assert entries[:2] == ["DP=20", "DB"]
    assert len(entries[2]) == table._MAX_ENTRY + 1
    assert [site[7] for site in data["sites"]] == ["deletion", "SNV", "insertion"]
    assert data["sites"][1][8] == ""


def test_empty_vcf(tmp_path: Path) -> None:
    files = make(tmp_path)
    header = [line for line in files.vcf.read_text().splitlines(keepends=True) if line[0] == "#"]
    files.vcf.write_text("".join(header))
    assert "no sites" in html_of(files)


def test_compressed_and_binary_variants(tmp_path: Path) -> None:
    files = make(tmp_path)
    expected = data_of(section_of(files.vcf).html)
    zipped = tmp_path / "genotypes.vcf.gz"
    zipped.write_bytes(gzip.compress(files.vcf.read_bytes()))
    assert data_of(section_of(zipped).html)["rows"] == expected["rows"]


def test_names_are_escaped(tmp_path: Path) -> None:
    files = make(tmp_path, HOSTILE)
    html = html_of(files)
    assert "<script>alert" not in html
    assert data_of(html)["samples"] == [HOSTILE]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("contig", "chrX"),
        ("position", "chr1"),
        ("reference", "REF"),
        ("unsorted", "sorted"),
        ("index", "samtools index"),
        ("no reference", "--reference"),
    ],
)
def test_bad_inputs(tmp_path: Path, fault: str, message: str) -> None:
    files = make(tmp_path)
    text = files.vcf.read_text()
    lines = [line for line in text.splitlines() if line.startswith(CONTIG)]
    reference: Path | None = files.reference
    if fault == "contig":
        text = text.replace(f"{CONTIG}\t2000", "chrX\t2000")
    elif fault == "position":
        text = text.replace(f"{CONTIG}\t4000", f"{CONTIG}\t400000")
    elif fault == "reference":
        text = text.replace(lines[1].split("\t")[3] + "\t", "N\t", 1)
        text = text.replace(f"{CONTIG}\t3001\t.\t", f"{CONTIG}\t3001\t.\tACGTACGTAC", 1)
    elif fault == "unsorted":
        text = text.replace("\n".join(lines), "\n".join(reversed(lines)))
    elif fault == "index":
        Path(f"{files.reads}.bai").unlink()
    else:
        reference = None
    files.vcf.write_text(text)
    with pytest.raises(HapgpuError) as error:
        section_of(files.vcf, files.reads, reference)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.exhaustive
def test_depths_of_real_reads(data_dir: Path) -> None:
    directory = data_dir / "illumina_na12878"
    reads = directory / "NA12878.chr20.dev.bam"
    reference, sites = directory / "chr20.hg19.fa.gz", directory / "sites.dev.vcf.gz"
    require_libraries()
    data = data_of(section_of(sites, reads, reference, threads=2).html)
    calls = genotype(reads, reference, sites, device="cpu")
    assert [site[DEPTHS] for site in data["sites"]] == [
        [row.tolist()] for row in calls.allele_depths
    ]
