"""`hapgpu genotype` has the same output on every device."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from hapgpu.runtime.devices import discover
from tests.cli.genotype.command import Call, calls_in
from tests.cli.in_process import status_of_command
from tests.haplotypes.made_references import random_text
from tests.simulation.made_samples import made_sample

pytestmark = pytest.mark.gpu

GPU = "cuda:0"
READ_ERROR = 2e-5
"""Difference of a log10 likelihood between two devices: each is within 1e-5 of the exact one."""
FRAGMENT_ERROR = 2 * READ_ERROR
LITTLE_MEMORY = "3M"

Arguments = tuple[str | Path, ...]


class Number(NamedTuple):
    """A number of the output on two devices, and their largest difference before rounding."""

    expected: float
    actual: float
    error: float


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


def unnumbered(call: Call) -> Call:
    """Return a call without the fields that a rounding error may change."""
    samples = ({name: fields[name] for name in ("GT", "DP", "AD")} for fields in call.samples)
    return call._replace(quality="", samples=tuple(samples))


def error_of(depth: str) -> float:
    """Return the largest difference of phred-scaled likelihoods of a sample before rounding.

    A genotype likelihood is a sum over fragments, whose differences add up; PL is a difference
    of two; so are GQ and QUAL, apart from a mean over genotypes.
    """
    return 10 * 2 * FRAGMENT_ERROR * int(depth)


def numbers_of(expected: Call, actual: Call) -> Iterator[Number]:
    """Yield the numbers of all samples that are rounded to integers."""
    for fields, others in zip(expected.samples, actual.samples, strict=True):
        error = error_of(fields["DP"])
        for name in ("GQ", "PL"):
            values, other_values = fields[name].split(","), others[name].split(",")
            for value, other in zip(values, other_values, strict=True):
                assert (value == ".") == (other == ".")
                if value != ".":
                    yield Number(int(value), int(other), error)


def assert_same_qualities(expected: Call, actual: Call) -> None:
    assert (expected.quality == ".") == (actual.quality == ".")
    if expected.quality != ".":
        error = sum(error_of(fields["DP"]) for fields in expected.samples)
        assert math.isclose(
            float(expected.quality), float(actual.quality), rel_tol=0.0, abs_tol=error + 0.0101
        )


def assert_same_calls(expected: list[Call], actual: list[Call]) -> None:
    """Compare all fields; numbers close to a rounding limit may be rounded differently."""
    assert list(map(unnumbered, expected)) == list(map(unnumbered, actual))
    pairs = list(zip(expected, actual, strict=True))
    for pair in pairs:
        assert_same_qualities(*pair)
    numbers = [number for pair in pairs for number in numbers_of(*pair)]
    for number in numbers:
        assert abs(number.expected - number.actual) <= math.ceil(number.error)
    differing = sum(number.expected != number.actual for number in numbers)
    assert differing <= 3 + 2 * sum(number.error for number in numbers)


def test_real_reads(real_data: Arguments, tmp_path: Path) -> None:
    expected = calls_on("cpu", tmp_path, real_data)
    assert len(expected) > 10
    assert_same_calls(expected, calls_on(GPU, tmp_path, real_data))


@pytest.mark.parametrize("options", [("--prior", "flat"), ("--pcr-model", "none")], ids=" ".join)
def test_options(data_dir: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    directory = data_dir / "illumina_na12878"
    reads, reference = directory / "HG002.chr20.dev.bam", directory / "chr20.hg19.fa.gz"
    arguments = (reads, reference, directory / "sites.dev.vcf.gz", *options)
    assert_same_calls(calls_on("cpu", tmp_path, arguments), calls_on(GPU, tmp_path, arguments))


@pytest.mark.parametrize("ploidy", [1, 2, 3, 4])
def test_simulated_samples(ploidy: int, tmp_path: Path) -> None:
    sample = made_sample(tmp_path, random_text(30_000, 23), ploidy, depth=12)
    arguments = (*sample.files, "--ploidy", str(ploidy))
    expected = calls_on("cpu", tmp_path, arguments)
    assert len(expected) == len(sample.variants) > 80
    assert_same_calls(expected, calls_on(GPU, tmp_path, arguments))


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
