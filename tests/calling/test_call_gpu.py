"""`hapgpu call` has the same output on every device."""

from __future__ import annotations

from pathlib import Path

import pytest

from hapgpu.benchmark.input_files import simulated_files
from hapgpu.runtime.devices import discover
from tests.cli.genotype.command import Call, calls_in
from tests.cli.in_process import status_of_command
from tests.haplotypes.made_references import random_text

pytestmark = pytest.mark.gpu

GPU = "cuda:0"
REGION = "chr20:10000001-10050000"
LITTLE_MEMORY = "3M"

Arguments = tuple[str | Path, ...]


@pytest.fixture(params=["NA12878", "HG002", "both"])
def real_data(request: pytest.FixtureRequest, data_dir: Path) -> Arguments:
    """Return the arguments of a run with real reads."""
    directory = data_dir / "illumina_na12878"
    samples = ["NA12878", "HG002"] if request.param == "both" else [request.param]
    reads = [directory / f"{sample}.chr20.dev.bam" for sample in samples]
    return *reads, directory / "chr20.hg19.fa.gz", "-r", REGION


@pytest.fixture
def made_data(tmp_path: Path) -> Arguments:
    """Return the arguments of a run with simulated reads."""
    reference = tmp_path / "made.fa"
    reference.write_text(f">made\n{random_text(60_000, 37)}\n")
    directory = tmp_path / "files"
    directory.mkdir()
    files = simulated_files(directory, reference, 1, 1)
    return files.reads, files.reference


def calls_on(device: str, directory: Path, arguments: Arguments, threads: int = 2) -> list[Call]:
    path = directory / "calls.vcf"
    options = ("-q", "--device", device, "-t", str(threads), "-o", path)
    assert status_of_command("call", *arguments, *options) == 0
    return calls_in(path.read_text())


def test_real_reads(real_data: Arguments, tmp_path: Path) -> None:
    expected = calls_on("cpu", tmp_path, real_data)
    assert len(expected) > 100
    assert calls_on(GPU, tmp_path, real_data) == expected


@pytest.mark.parametrize("sample", ["NA12878", "HG002"])
def test_all_outputs(sample: str, data_dir: Path, tmp_path: Path) -> None:
    """Of a genomic VCF and of realigned reads, all bytes but the command line are the same."""
    directory = data_dir / "illumina_na12878"
    inputs = (directory / f"{sample}.chr20.dev.bam", directory / "chr20.hg19.fa.gz", "-r", REGION)
    outputs = []
    for device in ("cpu", GPU):
        vcf, sam = tmp_path / f"{device}.vcf", tmp_path / f"{device}.sam"
        options = ("-q", "--gvcf", "--device", device, "-t", "2", "-o", vcf, "--bam-out", sam)
        assert status_of_command("call", *inputs, *options) == 0
        texts = (vcf.read_text().splitlines(), sam.read_text().splitlines())
        outputs.append([line for text in texts for line in text if "CL:" not in line])
    records, *others = ([line for line in text if line[:2] != "##"] for text in outputs)
    assert len(records) > 1000
    assert others == [records]


def test_threads_gpus_and_memory_change_nothing(made_data: Arguments, tmp_path: Path) -> None:
    """Each pair has the same likelihood in any batch, on any device."""
    expected = calls_on(GPU, tmp_path, made_data, threads=1)
    assert len(expected) > 30
    assert calls_on("cpu", tmp_path, made_data) == expected
    several = "cuda:" + ",".join(str(gpu.index) for gpu in discover().gpus)
    for device, threads in ((GPU, 5), (several, 3)):
        assert calls_on(device, tmp_path, made_data, threads) == expected
    little = (*made_data, "--gpu-mem", LITTLE_MEMORY)
    assert calls_on(GPU, tmp_path, little) == expected


def test_too_little_memory(
    made_data: Arguments, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--device", GPU, "--gpu-mem", "1K", "-o", tmp_path / "calls.vcf")
    assert status_of_command("call", *made_data, *options) != 0
    assert "too little memory for a" in capsys.readouterr().err
    assert not (tmp_path / "calls.vcf").exists()
