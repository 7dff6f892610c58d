"""Whole runs on real reads: the same bytes for all segments, threads and windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from hapgpu.calling import segment_calls
from hapgpu.calling.batches import SegmentReads
from hapgpu.calling.options import CallOptions
from hapgpu.calling.pipeline import write_calls
from hapgpu.calling.reads import segment_reader
from hapgpu.calling.session import CallInputs, CallSession
from hapgpu.io.genome.regions import RegionChoice, parse_region
from hapgpu.runtime.devices import CpuDevice
from hapgpu.runtime.statistics import RunStatistics

SAMPLES = ("NA12878", "HG002")
REGIONS = ("chr20:10,000,001-10,016,000", "chr20:10,030,001-10,034,000")
LENGTH = 20_000


def run(
    directory: Path, out: Path, segment_size: int, threads: int, *, samples: int = 1
) -> tuple[bytes, dict[str, int]]:
    """Call the regions; return the records, and the counts."""
    real = directory / "illumina_na12878"
    inputs = CallInputs(
        [str(real / f"{name}.chr20.dev.bam") for name in SAMPLES[:samples]],
        real / "chr20.hg19.fa.gz",
        RegionChoice(tuple(map(parse_region, REGIONS))),
    )
    devices = [CpuDevice(threads)]
    statistics = RunStatistics("call", [], [], threads)
    path = out / "called.vcf"
    with CallSession(inputs, CallOptions(), devices, threads, segment_size) as session:
        assert session.bases == LENGTH
        write_calls(session, str(path), statistics, threads=threads, command_line="call")
    return path.read_bytes(), statistics.counts


@pytest.fixture(scope="module")
def expected(
    data_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[bytes, dict[str, int]]:
    """Return what a run of one thread and one segment per region gives."""
    return run(data_dir, tmp_path_factory.mktemp("expected"), LENGTH, 1)


@pytest.mark.parametrize(
    ("segment_size", "threads"),
    [
        (8000, 2),
        pytest.param(3100, 4, marks=pytest.mark.exhaustive),
        (1000, 1),
        pytest.param(700, 3, marks=pytest.mark.exhaustive),
        (233, 4),
    ],
)
def test_segments_and_threads(
    data_dir: Path,
    tmp_path: Path,
    expected: tuple[bytes, dict[str, int]],
    segment_size: int,
    threads: int,
) -> None:
    """Also segments that are shorter than active regions."""
    assert run(data_dir, tmp_path, segment_size, threads) == expected
    assert expected[1]["records"] > 40


def test_segments_of_many_reads_are_halved(
    data_dir: Path,
    tmp_path: Path,
    expected: tuple[bytes, dict[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(segment_reader, "_MAX_BASES", 200_000)
    assert run(data_dir, tmp_path, LENGTH, 2) == expected


def test_several_samples(data_dir: Path, tmp_path: Path) -> None:
    whole = run(data_dir, tmp_path, LENGTH, 1, samples=2)
    assert run(data_dir, tmp_path, 1500, 3, samples=2) == whole


def test_windows_that_start_too_late(
    data_dir: Path,
    tmp_path: Path,
    expected: tuple[bytes, dict[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reads of a far window are read then; they give the same, and are not counted again."""
    usual = segment_calls.active_regions
    windows: list[int] = []

    def late(reads: SegmentReads, *arguments: object, **options: object) -> object:
        segment = reads.segment
        windows.append(segment.start - reads.window_start)
        is_near = segment.start > segment.interval_start and len(windows) % 2
        return None if is_near else usual(reads, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(segment_calls, "active_regions", late)
    real = data_dir / "illumina_na12878"
    assert real.is_dir()
    records, counts = run(data_dir, tmp_path, 4000, 1)
    assert (records, counts) == expected
    assert max(windows) > 8000
