"""The Snakemake wrappers: linted, and run by Snakemake on the example data."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from hapgpu.cli.catalogue import COMMANDS
from tests.test_example import make

# What Snakemake makes by the rules of each wrapper's test.
TARGETS = {
    "realign": ["realigned/reads.bam"],
    "pairhmm": ["likelihoods/reads.tsv"],
    "haplotypes": ["haplotypes/sites.fa"],
    "call": ["calls/reads.vcf.gz", "calls/reads.g.vcf.gz"],
    "genotype": ["genotypes/reads.vcf.gz"],
    "index": ["reference.fa.hgx", "reference.map-hifi.hgm"],
    "map": ["hits/reads.bam"],
    "chain": ["mappings/long_reads.paf", "alignments/long_reads.bam"],
    "report": ["reads.html"],
}

needs_snakemake = pytest.mark.skipif(
    shutil.which("snakemake") is None, reason="snakemake is not installed"
)


@pytest.fixture(scope="module")
def wrappers(packages: Path) -> Path:
    return packages / "snakemake-wrappers" / "bio" / "hapgpu"


def snakemake(wrappers: Path, directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Snakemake with the wrappers, and this environment's hapgpu."""
    prefix = directory.parent / "prefix"  # Snakemake wants a prefix without spaces
    prefix.mkdir()
    (prefix / "master").symlink_to(wrappers.parents[1])
    programs = Path(sys.executable).parent
    return subprocess.run(
        ["snakemake", "--cores", "2", "--wrapper-prefix", f"{prefix.as_uri()}/", *arguments],
        cwd=directory,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", TARGETS)
def test_files_of_a_wrapper(name: str, wrappers: Path) -> None:
    assert name in COMMANDS
    files = {str(path.relative_to(wrappers / name)) for path in (wrappers / name).rglob("*.*")}
    assert files == {"wrapper.py", "meta.yaml", "environment.yaml"}
    code = (wrappers / name / "wrapper.py").read_text()
    compile(code, f"{name}/wrapper.py", "exec")
    assert f"hapgpu {name} " in code


def test_every_wrapper_is_run(wrappers: Path) -> None:
    assert {path.name for path in wrappers.iterdir()} == set(TARGETS)


@needs_snakemake
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TARGETS)
def test_lint(name: str, wrappers: Path, tmp_path: Path) -> None:
    directory = tmp_path / "workflow"
    directory.mkdir()
    shutil.copy(wrappers / name / "test" / "Snakefile", directory)
    done = snakemake(wrappers, directory, "--lint")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "good condition" in done.stderr


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("example"))


@needs_snakemake
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TARGETS)
def test_run(name: str, wrappers: Path, example: Path, tmp_path: Path) -> None:
    if name == "report" and find_spec("vl_convert") is None:
        pytest.skip("the extra 'report' is not installed")
    directory = shutil.copytree(example, tmp_path / "with space")
    shutil.copy(wrappers / name / "test" / "Snakefile", directory)
    done = snakemake(wrappers, directory, *TARGETS[name])
    logs = "".join(path.read_text() for path in directory.glob("logs/*/*"))
    assert done.returncode == 0, done.stderr + logs
    assert all((directory / target).stat().st_size for target in TARGETS[name])
    (statistics,) = directory.rglob(f"*.{name}.json")
    assert json.loads(statistics.read_text())["command"] == name
