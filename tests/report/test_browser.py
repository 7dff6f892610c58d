"""Pages in headless Chromium: each kind of file, hostile names, empty files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pysam
import pytest

from hapgpu.report.charts import CHART_SCRIPTS, bars, figure, figures, svg
from hapgpu.report.page import Section, SectionOptions, render
from hapgpu.report.sections import kinds_of, sections_of
from tests.report.made_paf import paf_lines, text_of
from tests.report.sites.chromium import opened, require_libraries
from tests.report.test_runs import RUN

HOSTILE = "</script><script>alert(1)</script>\"'&amp;\\{{ü<!--"
OPTIONS = SectionOptions(
    reads=(), reference=None, threads=1, max_record=1 << 28, advance=lambda _: None
)
NAMED = "named-<script>alert(1)<!--'\"{{ü"
"""In names of files, which hold no slash."""

_CHARTS = """async () => {
  await hapgpu.drawn;
  return [...document.querySelectorAll("figure > .chart")]
    .filter((place) => !place.querySelector("svg.marks, canvas.marks")).length;
}"""


def page_of(files: Sequence[Path], path: Path) -> Path:
    require_libraries()
    sections = list(
        sections_of(files, kinds_of(files, has_reads=False, has_reference=False), OPTIONS)
    )
    path.write_text("".join(render(HOSTILE, sections)), encoding="utf-8")
    return path


def write_mappings(path: Path) -> Path:
    lines = [[HOSTILE if name == "read7" else name, *rest] for name, *rest in paf_lines(1, 300)]
    text = text_of(lines).replace("\tchr2\t", f"\t{HOSTILE}\t")
    path.write_text(text, encoding="utf-8")
    return path


def write_alignments(path: Path, records: int) -> Path:
    contig = "<script>alert(1)</script>&{{'"  # SAM allows no backslash and no quotation mark
    header = {"HD": {"VN": "1.6"}, "SQ": [{"SN": contig.replace("'", ""), "LN": 1000}]}
    with pysam.AlignmentFile(path, "wb", header=header) as file:
        for number in range(records):
            record = pysam.AlignedSegment(file.header)
            record.query_name, record.flag = f"read{number}", 0
            record.query_sequence, record.cigarstring = "ACGTACGTAC", "2S8M"
            record.reference_id, record.reference_start = 0, number % 500
            tags = {"NM": number % 4, "AS": 90 + number % 9, "XS": 80, "NH": 1 + number % 3}
            tags |= {"X0": 1 + number % 2, "X1": number % 5, "OP": number % 500 - 1}
            record.set_tags([*tags.items(), ("OC", "1I9M")])
            record.set_tag("OA", f"{contig},{number % 500},+,1I9M,60,2;")
            file.write(record)
    return path


def write_likelihoods(path: Path) -> Path:
    lines = [
        f"read{k // 2}\t1\t{HOSTILE}\t{name}\t{-1.5 * (k % 7) - 0.25}\n"
        for k in range(200)
        for name in (HOSTILE, "alt")
    ]
    header = "read\tmate\tlocus\thaplotype\tlog10_likelihood\n"
    path.write_text(header + "".join(lines), encoding="utf-8")
    return path


def write_statistics(path: Path) -> Path:
    run = {**RUN, "command_line": [HOSTILE], "devices": [HOSTILE], "counts": {HOSTILE: 5}}
    run["seconds"] = {**RUN["seconds"], HOSTILE: 0.5}
    path.write_text(json.dumps(run), encoding="utf-8")
    return path


def write_measurements(path: Path) -> Path:
    lines = [
        {"device": HOSTILE, "task": task, "pairs": 100, "seconds": 0.5, "bound": None, HOSTILE: 1}
        for task in ("align", "whole run", HOSTILE)
    ]
    path.write_text(json.dumps(lines), encoding="utf-8")
    return path


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_all_kinds(tmp_path: Path, width: int, colours: str) -> None:
    files = [
        write_mappings(tmp_path / f"{NAMED}.paf"),
        write_alignments(tmp_path / "made.bam", 300),
        write_likelihoods(tmp_path / "made.tsv"),
        write_statistics(tmp_path / "run.json"),
        write_measurements(tmp_path / "bench.json"),
    ]
    with opened(page_of(files, tmp_path / "page.html"), width) as found:
        page = found.page
        page.emulate_media(color_scheme=colours)
        assert page.evaluate(_CHARTS) == 0
        assert page.locator("section h2").all_inner_texts()[0] == f"{NAMED}.paf"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for link in page.locator("nav a").all():
            link.click()
            section = page.locator(link.get_attribute("href"))
            assert section.locator("figure").count() >= 1
            section.locator("figure").first.scroll_into_view_if_needed()
        dark = page.evaluate("document.documentElement.classList.contains('dark')")
        assert dark == (colours == "dark")


@pytest.mark.exhaustive
def test_charts_answer(tmp_path: Path) -> None:
    """A read and a contig are chosen, a bar is pointed at, a picture is saved."""
    with opened(page_of([write_mappings(tmp_path / "made.paf")], tmp_path / "p.html")) as found:
        page = found.page
        assert page.evaluate(_CHARTS) == 0
        one = page.locator("figure", has_text="One read")
        choices = one.locator("select option").all_inner_texts()
        assert len(choices) > 5
        before = one.locator("svg.marks").inner_html()
        one.locator("select").select_option(choices[3])
        page.wait_for_function(
            "([a, b]) => a.innerHTML !== b", arg=[one.locator("svg.marks").element_handle(), before]
        )
        depth = page.locator("figure", has_text="Depth along")
        assert depth.locator("select option").all_inner_texts().count(HOSTILE) == 1
        depth.locator("select").select_option(HOSTILE)
        bar = page.locator("figure", has_text="Mapping qualities").locator("svg .mark-rect path")
        bar.first.hover()
        page.wait_for_selector("#vg-tooltip-element.visible")
        assert "primary mappings" in page.inner_text("#vg-tooltip-element")
        one.locator("summary").click()
        with page.expect_download() as saving:
            one.locator("text=Save as SVG").click()
        assert saving.value.suggested_filename.endswith(".svg")


@pytest.mark.exhaustive
def test_empty_files(tmp_path: Path) -> None:
    """A file of a header alone, and one without a line, have a section that says so."""
    likelihoods = tmp_path / "none.tsv"
    likelihoods.write_text("read\tmate\tlocus\thaplotype\tlog10_likelihood\n", encoding="utf-8")
    measurements = tmp_path / "none.json"
    measurements.write_text("[]", encoding="utf-8")
    mappings = tmp_path / "none.paf"
    mappings.write_text("", encoding="utf-8")
    files = [write_alignments(tmp_path / "none.bam", 0), likelihoods, measurements, mappings]
    with opened(page_of(files, tmp_path / "page.html")) as found:
        assert found.page.evaluate(_CHARTS) == 0
        text = found.page.inner_text("main")
        assert "The file has no mappings." in text
        assert "The file has no likelihoods." in text
        assert "The file has no measurements." in text
        assert "0\n" in text


@pytest.mark.exhaustive
def test_names_of_javascript(tmp_path: Path) -> None:
    """Names that each object of JavaScript has are names of bars, too."""
    require_libraries()
    names = ["constructor", "toString", "__proto__", "other"]
    path = tmp_path / "page.html"
    chart = figure("t", bars(dict.fromkeys(names, 3), "reads"))
    sections = [Section("names", "names", chart, CHART_SCRIPTS)]
    path.write_text("".join(render("names", sections)), encoding="utf-8")
    with opened(path) as found:
        assert found.page.evaluate(_CHARTS) == 0
        assert found.page.locator("svg .mark-rect path").count() == len(names)


@pytest.mark.exhaustive
def test_print_and_svg(tmp_path: Path) -> None:
    """Charts stand on paper, and `svg` draws the same specification without a browser."""
    require_libraries()
    spec = bars({HOSTILE: 3.0, "second": 1.0}, "seconds")
    assert svg(spec).startswith("<svg")
    assert "<script>" not in svg(spec)
    page = page_of([write_statistics(tmp_path / "run.json")], tmp_path / "page.html")
    with opened(page) as found:
        found.page.evaluate("hapgpu.drawn")
        found.page.emulate_media(media="print")
        assert not found.page.locator(".vega-embed details").first.is_visible()
        assert found.page.pdf()[:5] == b"%PDF-"
    assert "chart" in figures([figure("t", spec)])
