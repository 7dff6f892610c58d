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
PARTS = ("call", "genotype", "map", "realign", "chain")
FILES = ("lane1", "lane2", "lane3", "lane4")
RESULTS = ("calls.vcf.gz", "genotypes.vcf.gz", "hits.bam", "mappings.paf", "realigned/reads.bam")

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
        "runtime": 60,
        "container": "hapgpu.sif",
        "call": {
            "reads": [str(example / "reads.bam")],
            "contigs": ["chr20"],
            **common,
        },
        "genotype": {
            "mem_mb": 1000,
            "reads": [str(data / "NA12878.chr20.dev.bam")],
            "sites": str(data / "sites.dev.vcf.gz"),
            "reference": str(data / "chr20.hg19.fa.gz"),
            "shards": SHARDS,
        },
        "map": {"reads": "short", **common},
        "chain": {"reads": "long", "preset": "map-ont", **common},
        "realign": {
            "reads": [str(example / "reads.bam")],
            "haplotypes": str(example / "haplotypes.fa"),
            **common,
        },
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


def keep_only(directory: Path, part: str, **changed: object) -> None:
    """Leave the other parts out of the config; change values of this part, or of all."""
    config = json.loads((directory / "config.json").read_text())
    kept = {key: value for key, value in config.items() if key not in PARTS}
    kept[part] = config[part] | {key: changed.pop(key) for key in config[part] if key in changed}
    (directory / "config.json").write_text(json.dumps(kept | changed))


def runs_of(directory: Path) -> Counter[str]:
    """Count the runs of hapgpu by their outputs."""
    lines = (directory / "runs.txt").read_text().splitlines()
    return Counter(words[words.index("-o") + 1] for words in map(shlex.split, lines))


def plain(path: Path) -> bytes:
    """Return the bytes of a result, inflated, without command lines in headers."""
    if path.parent.name == "realigned":
        view = ["samtools", "view", "--no-PG", "-h", path]
        text = subprocess.run(view, check=True, capture_output=True, timeout=60).stdout
        return b"".join(
            line for line in text.splitlines(keepends=True) if not line.startswith(b"@PG")
        )
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    if ".vcf" not in path.name:
        return data
    kept = [line for line in data.splitlines(keepends=True) if b"Command=" not in line]
    assert len(kept) == data.count(b"\n") - 1
    return b"".join(kept)


def filters_of(path: Path) -> set[str]:
    """Return the values of FILTER in a VCF."""
    query = ["bcftools", "query", "-f", "%FILTER\n", path]
    done = subprocess.run(query, check=True, capture_output=True, text=True, timeout=60)
    return {*done.stdout.split()}


def in_single_runs(directory: Path) -> dict[str, bytes]:
    """Return the results of one run of each command on all inputs."""
    config = json.loads((directory / "config.json").read_text())
    given = config["genotype"]
    reads = {kind: [f"{kind}/{name}.fastq.gz" for name in FILES] for kind in ("short", "long")}
    lines = {
        "calls.vcf.gz": ["call", *config["call"]["reads"], config["call"]["reference"]],
        "genotypes.vcf.gz": ["genotype", *given["reads"], given["reference"], given["sites"]],
        "hits.bam": ["map", config["map"]["reference"], *reads["short"], "--no-PG"],
        "mappings.paf": ["chain", config["chain"]["reference"], *reads["long"]],
        "realigned/reads.bam": [
            "realign",
            *config["realign"]["reads"],
            config["realign"]["haplotypes"],
            "--reference",
            config["realign"]["reference"],
        ],
    }
    (directory / "realigned").mkdir()
    for name, words in lines.items():
        command = [sys.executable, "-c", "from hapgpu.cli.app import main; main()", *words]
        options = ["-q", "--device", "cpu", "-o", name]
        subprocess.run([*command, *options], cwd=directory, check=True, timeout=120)
    return {name: plain(directory / name) for name in RESULTS}


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
    assert len(runs) == (SHARDS - 1) + 2 * len(FILES) + 2 + 2  # two indexes, call, realign
    assert {name: plain(results / name) for name in RESULTS} == in_single_runs(directory)
    assert filters_of(results / "filtered.vcf.gz") == {"PASS"}


