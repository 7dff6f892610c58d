"""The nf-core modules: linted by nf-core/tools, and their commands run on the example data.

As Nextflow does, a task has a directory with its inputs alone.
"""

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

from hapgpu.cli.catalogue import description_of
from hapgpu.version import __version__
from tests.test_example import make

NF_CORE = shutil.which("nf-core")

# Not there before a release: containers, which a pipeline configures, and the package of bioconda.
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
    "map": {"reads": "reads.fastq.gz", "target": "reference.fa"},
    "chain": {"reads": "long_reads.fastq.gz", "target": "reference.fa"},
    "report": {"files": "sites.vcf", **READS, **REFERENCE},
}

# Arguments of a module, and the optional outputs that these make.
RUNS: dict[tuple[str, str], set[str]] = {
    ("realign", "--quiet"): {"csi"},
    ("pairhmm", "--quiet"): set(),
    ("haplotypes", "--quiet"): set(),
    ("call", "--pcr-model none"): {"vcf"},
    ("call", "--gvcf --bam-out sample.bam"): {"gvcf", "bam", "bam_index"},
    ("genotype", "--pcr-model none"): set(),
    ("index", "--quiet"): set(),
    ("index", "--minimizers"): set(),
    ("map", "--quiet"): set(),
    ("chain", "-c -x map-ont"): {"paf"},
    ("chain", "-ax map-ont"): {"alignments"},
    ("chain", "-O bam"): {"alignments"},
    ("report", "--quiet"): set(),
}

# The format that `chain` writes with these arguments.
FORMATS = {
    "": "paf",
    "-x map-ont": "paf",
    "-xmap-ont": "paf",
    "-c --cs -O 4,24": "paf",
    "--paf-no-hit": "paf",
    "-a": "sam",
    "-ax map-ont": "sam",
    "-x map-ont -a": "sam",
    "-axmap-ont": "sam",
    "-Yax map-ont --MD": "sam",
    "--output-fmt sam": "sam",
    "-a -O bam": "bam",
    "-Ocram": "cram",
    "--output-fmt=cram -a": "cram",
}


def main_of(packages: Path, module: str) -> Path:
    return packages / "nf-core" / "modules" / "nf-core" / "hapgpu" / module / "main.nf"


def entry(main: Path, module: str, arguments: str, section: str) -> dict[str, object]:
    """Return what `render_modules.groovy` reads for a section of a module."""
    ext = {"args": arguments}
    task = {"cpus": 2, "ext": ext, "process": "HAPGPU"}
    variables = {**INPUTS[module], "meta": {"id": "sample"}, "task": task}
    return {"module": str(main), "section": section, "variables": variables}


