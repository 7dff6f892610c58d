"""Genomic VCF of real reads: every position once, the same bytes for all segments and threads."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pysam
import pytest

from hapgpu.calling.options import CallOptions, VariantOptions
from hapgpu.calling.pipeline import CallInputs, CallSession, write_calls
from hapgpu.errors import UsageError
from hapgpu.io.genome.regions import RegionChoice, parse_region
from hapgpu.runtime.devices import CpuDevice
from hapgpu.runtime.statistics import RunStatistics

REGIONS = ("chr20:10,000,001-10,016,000", "chr20:10,030,001-10,034,000")
NON_REF = "<NON_REF>"
OPTIONS = CallOptions(genotyping=VariantOptions(min_confidence=0.0, has_non_ref=True))


def inputs_of(data_dir: Path, *samples: str) -> CallInputs:
    real = data_dir / "illumina_na12878"
    return CallInputs(
        [str(real / f"{name}.chr20.dev.bam") for name in samples],
        real / "chr20.hg19.fa.gz",
        RegionChoice(tuple(map(parse_region, REGIONS))),
    )


def run(data_dir: Path, path: Path, segment_size: int, threads: int) -> bytes:
    statistics = RunStatistics("call", [], [], threads)
    inputs, devices = inputs_of(data_dir, "NA12878"), [CpuDevice(threads)]
    with CallSession(inputs, OPTIONS, devices, threads, segment_size) as session:
        write_calls(session, str(path), statistics, threads=threads, command_line="call")
    return path.read_bytes()


@pytest.fixture(scope="module")
def whole(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gvcf") / "whole.g.vcf"
    run(data_dir, path, 20_000, 1)
    return path


@pytest.mark.parametrize(("segment_size", "threads"), [(3100, 3), (700, 1)])
def test_segments_and_threads(
    data_dir: Path, tmp_path: Path, whole: Path, segment_size: int, threads: int
) -> None:
    assert run(data_dir, tmp_path / "part.g.vcf", segment_size, threads) == whole.read_bytes()


def test_every_position_is_covered_once(whole: Path) -> None:
    covered: Counter[int] = Counter()
    with pysam.VariantFile(str(whole)) as source:
        for record in source:
            covered.update(range(record.start, record.stop))
    spans = [(region.start, region.end) for region in map(parse_region, REGIONS)]
    assert sorted(covered) == [at for start, end in spans for at in range(start, end)]
    assert max(covered.values()) == 1


def test_fields(whole: Path) -> None:
    blocks = phased = variants = 0
    with pysam.VariantFile(str(whole)) as source:
        for record in source:
            (sample,) = record.samples.values()
            assert record.alts is not None
            assert record.alts[-1] == NON_REF
            assert sample["GQ"] == min(99, sorted(sample["PL"])[1])
            if record.alts == (NON_REF,):
                assert sample["GT"] == (0, 0)
                assert sample["MIN_DP"] <= sample["DP"]
                blocks += 1
                continue
            variants += 1
            assert record.info["RAW_MQandDP"][1] == record.info["DP"]
            assert sum(sample["SB"]) == sample["DP"] == sum(sample["AD"])
            assert not {"FS", "SOR", "QD", "MQ", "AC", "AF", "AN"} & set(record.info)
            phased += "PID" in sample
            if "PID" in sample:
                assert sample["PID"].startswith(f"{sample['PS']}_")
                assert sample.phased
                if len(set(sample["GT"])) == 2 and 0 in sample["GT"]:
                    assert sample["PGT"] == "|".join(map(str, sample["GT"]))
    assert blocks > 200
    assert variants > 40
    assert phased > 5


def test_bcftools_takes_it(data_dir: Path, whole: Path) -> None:
    tool = shutil.which("bcftools")
    if tool is None:
        pytest.skip("no bcftools")
    reference = data_dir / "illumina_na12878" / "chr20.hg19.fa.gz"
    command = [tool, "convert", "--gvcf2vcf", "-f", str(reference), str(whole)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not done.stderr.strip()
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    assert len(lines) == len({line.split("\t")[1] for line in lines}) > 19_500


def test_one_sample_only(data_dir: Path) -> None:
    with pytest.raises(UsageError, match=r"--gvcf: 2 samples; call each sample alone"):
        CallSession(inputs_of(data_dir, "NA12878", "HG002"), OPTIONS, [CpuDevice(1)], 1)
