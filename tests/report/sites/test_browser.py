"""The page of sites in headless Chromium: table, filters, reads before and after realignment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pysam
import pytest

from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.report.page import SectionOptions, render
from hapgpu.report.sites.section import site_section
from tests.report.sites.chromium import OpenPage, opened, require_libraries
from tests.report.sites.made_sites import (
    CONTIG,
    HOSTILE,
    LENGTH,
    READ_NAME,
    MadeSites,
    make,
    section_of,
)

_FEATURES = """async ([track, start, end]) => {
  const browser = document.querySelector(".sites-view").browser;
  const found = browser.trackViews.map((view) => view.track).find((t) => t.name === track);
  const locus = document.querySelector('[id$="-locus-0"]');
  const contig = JSON.parse(locus.textContent).contig;
  const group = await found.getFeatures(contig, start, end);
  return group.allAlignments().map((a) => ({
    name: a.readName, cigar: a.cigar, start: a.start, tags: a.tags(),
  }));
}"""

_TRACK_OF_READS = """() => {
  const view = document.querySelector(".sites-view").browser.trackViews.find(
    (shown) => shown.track.name?.endsWith("before"));
  const { x, y, width, height } = view.viewports[0].$viewport[0].getBoundingClientRect();
  return [x, y, width, height];
}"""
_FIRST_READ = 52  # pixels from the top of the track, below the coverage

_FIRST_DIFFERS = """(text) =>
  document.querySelector("table.sites tbody td").innerText !== text"""


def page_of(files: MadeSites, path: Path, *, with_reads: bool = True) -> Path:
    require_libraries()
    given = (files.reads, files.reference) if with_reads else ()
    section = section_of(files.vcf, *given)
    with path.open("w", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines(render("Sites", [section]))
    return path


def alignments(page: OpenPage, track: str, start: int, end: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.page.evaluate(_FEATURES, [track, start, end])
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [1280, 400])
def test_table_and_reads(tmp_path: Path, width: int) -> None:
    page_file = page_of(make(tmp_path), tmp_path / "page.html")
    with opened(page_file, width) as page:
        page.page.wait_for_selector(".sites-view[data-shown='0']")
        assert page.texts(1) == ["chr1:2000", "chr1:3001", "chr1:4000"]
        orders = []
        for _ in range(2):
            first = page.texts(1)[0]
            page.page.click("table.sites th:has-text('GQ')")
            page.page.wait_for_function(_FIRST_DIFFERS, arg=first)
            orders.append(page.texts(1))
        ascending = ["chr1:3001", "chr1:2000", "chr1:4000"]
        assert sorted(orders) == sorted([ascending, ascending[::-1]])
        page.page.select_option("select[name=genotype]", "heterozygous")
        assert page.texts(1) == ["chr1:4000"]
        page.page.select_option("select[name=genotype]", "")
        page.page.fill("input[name=gq]", "70")
        assert len(page.texts(1)) == 2
        page.page.fill("input[name=gq]", "")
        page.show("chr1:2000")
        before = alignments(page, "before", 1990, 2020)
        after = alignments(page, "after realignment", 1990, 2020)
        assert {read["name"] for read in before} == {read["name"] for read in after}
        assert not any("D" in read["cigar"] for read in before)
        spanning = [read for read in after if read["tags"].get("a0") == "ALT 1"]
        assert len(spanning) > 15
        assert all("12D" in read["cigar"] and "S" not in read["cigar"] for read in spanning)
        page.show("chr1:4000")
        after = alignments(page, "after realignment", 3990, 4010)
        supported = [read["tags"].get("a0") for read in after]
        assert supported.count("REF  ") > 8
        inserted = [read["tags"].get("a0") for read in after if "7I" in read["cigar"]]
        assert len(inserted) > 8  # a read that ends within the insertion is clipped there
        assert set(inserted) <= {"ALT 1", None}
        haplotypes = alignments(page, "Candidate haplotypes", 3990, 4010)
        assert [read["tags"]["a0"] for read in haplotypes] == ["REF  ", "ALT 1"]
        page.page.fill("input[type=search]", "")
        page.page.click("table.sites th:has-text('Position')")
        page.page.click("button[data-step='-1']")
        page.page.wait_for_selector(".sites-view[data-shown='1']")
        assert "chr1:3001" in page.page.inner_text(".sites-view h3")
        wide = "document.documentElement.scrollWidth <= window.innerWidth"
        assert page.page.evaluate(wide)


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [1280, 400])
def test_columns_and_saved_table(tmp_path: Path, width: int) -> None:
    """Without reads: INFO of the chosen site, a column that is chosen, the filtered rows as TSV."""
    files = make(tmp_path)
    hostile = "<img/src/onerror=alert(1)>"
    head, *rest = files.vcf.read_text().split("\n")
    text = "\n".join([head, f'##INFO=<ID=QD,Number=1,Type=Float,Description="{hostile}">', *rest])
    text = text.replace("PASS\t.\t", f"PASS\tQD=20.5;<b>;Y={hostile};X={'A' * 150}\t")
    text = text.replace("<script>alert(2)</script>", "<DEL>")
    files.vcf.write_text(text)
    with opened(page_of(files, tmp_path / "page.html", with_reads=False), width) as shown:
        page = shown.page
        page.wait_for_selector(".sites-info dd")
        info = page.inner_text(".sites-info")
        assert "20.5" in info
        assert hostile in info
        assert "<b>" in info
        assert page.get_attribute(".sites-info div:has-text('QD')", "title") == hostile
        assert not page.locator(".sites-igv").is_visible()
        assert page.locator("th:has-text('INFO/QD')").count() == 0
        page.click("button:has-text('Columns')")
        page.click("button:has-text('INFO/QD')")
        page.click("button:has-text('INFO/X')")
        page.click("button:has-text('INFO/<b>')")
        page.keyboard.press("Escape")
        assert page.locator("th:has-text('INFO/QD')").count() >= 1
        page.select_option("select[name=kind]", "deletion")
        with page.expect_download() as saving:
            page.click("button:has-text('Save as TSV')")
        assert saving.value.suggested_filename == f"{files.vcf.stem}.tsv"
        header, *lines = saving.value.path().read_text(encoding="utf-8").splitlines()
        assert len(lines) == 1
        saved = dict(zip(header.split("\t"), lines[0].split("\t"), strict=True))
        assert (saved["CHROM"], saved["POS"]) == (CONTIG, "2000")
        assert saved["Reads per allele"] == "0,20"
        assert saved["INFO/QD"] == "20.5"
        assert saved["INFO/<b>"] == "yes"
        assert saved["ID"] == "<DEL>"
        assert saved["INFO/X"] == "A" * 150
        assert len(saved["REF"]) == 13
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.exhaustive
def test_hostile_names(tmp_path: Path) -> None:
    directory = tmp_path / "<script>alert('{{'); é"
    directory.mkdir()
    files = make(directory, HOSTILE, READ_NAME, contig="HLA-A*01:01")
    named = files.vcf.rename(directory / "a<img src=x onerror=alert(3)>'&.vcf")
    files = MadeSites(files.reference, files.reads, named)
    with opened(page_of(files, directory / "page.html")) as page:
        page.page.wait_for_selector(".sites-view[data-shown='0']")
        assert "<script>alert(2)</script>" in page.texts(2)
        assert HOSTILE in page.page.inner_text(".sites-genotypes")
        assert "onerror" in page.page.inner_text("h2")
        page.show("HLA-A*01:01:4000")
        names = [read["name"] for read in alignments(page, "after realignment", 3990, 4010)]
        assert all(name.startswith(READ_NAME) for name in names)


@pytest.mark.exhaustive
def test_hostile_names_in_igv(tmp_path: Path) -> None:
    name = "<img/src/onerror=alert(1)>"
    other = tmp_path / "other"
    other.mkdir()
    files = make(tmp_path, f"{name} one", name)
    reads = str(files.reads), str(make(other, f"{name} two", name).reads)
    options = SectionOptions(
        reads=reads,
        reference=files.reference,
        threads=1,
        max_record=MAX_RECORD,
        advance=lambda _: None,
    )
    page_file = tmp_path / "page.html"
    require_libraries()
    page_file.write_text("".join(render(name, [site_section(files.vcf, "f", options)])))
    with opened(page_file) as page:
        page.page.wait_for_selector(".sites-view[data-shown='0']")
        page.page.locator(".sites-igv").scroll_into_view_if_needed()
        left, top, width, _ = page.page.evaluate(_TRACK_OF_READS)
        page.page.mouse.click(left + 0.4 * width, top + _FIRST_READ)
        pop_up = page.page.locator(".sites-igv").get_by_text("Read Name")
        pop_up.wait_for()
        assert name in pop_up.locator("..").inner_text()
        assert page.page.locator(".sites-igv img").count() == 0


@pytest.mark.exhaustive
def test_odd_sites(tmp_path: Path) -> None:
    files = make(tmp_path)
    with pysam.FastaFile(str(files.reference)) as fasta:
        bases = fasta.fetch(CONTIG)
    alternatives = {
        1: "{0}ACGT",
        1800: "<DEL>",
        1900: ".",
        2005: "*,{0}A",
        2500: "{0}[chr1:3000[",
        3000: f"{{0}}{'ACGT' * 300}",
        LENGTH: "{0}AC",
    }
    header = [line for line in files.vcf.read_text().splitlines() if line.startswith("#")]
    sites = [
        f"{CONTIG}\t{at}\t.\t{bases[at - 1]}\t{alt.format(bases[at - 1])}\t.\t.\t.\tGT\t0|1"
        for at, alt in alternatives.items()
    ]
    files.vcf.write_text("\n".join([*header, *sites]) + "\n")
    with opened(page_of(files, tmp_path / "page.html")) as page:
        page.page.wait_for_selector(".sites-view[data-shown='0']")
        for number in range(1, len(sites)):
            page.page.click("button[data-step='1']")
            page.page.wait_for_selector(f".sites-view[data-shown='{number}']")
