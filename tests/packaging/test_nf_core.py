"""The nf-core modules: linted by nf-core/tools, and their commands run on the example data."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from hapgpu.version import __version__
from tests.test_example import make

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = ROOT / "packaging" / "nf-core"
MODULES = REPOSITORY / "modules" / "nf-core" / "hapgpu"
NF_CORE = shutil.which("nf-core")

# What nf-core cannot look up here: the containers by Nextflow, and the package by bioconda.
UNCHECKED = {"docker_tag", "singularity_tag", "bioconda_version"}

# The inputs of each process, in the directory of the example.
READS = {"reads": "reads.bam", "index": "reads.bam.bai"}
REFERENCE = {"fasta": "reference.fa", "fai": "reference.fa.fai"}
INPUTS: dict[str, dict[str, str]] = {
    "realign": {**READS, "haplotypes": "haplotypes.fa", **REFERENCE},
    "pairhmm": {**READS, "haplotypes": "haplotypes.fa", "fasta": "", "fai": ""},
    "haplotypes": {"sites": "sites.vcf", **REFERENCE},
    "call": {**READS, **REFERENCE, "targets": ""},
    "genotype": {**READS, "sites": "sites.vcf", **REFERENCE},
    "index": {"fasta": "reference.fa"},
    "map": {"reads": "reads.fastq.gz", "fasta": "reference.fa", "index": ""},
    "chain": {"reads": "long_reads.fastq.gz", "target": "reference.fa"},
    "report": {"files": "sites.vcf", **READS, **REFERENCE},
}
ARGUMENTS = {"index": "--minimizers", "call": "--pcr-model none", "genotype": "--pcr-model none"}

# Each module with its arguments, and the optional output that these make.
RUNS = [(module, ARGUMENTS.get(module, "--quiet"), "") for module in INPUTS if module != "chain"]
RUNS += [
    ("chain", "--quiet -c", "sample.paf"),
    ("chain", "--quiet -a", "sample.sam"),
    ("chain", "--quiet --output-fmt bam", "sample.bam"),
]


def entry(module: str, arguments: str, section: str) -> dict[str, object]:
    """Return what `render_modules.groovy` reads for a section of a module."""
    ext = {"args": arguments}
    task = {"cpus": 2, "ext": ext, "process": "HAPGPU"}
    variables = {**INPUTS[module], "meta": {"id": "sample"}, "task": task}
    main = str(MODULES / module / "main.nf")
    return {"module": main, "section": section, "variables": variables}


def outputs_of(module: str) -> list[str]:
    """Return the patterns of the files that a process must write."""
    main = (MODULES / module / "main.nf").read_text()
    output = main.partition("output:")[2].partition("when:")[0]
    lines = [line for line in output.splitlines() if "optional: true" not in line]
    return [pattern for line in lines for pattern in re.findall(r'path\("(.+?)"\)', line)]


def is_written(pattern: str, directory: Path, inputs: Sequence[str]) -> bool:
    """Whether a file matches a pattern such as `*.{tbi,csi}`, other than an input."""
    alternatives = re.search(r"\{(.+)\}", pattern)
    names = alternatives[1].split(",") if alternatives else [""]
    globs = [re.sub(r"\{.+\}", name, pattern) for name in names]
    found = {path.name for glob in globs for path in directory.glob(glob)}
    return bool(found - set(inputs))


def test_every_module_is_tested() -> None:
    assert {path.name for path in MODULES.iterdir()} == set(INPUTS)


@pytest.mark.parametrize("module", INPUTS)
def test_version_of_the_package(module: str) -> None:
    assert f"hapgpu={__version__}" in (MODULES / module / "environment.yml").read_text()
    assert (MODULES / module / "main.nf").read_text().count(f"hapgpu:{__version__}--") == 2


@pytest.mark.skipif(NF_CORE is None, reason="nf-core is not installed")
@pytest.mark.exhaustive
def test_lint(tmp_path: Path) -> None:
    assert NF_CORE is not None
    clone = tmp_path / "clone"
    (clone / "modules").mkdir(parents=True)
    for schema in ("meta", "environment"):  # stand-ins: nf-core's are in its own repository
        (clone / "modules" / f"{schema}-schema.json").write_text('{"type": "object"}')
    copy = shutil.copytree(REPOSITORY, tmp_path / "modules")  # nf-core may sort a file
    python = Path(NF_CORE).resolve().parent / "python"
    script = Path(__file__).with_name("nf_core_lint.py")
    done = subprocess.run(
        [str(python), str(script), str(copy), str(clone)],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert {module for _, module, _, _ in results} == {f"hapgpu/{name}" for name in INPUTS}
    assert [
        result for result in results if result[0] != "passed" and result[2] not in UNCHECKED
    ] == []
    assert sum(result[0] == "passed" for result in results) >= 50 * len(INPUTS)


@pytest.fixture(scope="module")
def rendered() -> dict[tuple[str, str, str], dict[str, str]]:
    """Return the commands and containers of each module with its arguments, and of each section."""
    groovy, java = shutil.which("groovy"), shutil.which("java")
    if groovy is None or java is None:
        pytest.skip("groovy or java is not installed")
    keys = [
        (module, arguments, section)
        for module, arguments, _ in RUNS
        for section in ("script", "stub")
    ]
    done = subprocess.run(
        [groovy, str(Path(__file__).with_name("render_modules.groovy"))],
        env={**os.environ, "JAVA_HOME": str(Path(java).resolve().parents[1])},
        input=json.dumps([entry(*key) for key in keys]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(keys, json.loads(done.stdout), strict=True))


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("example"))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("module", "arguments", "optional"), RUNS)
@pytest.mark.parametrize("section", ["script", "stub"])
def test_run(
    module: str,
    arguments: str,
    optional: str,
    section: str,
    rendered: dict[tuple[str, str, str], dict[str, str]],
    example: Path,
    tmp_path: Path,
) -> None:
    if (module, section) == ("report", "script") and find_spec("vl_convert") is None:
        pytest.skip("the extra 'report' is not installed")
    directory = shutil.copytree(example, tmp_path / "work")
    command = rendered[module, arguments, section]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command["command"]],
        cwd=directory,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for pattern in filter(None, [*outputs_of(module), optional]):
        assert is_written(pattern, directory, list(INPUTS[module].values())), pattern
    assert command["docker"].startswith("quay.io/biocontainers/hapgpu:")
    assert command["singularity"].startswith("https://depot.galaxyproject.org/singularity/hapgpu:")