def test_the_same_files_without_a_failure(directory: Path, tmp_path: Path) -> None:
    """The compressed bytes, too."""
    keep_only(directory, "genotype")
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
    [("empty", "empty: no reads"), (["a/x.fq", "b/x.fastq.gz"], "a/x.fq has this name")],
)
def test_bad_reads(directory: Path, reads: str | list[str], message: str) -> None:
    (directory / "empty").mkdir()
    keep_only(directory, "map", reads=reads)
    done = snakemake(directory, "-n")
    assert done.returncode == 1
    assert message in done.stdout + done.stderr


def skip_without(plugin: str, done: subprocess.CompletedProcess[str]) -> None:
    """Skip the test if the snakemake on PATH, which is not of this Python, lacks a plugin."""
    text = done.stdout + done.stderr
    if done.returncode and ("not installed" in text or "invalid choice" in text):
        pytest.skip(f"{plugin} is not installed")


SLURM = {
    "sbatch": """#!/bin/sh
here=$(dirname "$0")
exec 8> "$here/lock"
flock 8
echo "$@" >> "$here/sbatch.txt"
number=$(wc -l < "$here/sbatch.txt")
for word in "$@"; do case "$word" in --wrap=*) echo "${word#--wrap=}" > "$here/job.sh";; esac; done
if CUDA_VISIBLE_DEVICES= SLURM_JOB_ID=$number SLURM_CPUS_PER_TASK=1 SLURM_MEM_PER_NODE=1000 \\
    sh "$here/job.sh" > "$here/$number.log" 2>&1
then echo "$number|COMPLETED"; else echo "$number|FAILED"; fi >> "$here/jobs.txt"
echo "$number"
""",
    "sacct": '#!/bin/sh\ncat "$(dirname "$0")/jobs.txt"\n',
    "srun": '#!/bin/sh\nwhile case "$1" in -*) ;; *) false;; esac; do shift; done; exec "$@"\n',
    "sinfo": "#!/bin/sh\necho PARTITION\n",
    "sacctmgr": "#!/bin/sh\necho ACCOUNT\n",
    "sshare": "#!/bin/sh\necho ACCOUNT\n",
    "squeue": "#!/bin/sh\n",
    "scontrol": "#!/bin/sh\n",
}
"""Stand-ins for SLURM: a job runs while it is submitted, one at a time."""


def test_on_slurm(directory: Path) -> None:
    """The executor's own command lines, for jobs with a GPU and without."""
    keep_only(directory, "genotype", device="auto", shards=2)
    for name, text in SLURM.items():
        (directory / "bin" / name).write_text(text)
        (directory / "bin" / name).chmod(0o755)
    soon = ["--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks"]
    profile = ["--profile", PROFILES / "slurm", *soon, "1", "--max-jobs-per-timespan", "9/1s"]
    # A plan, because the plugin's options fail otherwise without it.
    skip_without("snakemake-executor-plugin-slurm", snakemake(directory, *profile[:2], "-n"))
    done = snakemake(directory, *profile)
    logs = [path.read_text() for path in (directory / "bin").glob("*.log")]
    assert done.returncode == 0, (done, logs)
    assert (directory / "results" / "genotypes.vcf.gz").exists()
    first, second, last = (directory / "bin" / "sbatch.txt").read_text().splitlines()
    for line in (first, second):
        assert "rule_genotype_shard" in line
        assert " -A ACCOUNT -p PARTITION -t 60 --mem 1000 --cpus-per-task=1 " in line
        assert " --gpus=1 " in line
    assert "rule_genotypes" in last
    assert "--gpus" not in last


def test_profile_of_kubernetes(directory: Path) -> None:
    """A plan, with files in a directory instead of S3: no cluster is here."""
    keep_only(directory, "map", reads=["short/lane1.fastq.gz"], device="auto", reference="ref.fa")
    store = directory / "store"
    shutil.copytree(directory / "short", store / "short")
    shutil.copy(directory / "reference.fa", store / "ref.fa")
    storage = ["--default-storage-provider", "fs", "--default-storage-prefix", store]
    done = snakemake(directory, "--profile", PROFILES / "kubernetes", *storage, "-n", "-p")
    skip_without("snakemake-executor-plugin-kubernetes", done)
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    assert f"{store}/short/lane1.fastq.gz (retrieve from storage)" in text
    jobs = [line for line in text.splitlines() if "resources:" in line and " gpu=1" in line]
    assert len(jobs) == 2  # index and map
    assert all("gpu_manufacturer=nvidia, scale=0" in line for line in jobs)
    assert "one_gpu.sh" not in text
