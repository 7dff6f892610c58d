"""The workflow of examples/snakemake: a killed shard, a resumed run, the profiles."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.realign.command import make_example

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / "examples" / "snakemake"
PROFILES = WORKFLOW / "profiles"
SHARDS = 4
FILES = ("lane1", "lane2", "lane3", "lane4")
GATHERED = ("genotypes.vcf.gz", "hits.bam", "mappings.paf")

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(shutil.which("snakemake") is None, reason="snakemake is not installed"),
    pytest.mark.skipif(shutil.which("bcftools") is None, reason="bcftools is not installed"),
    pytest.mark.skipif(shutil.which("samtools") is None, reason="samtools is not installed"),
]

HAPGPU = f"""#!{sys.executable}
import os, signal, sys
from pathlib import Path
from hapgpu.cli.app import main
from hapgpu.io.vcf.writer import VcfWriter

with open("runs.txt", "a") as runs:
    print(*sys.argv[1:], file=runs)
mark = Path("kill")
if "2/{SHARDS}" in sys.argv and mark.exists():
    write = VcfWriter.write

    def write_and_die(writer, text):
        write(writer, text)
        mark.unlink()
        os.kill(os.getpid(), signal.SIGKILL)

    VcfWriter.write = write_and_die
main()
"""
"""`hapgpu` that lists its runs, and kills the second shard while it writes, if `kill` exists."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> Path:
    """Make a config with reads of NA12878, and four files of short and of long reads."""
    directory = tmp_path_factory.mktemp("made")
    example = make_example(directory)
    for kind, source in (("short", "reads.fastq.gz"), ("long", "long_reads.fastq.gz")):
        lines = gzip.decompress((example / source).read_bytes()).splitlines(keepends=True)
        size = len(lines) // 4 // len(FILES) * 4
        (directory / kind).mkdir()
        for number, name in enumerate(FILES):
            end = None if name == FILES[-1] else (number + 1) * size
            text = b"".join(lines[number * size : end])
            (directory / kind / f"{name}.fastq.gz").write_bytes(gzip.compress(text, mtime=0))
    data = data_dir / "illumina_na12878"
    common = {"reference": str(example / "reference.fa"), "mem_mb": 1000}
    config = {
        "device": "cpu",
        "choose_gpu": True,
        "threads": 1,
        "container": "hapgpu.sif",
        "genotype": {
            "mem_mb": 1000,
            "reads": [str(data / "NA12878.chr20.dev.bam")],
            "sites": str(data / "sites.dev.vcf.gz"),
            "reference": str(data / "chr20.hg19.fa.gz"),
            "shards": SHARDS,
        },
        "map": {"reads": "short", **common},
        "chain": {"reads": "long", "preset": "map-ont", **common},
    }
    (directory / "config.json").write_text(json.dumps(config))
    return directory


