"""Genomic VCF of real reads: every position once, the same bytes for all segments and threads."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pysam
import pytest

from hapgpu.calling.options import CallOptions, GenomicOptions, VariantOptions
from hapgpu.calling.pipeline import write_calls
from hapgpu.calling.ploidies import DIPLOID_EVERYWHERE, Ploidies, PloidyRegion
from hapgpu.calling.session import CallInputs, CallSession
from hapgpu.errors import UsageError
from hapgpu.io.genome.regions import Region, RegionChoice, parse_region
from hapgpu.runtime.devices import CpuDevice
from hapgpu.runtime.statistics import RunStatistics
from tests.calling.gvcf.reference import Block, blocks_of

REGIONS = ("chr20:10,000,001-10,016,000", "chr20:10,030,001-10,034,000")
NON_REF = "<NON_REF>"
WARP = GenomicOptions(bands=tuple(range(10, 100, 10)))
FLOORS = GenomicOptions(bands=(20, 30, 40), has_floors=True)
ALL_POSITIONS = GenomicOptions(is_per_position=True)
PLOIDIES = Ploidies.of(
    2,
    [
        PloidyRegion(Region("chr20", 10_003_000, 10_005_555), 1),
        PloidyRegion(Region("chr20", 10_005_000, 10_009_000), 3),
        PloidyRegion(Region("chr20", 10_031_000, 10_032_000), 4),
    ],
)


def options_of(
    genomic: GenomicOptions = GenomicOptions(),  # noqa: B008  (cannot be changed)
    ploidies: Ploidies = DIPLOID_EVERYWHERE,
) -> CallOptions:
    genotyping = VariantOptions(min_confidence=0.0, has_non_ref=True, ploidies=ploidies)
    return CallOptions(genotyping=genotyping, genomic=genomic)


OPTIONS = options_of()


def inputs_of(data_dir: Path, *samples: str) -> CallInputs:
    real = data_dir / "illumina_na12878"
    return CallInputs(
        [str(real / f"{name}.chr20.dev.bam") for name in samples],
        real / "chr20.hg19.fa.gz",
        RegionChoice(tuple(map(parse_region, REGIONS))),
    )


def run(
    data_dir: Path,
    path: Path,
    segment_size: int = 20_000,
    threads: int = 1,
    *,
    options: CallOptions = OPTIONS,
) -> bytes:
    statistics = RunStatistics("call", [], [], threads)
    inputs, devices = inputs_of(data_dir, "NA12878"), [CpuDevice(threads)]
    with CallSession(inputs, options, devices, threads, segment_size) as session:
        write_calls(session, str(path), statistics, threads=threads, command_line="call")
    return path.read_bytes()


@pytest.fixture(scope="module")
def whole(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gvcf") / "whole.g.vcf"
    run(data_dir, path)
    return path


@pytest.fixture(scope="module")
def single(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a record per position."""
    path = tmp_path_factory.mktemp("gvcf") / "single.g.vcf"
    run(data_dir, path, options=options_of(ALL_POSITIONS))
    return path


def expected_positions() -> list[int]:
    spans = [(region.start, region.end) for region in map(parse_region, REGIONS)]
    return [at for start, end in spans for at in range(start, end)]


def is_block(record: pysam.VariantRecord) -> bool:
    return record.alts == (NON_REF,)


@pytest.mark.parametrize(("segment_size", "threads"), [(3100, 3), (700, 1)])
def test_segments_and_threads(
    data_dir: Path, tmp_path: Path, whole: Path, segment_size: int, threads: int
) -> None:
    assert run(data_dir, tmp_path / "part.g.vcf", segment_size, threads) == whole.read_bytes()


@pytest.mark.parametrize("options", [options_of(ALL_POSITIONS), options_of(FLOORS, PLOIDIES)])
def test_segments_and_threads_of_other_outputs(
    data_dir: Path, tmp_path: Path, options: CallOptions
) -> None:
    whole = run(data_dir, tmp_path / "whole.g.vcf", options=options)
    assert run(data_dir, tmp_path / "part.g.vcf", 1700, 3, options=options) == whole


def check_covered_once(path: Path) -> None:
    covered: Counter[int] = Counter()
    with pysam.VariantFile(str(path)) as source:
        for record in source:
            covered.update(range(record.start, record.stop))
    assert sorted(covered) == expected_positions()
    assert max(covered.values()) == 1


def test_every_position_is_covered_once(whole: Path) -> None:
    check_covered_once(whole)


@pytest.mark.parametrize(
    "options",
    [
        options_of(WARP),
        options_of(FLOORS),
        options_of(ploidies=PLOIDIES),
        options_of(WARP, PLOIDIES),
    ],
)
def test_every_position_is_covered_once_by_any_blocks(
    data_dir: Path, tmp_path: Path, options: CallOptions
) -> None:
    run(data_dir, tmp_path / "out.g.vcf", options=options)
    check_covered_once(tmp_path / "out.g.vcf")


