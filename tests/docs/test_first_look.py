"""What a newcomer sees first: README, landing page, tutorial and their pictures."""

from __future__ import annotations

import re

from tests.docs.pages import DOCS, Block, blocks, pages, read_page

MAX_README = 100
MAX_PICTURE = 300_000
PIPELINES = 6
DELETION = "17675"


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


def test_rates_of_the_landing_page_are_measured() -> None:
    """Each figure of its table of rates is in docs/performance.md, in the same unit."""
    page = read_page("docs/index.md")
    table = page[page.index("| task | other tool") : page.index("GCUPS and TCUPS are")]
    rates = re.findall(r"(?<![\w.])\d[\d.,]*(?:-\d[\d.,]*)?(?= |,|;)", table)
    performance = read_page("docs/performance.md")
    assert len(rates) > 2 * PIPELINES
    for rate in rates:
        assert re.search(rf"(?<![\d.,]){re.escape(rate)}(?![\d])", performance), rate


def test_the_tutorial_finds_the_deletion_after_realignment_only() -> None:
    found = blocks(read_page("docs/tutorial.md"))
    calls = [block for block in found if "bcftools call" in block.text]
    before, after = (lines(block) for block in calls)
    assert not any(line.startswith(DELETION) for line in before)
    assert [line for line in after if line not in before] == [f"{DELETION} INDEL 1/1"]


def lines(block: Block) -> list[str]:
    """Return the lines that a block prints."""
    assert block.output is not None
    return block.output.splitlines()