@pytest.fixture
def directory(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the made directory, with a `hapgpu` of its own."""
    copy = tmp_path / "run"
    shutil.copytree(made, copy)
    (copy / "bin").mkdir()
    hapgpu = copy / "bin" / "hapgpu"
    hapgpu.write_text(HAPGPU)
    hapgpu.chmod(0o755)
    return copy


def snakemake(directory: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the workflow with the installed snakemake and the `hapgpu` of the directory."""
    path = os.pathsep.join([str(directory / "bin"), os.environ["PATH"]])
    python = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        ["snakemake", "-s", WORKFLOW / "Snakefile", "--configfile", "config.json", *options],
        cwd=directory,
        env=os.environ | {"PATH": path, "PYTHONPATH": python, "HOME": str(directory)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def runs_of(directory: Path) -> Counter[str]:
    """Count the runs of hapgpu by their outputs."""
    lines = (directory / "runs.txt").read_text().splitlines()
    return Counter(words[words.index("-o") + 1] for words in map(shlex.split, lines))


def plain(path: Path) -> bytes:
    """Return the bytes of a result, inflated, without the command line in a header of VCF."""
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    if ".vcf" not in path.name:
        return data
    kept = [line for line in data.splitlines(keepends=True) if b"_genotypeCommand=" not in line]
    assert len(kept) == data.count(b"\n") - 1
    return b"".join(kept)


def in_single_runs(directory: Path) -> dict[str, bytes]:
    """Return the results of one run of each command on all inputs."""
    config = json.loads((directory / "config.json").read_text())
    given = config["genotype"]
    reads = {kind: [f"{kind}/{name}.fastq.gz" for name in FILES] for kind in ("short", "long")}
    lines = {
        "genotypes.vcf.gz": ["genotype", *given["reads"], given["reference"], given["sites"]],
        "hits.bam": ["map", config["map"]["reference"], *reads["short"], "--no-PG"],
        "mappings.paf": ["chain", config["chain"]["reference"], *reads["long"]],
    }
    for name, words in lines.items():
        command = [sys.executable, "-c", "from hapgpu.cli.app import main; main()", *words]
        options = ["-q", "--device", "cpu", "-o", name]
        subprocess.run([*command, *options], cwd=directory, check=True, timeout=120)
    return {name: plain(directory / name) for name in GATHERED}


def test_a_killed_shard_is_resumed(directory: Path) -> None:
    (directory / "kill").touch()
    failed = snakemake(directory, "--cores", "2", "--keep-going")
    assert failed.returncode == 1
    assert not (directory / "kill").exists()
    results = directory / "results"
    killed = f"results/genotype/2-of-{SHARDS}.vcf.gz"
    # A killed run leaves hidden files, no output.
    before = {path: path.stat().st_mtime_ns for path in results.rglob("[!.]*") if path.is_file()}
    shards = {f"{number}-of-{SHARDS}.vcf.gz" for number in (1, 3, 4)}
    assert {path.name for path in before if path.parent.name == "genotype"} == {
        *shards,
        *(f"{name}.tbi" for name in shards),
    }
    assert not (results / "genotypes.vcf.gz").exists()

    resumed = snakemake(directory, "--cores", "2", "--rerun-incomplete")
    assert resumed.returncode == 0, resumed.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert all(path.suffix == ".tmp" for path in results.rglob(".*"))
    runs = runs_of(directory)
    assert runs.pop(killed) == 2
    assert set(runs.values()) == {1}
    assert len(runs) == (SHARDS - 1) + 2 * len(FILES) + 2  # two indexes
    assert {name: plain(results / name) for name in GATHERED} == in_single_runs(directory)


def test_the_same_files_without_a_failure(directory: Path, tmp_path: Path) -> None:
    """The compressed bytes, too; with a part of the workflow only."""
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(
        json.dumps({key: value for key, value in config.items() if key not in {"map", "chain"}})
    )
    undisturbed = tmp_path / "undisturbed"
    shutil.copytree(directory, undisturbed)
    assert snakemake(undisturbed, "--cores", "2").returncode == 0
    (directory / "kill").touch()
    assert snakemake(directory, "--cores", "2", "--retries", "1").returncode == 0
    assert runs_of(directory).total() == runs_of(undisturbed).total() + 1
    assert not (directory / "results" / "hits.bam").exists()
    for path in sorted((undisturbed / "results").rglob("*.vcf.gz*")):
        same = directory / path.relative_to(undisturbed)
        assert same.read_bytes() == path.read_bytes()
    again = snakemake(directory, "--cores", "2")
    assert "Nothing to be done" in again.stderr + again.stdout


def test_lint(directory: Path) -> None:
    done = snakemake(directory, "--lint")
    assert done.returncode == 0
    assert "Congratulations" in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("reads", "message"),
    [("empty", "empty: no FASTQ files"), (["a/x.fq", "b/x.fastq.gz"], "a/x.fq has this name")],
)
def test_bad_reads(directory: Path, reads: str | list[str], message: str) -> None:
    (directory / "empty").mkdir()
    config = json.loads((directory / "config.json").read_text())
    config["map"]["reads"] = reads
    (directory / "config.json").write_text(json.dumps(config))
    done = snakemake(directory, "-n")
    assert done.returncode == 1
    assert message in done.stderr