@pytest.mark.parametrize("ploidies", [DIPLOID_EVERYWHERE, PLOIDIES, Ploidies(default=1)])
def test_every_position_has_a_record(data_dir: Path, tmp_path: Path, ploidies: Ploidies) -> None:
    """Those that a deletion covers, too."""
    path = tmp_path / "single.g.vcf"
    run(data_dir, path, options=options_of(ALL_POSITIONS, ploidies))
    with pysam.VariantFile(str(path)) as source:
        records = list(source)
    assert [record.start for record in records] == expected_positions()
    assert max(len(record.ref or "") for record in records) > 3
    assert all(record.alts is not None and record.alts[-1] == NON_REF for record in records)


def test_a_record_per_position_has_the_same_variants(whole: Path, single: Path) -> None:
    found = []
    for path in (whole, single):
        with pysam.VariantFile(str(path)) as source:
            found.append([str(record) for record in source if not is_block(record)])
    assert found[0] == found[1]
    assert found[0]


def test_fields_of_positions(single: Path) -> None:
    with pysam.VariantFile(str(single)) as source:
        assert "END" not in source.header.info
        assert "MIN_DP" not in source.header.formats
        assert not any(line.key.startswith("GVCFBlock") for line in source.header.records)
        for record in filter(is_block, source):
            (sample,) = record.samples.values()
            assert list(sample) == ["GT", "AD", "DP", "GQ", "PL"]
            assert not dict(record.info)
            assert sum(sample["AD"]) == sample["DP"]
            assert sample["GQ"] == min(99, *sample["PL"][1:])
            assert sample["PL"][0] == 0


@pytest.mark.parametrize("genomic", [GenomicOptions(), WARP, FLOORS, GenomicOptions(bands=(100,))])
def test_blocks_are_those_of_the_positions(
    data_dir: Path, tmp_path: Path, single: Path, genomic: GenomicOptions
) -> None:
    """Blocks, joined by the plain rules from the records of single positions."""
    expected = plain_blocks(single, genomic.bands)
    path = tmp_path / "out.g.vcf"
    run(data_dir, path, options=options_of(genomic))
    with pysam.VariantFile(str(path)) as source:
        records = list(filter(is_block, source))
    assert len(records) == len(expected)
    for record, block in zip(records, expected, strict=True):
        (sample,) = record.samples.values()
        assert (record.start, record.stop, sample["DP"]) == (block.start, block.end, block.depth)
        if genomic.has_floors:
            assert sample["GQ"] == max(b for b in (0, *genomic.bands) if b <= block.quality)
            assert list(sample) == ["GT", "DP", "GQ"]
        else:
            assert list(sample) == ["GT", "DP", "GQ", "MIN_DP", "PL"]
            assert sample["PL"] == (0, *block.phreds)
            assert (sample["GQ"], sample["MIN_DP"]) == (block.quality, block.min_depth)


def plain_blocks(path: Path, bands: tuple[int, ...]) -> list[Block]:
    """Return the blocks of a file of single positions, region by region."""
    found: list[Block] = []
    with pysam.VariantFile(str(path)) as source:
        records = list(source)
    for region in map(parse_region, REGIONS):
        own = [record for record in records if region.start <= record.start < region.end]
        samples = [record.samples[0] for record in own]
        variants = [(record.start, record.stop) for record in own if not is_block(record)]
        depths = [sample["DP"] or 0 for sample in samples]
        phreds = [sample["PL"][1:] for sample in samples]
        found += blocks_of(region.start, depths, phreds, variants, bands)
    return found


def test_ploidies(data_dir: Path, tmp_path: Path, whole: Path) -> None:
    """Blocks far from the borders of regions have their ploidy, and diploid ones do not change."""
    path = tmp_path / "out.g.vcf"
    run(data_dir, path, options=options_of(ploidies=PLOIDIES))
    inside = {1: (10_003_400, 10_004_600), 3: (10_005_300, 10_008_600), 4: (10_031_300, 10_031_700)}
    seen = Counter[int]()
    with pysam.VariantFile(str(path)) as source:
        for record in filter(is_block, source):
            (sample,) = record.samples.values()
            ploidy = len(sample["GT"])
            assert len(sample["PL"]) == ploidy + 1
            for expected, (start, end) in inside.items():
                if start <= record.start < end:
                    assert ploidy == expected
                    seen[ploidy] += 1
    assert set(seen) == set(inside)
    others = [
        [line for line in each.read_text().splitlines() if line.startswith("chr20\t10000")]
        for each in (path, whole)
    ]
    assert others[0] == others[1]
    assert len(others[0]) > 10


@pytest.mark.parametrize(
    ("genomic", "ploidies"),
    [
        (GenomicOptions(has_phases=False), DIPLOID_EVERYWHERE),
        (GenomicOptions(), Ploidies(default=3)),
    ],
)
def test_no_phases(
    data_dir: Path, tmp_path: Path, genomic: GenomicOptions, ploidies: Ploidies
) -> None:
    """GATK phases only runs of ploidy 2."""
    path = tmp_path / "out.g.vcf"
    run(data_dir, path, options=options_of(genomic, ploidies))
    with pysam.VariantFile(str(path)) as source:
        assert not {"PGT", "PID", "PS"} & set(source.header.formats)
        variants = [record for record in source if not is_block(record)]
    assert len(variants) > 40
    assert not any("|" in str(record).split("\t")[9] for record in variants)


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
