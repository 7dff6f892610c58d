"""Size and load time of a page of 5,000 sites: `python -m tests.report.sites.load_time [DEPTH]`.

The sites and reads are simulated on the test data, by default at 30x.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from hapgpu.benchmark import input_files
from hapgpu.report.page import render
from tests.report.sites.chromium import opened
from tests.report.sites.made_sites import section_of

_DATA = Path(os.environ.get("HAPGPU_TEST_DATA", "../shared/data"))
_REFERENCE = _DATA / "illumina_na12878" / "chr20.hg19.fa.gz"
_SITES = 5000
_COPIES = 4  # of the 1.1 Mb of the reference
_THREADS = 2
_CLICKS = 5
_MAIN = "from hapgpu.cli.app import main; main()"


def genotyped(directory: Path, depth: float) -> tuple[Path, Path, Path]:
    """Simulate reads and genotype sites; return VCF, reads and reference."""
    input_files.READ_MODEL = replace(input_files.READ_MODEL, depth=depth)
    files = input_files.simulated_files(directory, _REFERENCE, _COPIES, _THREADS)
    lines = files.sites.read_text().splitlines(keepends=True)
    header = [line for line in lines if line.startswith("#")]
    files.sites.write_text("".join(lines[: len(header) + _SITES]))
    vcf = directory / "genotypes.vcf.gz"
    arguments = ["genotype", "-q", files.reads, files.reference, files.sites, "-o", vcf]
    subprocess.run([sys.executable, "-c", _MAIN, *map(str, arguments)], check=True)
    return vcf, files.reads, files.reference


def measure(directory: Path, depth: float) -> None:
    """Make the page, open it, choose sites, and write the seconds of each."""
    inputs = genotyped(directory, depth)
    section_of(*inputs)  # compiles
    start = perf_counter()
    page_file = directory / "report.html"
    with page_file.open("w", encoding="utf-8") as file:
        file.writelines(render("Sites", [section_of(*inputs, threads=_THREADS)]))
    made = perf_counter() - start
    with opened(page_file, loads=False) as shown:
        start = perf_counter()
        shown.page.goto(page_file.as_uri())
        shown.page.wait_for_selector("table.sites tbody tr[data-number]")
        table = perf_counter() - start
        shown.page.wait_for_selector(".sites-view[data-shown='0']")
        first = perf_counter() - start
        start = perf_counter()
        for number in range(1, _CLICKS + 1):
            shown.page.click("button[data-step='1']")
            shown.page.wait_for_selector(f".sites-view[data-shown='{number}']")
        click = (perf_counter() - start) / _CLICKS
    sys.stdout.write(
        f"{_SITES} sites at {depth:g}x: made in {made:.1f} s on {_THREADS} threads, "
        f"{page_file.stat().st_size / 1e6:.1f} MB; table after {table:.2f} s, "
        f"reads after {first:.2f} s, next site after {click:.2f} s\n"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made_files:
        measure(Path(made_files), float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)
