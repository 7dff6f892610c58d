"""Pictures of three sites of NA12878, for docs/images: `python -m tests.report.sites.pictures`.

The sites are those of the test data, genotyped with default options.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from hapgpu.report.page import render
from tests.report.sites.chromium import opened
from tests.report.sites.made_sites import section_of

_DATA = Path(os.environ.get("HAPGPU_TEST_DATA", "../shared/data")) / "illumina_na12878"
_IMAGES = Path(__file__).resolve().parents[3] / "docs" / "images"
_FIRST = 10001436  # shown with the table
_SITES = (10008952, 10046178)
_SETTLED_MS = 1000
_MAIN = "from hapgpu.cli.app import main; main()"


def genotyped(directory: Path) -> Path:
    """Genotype the sites of the test data; return the VCF."""
    vcf = directory / "genotypes.vcf.gz"
    inputs = ("NA12878.chr20.dev.bam", "chr20.hg19.fa.gz", "sites.dev.vcf.gz")
    arguments = ["genotype", "-q", *(str(_DATA / name) for name in inputs), "-o", str(vcf)]
    subprocess.run([sys.executable, "-c", _MAIN, *arguments], check=True)
    return vcf


def take(directory: Path) -> None:
    """Write the pictures to docs/images."""
    page_file = directory / "report.html"
    reads, reference = (_DATA / name for name in ("NA12878.chr20.dev.bam", "chr20.hg19.fa.gz"))
    section = section_of(genotyped(directory), reads, reference)
    page_file.write_text("".join(render("NA12878", [section])))
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
        page.wait_for_timeout(_SETTLED_MS)
        page.screenshot(path=_IMAGES / "report-sites.png", full_page=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        take(Path(made))
