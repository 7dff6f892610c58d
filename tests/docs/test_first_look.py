"""What a newcomer sees first: README, landing page, tutorial and their pictures."""

from __future__ import annotations

import re
import tomllib
from collections import Counter

import pytest

from tests.docs.pages import DOCS, Block, blocks, pages, read_page

MAX_README = 100
MAX_PICTURE = 300_000
PIPELINES = 6
DELETION = "17675"
TRUTH = {"5121": "1/1", "5206": "0/1", "5291": "0/1", "10190": "0/1", "15180": "1/2"}
"""Variants of the example's sample before its last locus (`examples/make_example.py`)."""
LAST_LOCUS = 10
"""Variants there that are 1/1: nine SNVs and the deletion."""


def test_readme_fits_two_screens() -> None:
    assert len(read_page("README.md").splitlines()) <= MAX_README


def test_readme_has_six_pipelines() -> None:
    (block,) = (b for b in blocks(read_page("README.md")) if b.text.startswith("cd example"))
    assert len(re.findall(r"^# .*", block.text, re.MULTILINE)) == PIPELINES


def test_pictures_are_small_and_shown() -> None:
    shown = {
        name.rpartition("/")[2]
        for page in pages()
        for name in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", read_page(page))
    }
    pictures = {path for path in (DOCS / "images").iterdir() if path.suffix in {".png", ".svg"}}
    assert {path.name for path in pictures} == shown
    assert all(path.stat().st_size < MAX_PICTURE for path in pictures)


@pytest.mark.parametrize("heading", ["## Speed at equal threads", "## What a GPU gains"])
def test_figures_of_the_landing_page_are_measured(heading: str) -> None:
    """Each figure with a unit of its tables is in docs/performance.md, in the same unit."""
    page = read_page("docs/index.md")
    start = page.index(heading)
    table = page[start : page.index("\n## ", start + 1)]
    figures = re.findall(r"\d[\d.]*(?:-\d[\d.]*)? (?:s|GCUPS|Mb|Gb|kb)\b", table)
    performance = read_page("docs/performance.md")
    assert len(figures) > PIPELINES
    for figure in figures:
        number, unit = figure.split()
        number = re.escape(number)
        assert re.search(rf"(?<![\d.-]){number}(?![\d.-]).*? {unit}\b", performance), figure


def test_the_first_sentence_names_calling() -> None:
    """In README, on the site, and in the description of the package."""
    project = tomllib.loads(read_page("pyproject.toml"))["project"]
    site = tomllib.loads(read_page("docs/zensical.toml"))["project"]
    texts = [project["description"], site["site_description"]]
    texts += [read_page(page).split("\n\n")[1] for page in ("README.md", "docs/index.md")]
    for text in texts:
        assert re.match(r"(hapgpu calls|Call) variants\b", text)


def test_charts_show_the_tables_of_performance() -> None:
    """`make_charts.py` was run after the last change: each gain of a GPU is drawn."""
    page = read_page("docs/performance.md")
    table = page[page.index("## What a GPU gains") : page.index("## CPU threads")]
    gains = re.findall(r"\| (\d+\.\d+|none) \| [^|]*\|$", table, re.MULTILINE)
    drawn = re.findall(r">(\d+\.\d+|none)</text>", read_page("docs/images/gpu-gain.svg"))
    assert gains
    assert not Counter(gains) - Counter(drawn)


def test_the_tutorial_finds_the_deletion_after_realignment_only() -> None:
    found = blocks(read_page("docs/tutorial.md"))
    calls = [block for block in found if "bcftools call" in block.text]
    before, after = (lines(block) for block in calls)
    assert not any(line.startswith(DELETION) for line in before)
    assert [line for line in after if line not in before] == [f"{DELETION} INDEL 1/1"]


def test_the_tutorial_calls_the_truth() -> None:
    (block,) = (b for b in blocks(read_page("docs/tutorial.md")) if "call mapped.bam" in b.text)
    records = [line.split() for line in lines(block)]
    genotypes = {position: genotype for position, _, _, genotype, *_ in records}
    last_locus = dict.fromkeys(genotypes.keys() - TRUTH.keys(), "1/1")
    assert genotypes == TRUTH | last_locus
    assert DELETION in last_locus
    assert len(last_locus) == LAST_LOCUS
    assert {filters for _, _, filters, *_ in records} == {"PASS"}


def lines(block: Block) -> list[str]:
    """Return the lines that a block prints."""
    assert block.output is not None
    return block.output.splitlines()
