"""A report of MultiQC on runs of every command, rendered in a browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from html import escape
from pathlib import Path

import pytest

from tests.cli.in_process import status_of_command
from tests.test_example import make

ROOT = Path(__file__).resolve().parents[3]
HOSTILE_NAME = '<img src=x onerror="document.title=1">'
CHROMIUM = (
    *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(shutil.which("multiqc") is None, reason="multiqc is not installed"),
]


def run_every_command(example: Path, directory: Path) -> None:
    """Write the statistics of a run of each command; one sample has a hostile name."""
    reference, output = example / "reference.fa", directory / "output"
    reads, fastq = example / "reads.bam", example / "reads.fastq.gz"
    haplotypes, sites = example / "haplotypes.fa", example / "sites.vcf"
    output.mkdir(parents=True)
    runs: dict[str, tuple[str | Path, ...]] = {
        "S1.realign": (reads, haplotypes, "--reference", reference, "-o", output / "s1.bam"),
        "S2_realign": (example / "amplicons.fastq.gz", example / "alleles.fa", "-o", os.devnull),
        "S1.pairhmm": (reads, haplotypes, "-o", os.devnull),
        "S1.haplotypes": (reference, sites, "-o", output / "s1.fa"),
        "S1.genotype": (reads, reference, sites, "-o", output / "s1.vcf"),
        "reference.index": (reference, "-o", output / "reference.hgx"),
        f"{HOSTILE_NAME}.map": (reference, fastq, "-o", output / "s3.bam"),
        "S1.chain": (reference, example / "long_reads.fastq.gz", "-o", output / "s1.paf"),
    }
    for name, arguments in runs.items():
        command = name.replace("_", ".").rpartition(".")[2]
        json_file = directory / f"{name}.json"
        assert status_of_command(command, *arguments, "--json", json_file, "--quiet") == 0


@pytest.fixture(scope="module")
def statistics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("statistics")
    run_every_command(make(tmp_path_factory.mktemp("example")), directory)
    (directory / "newer.json").write_text('{"schema_version": 99, "tool": "hapgpu"}')
    (directory / "other.json").write_text('{"tool": "another"}')
    return directory


@pytest.fixture(scope="module")
def report(statistics: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of MultiQC's report.

    MultiQC has an environment of its own, so it gets the package and its entry points by
    PYTHONPATH, as after `pip install hapgpu`.
    """
    directory = tmp_path_factory.mktemp("multiqc")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = directory / "site" / "hapgpu-0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: hapgpu\nVersion: 0\n")
    groups = project["entry-points"].items()
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in groups
    ]
    (installed / "entry_points.txt").write_text("".join(lines))
    output = directory / "report"
    subprocess.run(
        ["multiqc", "--strict", "--no-version-check", "-o", str(output), str(statistics)],
        check=True,
        env={**os.environ, "PYTHONPATH": f"{installed.parent}:{ROOT}", "HOME": str(directory)},
    )
    return output


def test_data_of_all_runs(report: Path, statistics: Path) -> None:
    table = json.loads((report / "multiqc_data" / "multiqc_data.json").read_text())
    rows = table["report_saved_raw_data"]["multiqc_hapgpu"]
    samples = [f"S1.{name}" for name in ("realign", "pairhmm", "haplotypes", "genotype", "chain")]
    hostile = f"{escape(HOSTILE_NAME)}.map"
    assert set(rows) == {*samples, "S2.realign", "reference.index", hostile}
    run = json.loads((statistics / "S1.genotype.json").read_text())
    row = rows["S1.genotype"]
    assert row["amount"] == run["counts"]["sites"]
    assert row["seconds"] == run["seconds"]["total"]
    assert row["rate"] == pytest.approx(run["counts"]["sites"] / run["seconds"]["total"])
    assert row["success"] == 100
    assert row["device"] == run["devices"][0]
    run = json.loads((statistics / f"{HOSTILE_NAME}.map.json").read_text())
    mapped = run["counts"]["mapped"] / run["counts"]["reads"]
    assert rows[hostile]["success"] == pytest.approx(100 * mapped)


def test_general_statistics_and_plots(report: Path, statistics: Path) -> None:
    data = report / "multiqc_data"
    header, *lines = (data / "multiqc_general_stats.txt").read_text().splitlines()
    assert len(lines) == 4  # S1, S2, reference, the hostile name
    for column in ("realign_success", "genotype_rate", "index_amount", "chain_seconds"):
        assert column in header
    run = json.loads((statistics / "S1.realign.json").read_text())
    header, line = (data / "hapgpu-stage-times-plot_realign.txt").read_text().splitlines()[:2]
    shown = dict(zip(header.split("\t"), line.split("\t"), strict=True))
    assert shown.pop("Sample") == "S1"
    assert {name: float(spent) for name, spent in shown.items()} == {
        name: spent for name, spent in run["seconds"].items() if name != "total"
    }
    header, line = (data / "hapgpu-outcomes-plot_genotype.txt").read_text().splitlines()
    assert (header, line) == ("Sample\tcalled", "S1\t6.0")


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_the_page_in_a_browser(report: Path, tmp_path: Path) -> None:
    page = (report / "multiqc_report.html").as_uri()
    options = ("--virtual-time-budget=10000", f"--user-data-dir={tmp_path}", "--dump-dom")
    shown = subprocess.run(
        [*CHROMIUM, *options, page], check=True, capture_output=True, text=True, timeout=120
    ).stdout
    assert shown.count("js-plotly-plot") >= 2
    assert "<title>MultiQC Report</title>" in shown
    assert HOSTILE_NAME not in shown
    assert "genotype: sites" in shown
