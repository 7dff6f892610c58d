"""Pictures of reports, for docs/images: `python -m tests.report.pictures`.

They show the test data: three sites of NA12878, genotyped with default options, and HiFi reads of
HG003 with their base alignments.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.report.page import SectionOptions, render
from hapgpu.report.sections import kinds_of, sections_of
from tests.report.sites.chromium import OpenPage, opened
from tests.report.sites.made_sites import section_of

_DATA = Path(os.environ.get("HAPGPU_TEST_DATA", "../shared/data")).absolute()
_IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
_FIRST = 10001436  # shown with the table
_SITES = (10008952, 10046178)
_SETTLED_MS = 1000
_MAPPINGS_HEIGHT = 1300  # to the plot of lengths and identities
_MAIN = "import sys; sys.argv[0] = 'hapgpu'; from hapgpu.cli.app import main; main()"


def run(directory: Path, *arguments: str | Path) -> None:
    """Run hapgpu in a directory."""
    command = [sys.executable, "-c", _MAIN, *map(str, arguments)]
    subprocess.run(command, check=True, cwd=directory)


def take_sites(directory: Path) -> None:
    """Write the pictures of three sites of NA12878."""
    for path in (_DATA / "illumina_na12878").iterdir():
        (directory / path.name).symlink_to(path)  # the foot of the page shows the command line
    inputs = "NA12878.chr20.dev.bam", "chr20.hg19.fa.gz", "sites.dev.vcf.gz"
    run(directory, "genotype", "-q", *inputs, "-o", "genotypes.vcf.gz")
    reads, reference, vcf = (directory / name for name in (*inputs[:2], "genotypes.vcf.gz"))
    page_file = directory / "sites.html"
    page_file.write_text("".join(render("NA12878", [section_of(vcf, reads, reference)])))
    with opened(page_file) as shown:
        page = shown.page
        page.wait_for_timeout(_SETTLED_MS)
        for site in _SITES:
            shown.show(f"chr20:{site}")
            page.wait_for_timeout(_SETTLED_MS)
            page.locator(".sites-view").screenshot(path=_IMAGES / f"report-{site}.png")
        shown.show(f"chr20:{_FIRST}")
        page.fill("input[type=search]", "")
        page.evaluate("document.activeElement.blur()")
        whole(shown, "report-sites.png")


def take_mappings(directory: Path) -> None:
    """Write the pictures of mappings of HiFi reads, and of the run that made them."""
    source = _DATA / "longread"
    names = {
        "chr20.fa.gz": "grch38_chr20_8900001_9200000.fa.gz",
        "hifi.fa.gz": "hg003_hifi.fa.gz",
    }
    for name, original in names.items():
        shutil.copy(source / original, directory / name)
    outputs = "hifi.paf", "chain.json"
    options = "-q", "-c", "-x", "map-hifi", *names, "-o", outputs[0], "--json", outputs[1]
    run(directory, "chain", *options)
    mappings, statistics = (page_of([directory / name]) for name in outputs)
    with opened(mappings) as shown:
        shown.page.set_viewport_size({"width": 1280, "height": _MAPPINGS_HEIGHT})
        shown.page.wait_for_timeout(_SETTLED_MS)
        shown.page.screenshot(path=_IMAGES / "report-mappings.png")
    with opened(statistics, width=1100) as shown:
        whole(shown, "report-run.png")


def page_of(files: Sequence[Path]) -> Path:
    """Write the page of files without reads beside the first of them."""
    options = SectionOptions(
        reads=(), reference=None, threads=1, max_record=MAX_RECORD, advance=lambda _: None
    )
    kinds = kinds_of(files, has_reads=False, has_reference=False)
    page = files[0].with_suffix(".html")
    page.write_text("".join(render(files[0].name, list(sections_of(files, kinds, options)))))
    return page


def whole(shown: OpenPage, name: str) -> None:
    """Write a picture of a whole page."""
    shown.page.wait_for_timeout(_SETTLED_MS)
    shown.page.screenshot(path=_IMAGES / name, full_page=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        take_sites(Path(made))
        take_mappings(Path(made))