def commands_of(packages: Path, keys: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return the commands of modules with arguments, by their sections `script` or `stub`."""
    groovy, java = shutil.which("groovy"), shutil.which("java")
    if groovy is None or java is None:
        pytest.skip("groovy or java is not installed")
    entries = [entry(main_of(packages, key[0]), *key) for key in keys]
    done = subprocess.run(
        [groovy, str(Path(__file__).with_name("render_modules.groovy"))],
        env={**os.environ, "JAVA_HOME": str(Path(java).resolve().parents[1])},
        input=json.dumps(entries),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    commands: list[str] = json.loads(done.stdout)
    return commands


def outputs_of(main: Path) -> dict[str, tuple[str, bool]]:
    """Return, by the name of each output, the pattern of its files and whether it is optional."""
    found = re.findall(r'path\("(.+?)"\), emit: (\w+)(, optional: true)?', main.read_text())
    return {emit: (pattern, bool(optional)) for pattern, emit, optional in found}


def is_written(pattern: str, directory: Path, inputs: Sequence[str]) -> bool:
    """Whether a file matches a pattern such as `*.{tbi,csi}`, other than an input."""
    pattern = pattern.replace("${prefix}", "sample")
    alternatives = re.search(r"\{(.+)\}", pattern)
    names = alternatives[1].split(",") if alternatives else [""]
    globs = [re.sub(r"\{.+\}", name, pattern) for name in names]
    found = {path.name for glob in globs for path in directory.glob(glob)}
    return bool(found - set(inputs))


def test_every_module_is_tested(packages: Path) -> None:
    names = {path.name for path in main_of(packages, "map").parents[1].iterdir()}
    assert names == set(INPUTS) == {module for module, _ in RUNS}


@pytest.mark.parametrize("module", INPUTS)
def test_names_of_packages(module: str, packages: Path) -> None:
    main = main_of(packages, module)
    environment = main.with_name("environment.yml").read_text()
    assert f'"bioconda::hapgpu={__version__}"' in environment
    assert "container" not in main.read_text()


def test_options_without_a_value(packages: Path) -> None:
    joined = re.search(r"/-\[(\w+)\]\*a", main_of(packages, "chain").read_text())
    assert joined is not None
    flags = {
        name[1]
        for option in description_of("chain").options
        for name in option.names
        if not option.placeholder and len(name) == 2
    }
    assert {*joined[1]} == flags - {"a", "h"}


@pytest.mark.skipif(NF_CORE is None, reason="nf-core is not installed")
@pytest.mark.exhaustive
def test_lint(packages: Path, tmp_path: Path) -> None:
    assert NF_CORE is not None
    clone = tmp_path / "clone"
    (clone / "modules").mkdir(parents=True)
    for schema in ("meta", "environment"):  # stand-ins: nf-core's are in its own repository
        (clone / "modules" / f"{schema}-schema.json").write_text('{"type": "object"}')
    copy = shutil.copytree(packages / "nf-core", tmp_path / "modules")  # nf-core may sort a file
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
    assert sum(result[0] == "passed" for result in results) >= 45 * len(INPUTS)


@pytest.fixture(scope="module")
def commands(packages: Path) -> dict[tuple[str, str, str], str]:
    """Return the command of each run, and of each section of its module."""
    keys = [(*run, section) for run in RUNS for section in ("script", "stub")]
    return dict(zip(keys, commands_of(packages, keys), strict=True))


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("example"))


def test_format_of_chain(packages: Path) -> None:
    commands = commands_of(packages, [("chain", arguments, "script") for arguments in FORMATS])
    found = [re.search(r"-o sample\.(\w+) ", command) for command in commands]
    assert [name and name[1] for name in found] == [*FORMATS.values()]


def run_task(
    command: str, inputs: Sequence[str], example: Path, directory: Path, **env: str
) -> str:
    """Run a command as a task with these inputs; return its standard error."""
    directory.mkdir()
    for name in filter(None, inputs):
        shutil.copy(example / name, directory)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=directory,
        env={**os.environ, **env, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize(("module", "arguments"), RUNS)
@pytest.mark.parametrize("section", ["script", "stub"])
def test_run(
    module: str,
    arguments: str,
    section: str,
    packages: Path,
    commands: dict[tuple[str, str, str], str],
    example: Path,
    tmp_path: Path,
) -> None:
    if (module, section) == ("report", "script") and find_spec("vl_convert") is None:
        pytest.skip("the extra 'report' is not installed")
    inputs, directory = [*INPUTS[module].values()], tmp_path / "work"
    run_task(commands[module, arguments, section], inputs, example, directory)
    outputs = outputs_of(main_of(packages, module))
    written = {
        emit for emit, (pattern, _) in outputs.items() if is_written(pattern, directory, inputs)
    }
    required = {emit for emit, (_, optional) in outputs.items() if not optional}
    assert written == required | RUNS[module, arguments]


@pytest.mark.exhaustive
def test_compiled_code_without_a_home(
    commands: dict[tuple[str, str, str], str], example: Path, tmp_path: Path
) -> None:
    command = commands["haplotypes", "--quiet", "script"]
    home = tmp_path / "file"
    home.touch()
    unset = "unset HAPGPU_CACHE_DIR XDG_CACHE_HOME NUMBA_CACHE_DIR"
    inputs, directory = [*INPUTS["haplotypes"].values()], tmp_path / "work"
    assert run_task(f"{unset}\n{command}", inputs, example, directory, HOME=str(home)) == ""
    assert any((directory / ".hapgpu").iterdir())
