"""`hapgpu genotype` has the same output on every device."""

from __future__ import annotations

from pathlib import Path

import pytest

from hapgpu.runtime.devices import discover
from tests.cli.genotype.command import Call, calls_in
from tests.cli.in_process import status_of_command
from tests.haplotypes.made_references import random_text
from tests.simulation.made_samples import made_sample

pytestmark = pytest.mark.gpu

GPU = "cuda:0"
LITTLE_MEMORY = "3M"

Arguments = tuple[str | Path, ...]


@pytest.fixture(params=["NA12878", "HG002", "both", "tiny"])
def real_data(request: pytest.FixtureRequest, data_dir: Path) -> Arguments:
    """Return the arguments of a run with real reads."""
    if request.param == "tiny":
        directory, stem = data_dir / "illumina_tiny", "NA12878.chr22.tiny"
        return directory / f"{stem}.bam", directory / "q.fa", directory / f"{stem}.giab.vcf.gz"
    directory = data_dir / "illumina_na12878"
    samples = ["NA12878", "HG002"] if request.param == "both" else [request.param]
    reads = [directory / f"{sample}.chr20.dev.bam" for sample in samples]
    return *reads, directory / "chr20.hg19.fa.gz", directory / "sites.dev.vcf.gz"


def calls_on(device: str, directory: Path, arguments: Arguments) -> list[Call]:
    path = directory / "calls.vcf"
    options = ("-q", "--device", device, "-t", "2", "-o", path)
    assert status_of_command("genotype", *arguments, *options) == 0
    return calls_in(path.read_text())


def test_real_reads(real_data: Arguments, tmp_path: Path) -> None:
    expected = calls_on("cpu", tmp_path, real_data)
    assert len(expected) > 10
    assert calls_on(GPU, tmp_path, real_data) == expected


@pytest.mark.parametrize("options", [("--prior", "flat"), ("--pcr-model", "none")], ids=" ".join)
def test_options(data_dir: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    directory = data_dir / "illumina_na12878"
    reads, reference = directory / "HG002.chr20.dev.bam", directory / "chr20.hg19.fa.gz"
    arguments = (reads, reference, directory / "sites.dev.vcf.gz", *options)
    assert calls_on(GPU, tmp_path, arguments) == calls_on("cpu", tmp_path, arguments)


@pytest.mark.parametrize("ploidy", [1, 2, 3, 4])
def test_simulated_samples(ploidy: int, tmp_path: Path) -> None:
    sample = made_sample(tmp_path, random_text(30_000, 23), ploidy, depth=12)
    arguments = (*sample.files, "--ploidy", str(ploidy))
    expected = calls_on("cpu", tmp_path, arguments)
    assert len(expected) == len(sample.variants) > 80
    assert calls_on(GPU, tmp_path, arguments) == expected


def test_more_gpus_and_less_memory_change_nothing(tmp_path: Path) -> None:
    """Each pair has the same likelihood in any batch, on any GPU of one kind."""
    sample = made_sample(tmp_path, random_text(30_000, 29), ploidy=2, depth=15)
    expected = calls_on(GPU, tmp_path, sample.files)
    several = "cuda:" + ",".join(str(gpu.index) for gpu in discover().gpus)
    for device in ("cuda", several):
        assert calls_on(device, tmp_path, sample.files) == expected
    little = (*sample.files, "--gpu-mem", LITTLE_MEMORY)
    assert calls_on(GPU, tmp_path, little) == expected


def test_too_little_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = made_sample(tmp_path, random_text(5000, 31), ploidy=2, depth=15)
    options = ("--device", GPU, "--gpu-mem", "1K", "-o", tmp_path / "calls.vcf")
    assert status_of_command("genotype", *sample.files, *options) != 0
    assert "too little memory for a read of" in capsys.readouterr().err
    assert not (tmp_path / "calls.vcf").exists()
