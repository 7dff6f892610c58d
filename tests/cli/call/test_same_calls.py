"""The same bytes for all threads, segments, formats and orders of equal reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pysam
import pytest

from hapgpu.calling.options import CallOptions
from hapgpu.calling.pipeline import write_calls
from hapgpu.calling.reads import segment_reader, windows
from hapgpu.calling.session import CallInputs, CallSession
from hapgpu.io.genome.regions import EVERYTHING, RegionChoice, parse_region
from hapgpu.runtime.devices import CpuDevice
from hapgpu.runtime.statistics import RunStatistics
from tests.cli.call.command import called, records_in
from tests.cli.call.made_reads import (
    Alignment,
    as_bam,
    random_bases,
    with_errors,
    with_snps,
    write_reference,
    write_sam,
)

LENGTH: Final = 3200
READ: Final = 120
DELETION: Final = (2040, 2070)
PILE: Final = 900
"""Position at which very many reads start."""
FORMATS: Final = ("bam", "sam", "cram")
LIMITS: Final = (0, 3, 50)
"""Values of --max-reads-per-start."""
pytestmark = pytest.mark.exhaustive

PAIRWISE: Final = [
    ((1, 2, 4)[first], (500, 1700, None)[second], FORMATS[third], LIMITS[fourth])
    for first in range(3)
    for second in range(3)
    for third, fourth in [((first + second) % 3, (first + 2 * second) % 3)]
]
"""Threads, sizes of segments, formats and limits: each value of one with each of every other."""

ONE_LIMIT: Final = [pytest.param(n, marks=() if n == 3 else pytest.mark.exhaustive) for n in LIMITS]


def made_alignments(reference: str) -> Iterator[Alignment]:
    """Yield pairs of two haplotypes with SNPs, a deletion and errors, and a deep pile."""
    random = np.random.default_rng(7)
    snps = random.integers(100, LENGTH - 100, 20).tolist()
    first = with_snps(reference, {*snps[::2], sum(DELETION) // 2})
    second = with_snps(first, snps[1::2])
    for number in range(500):
        one = int(random.integers(0, LENGTH - 400))
        other = one + int(random.integers(0, 250))
        for at, mate, flag in ((one, other, 99), (other, one, 147)):
            cigar, bases = aligned(second, at) if number % 2 else (f"{READ}M", first[at:][:READ])
            bases = with_errors(random, bases, 0.01)
            length = (other - one + READ) * (1 if flag == 99 else -1)
            yield Alignment(f"p{number}", at, cigar, bases, "", flag, length, mate)
    for number in range(300):
        bases = with_errors(random, first[PILE : PILE + READ], 0.02)
        yield Alignment(f"pile{number}", PILE, f"{READ}M", bases)


def aligned(haplotype: str, at: int) -> tuple[str, str]:
    """Return CIGAR and bases of a read of the haplotype with the deletion.

    Reads that would start in the deletion, or end soon after it, have no gap.
    """
    start, end = DELETION
    if not start - READ + 10 < at < start:
        return f"{READ}M", haplotype[at : at + READ]
    before, after = start - at, READ - start + at
    return f"{before}M{end - start}D{after}M", haplotype[at:start] + haplotype[end : end + after]


class Made:
    """The made reads in all formats."""

    def __init__(self, directory: Path) -> None:
        reference = random_bases(np.random.default_rng(8), LENGTH)
        self.directory = directory
        self.lengths = {"c": LENGTH}
        self.reference = write_reference(directory / "reference.fa", c=reference)
        self.alignments = list(made_alignments(reference))
        self.sam = write_sam(directory / "reads.sam", self.alignments, self.lengths)
        self.bam = as_bam(self.sam)
        cram = str(directory / "reads.cram")
        options = ["-C", "-T", str(self.reference), "--no-PG", "-o", cram]
        pysam.view(*options, str(self.sam), catch_stdout=False)
        pysam.index(cram)

    def written(self, name: str, alignments: Sequence[Alignment]) -> Path:
        return as_bam(write_sam(self.directory / name, alignments, self.lengths))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("made"))


def calls_of(
    reads: Sequence[Path],
    reference: Path,
    *,
    threads: int = 1,
    segment_size: int | None = None,
    max_reads_per_start: int = 50,
    regions: Sequence[str] = (),
) -> bytes:
    """Return the output of a run, and its number of covered bases as a last line."""
    choice = RegionChoice(tuple(map(parse_region, regions))) if regions else EVERYTHING
    inputs = CallInputs(list(map(str, reads)), reference, choice)
    options = replace(CallOptions(), max_reads_per_start=max_reads_per_start)
    statistics = RunStatistics("call", [], [], threads)
    path = reads[0].with_suffix(".vcf")
    with CallSession(inputs, options, [CpuDevice(threads)], threads, segment_size) as session:
        write_calls(session, str(path), statistics, threads=threads, command_line="call")
    return path.read_bytes() + b"# %d covered bases\n" % statistics.counts["covered_bases"]


@pytest.fixture(scope="module")
def expected(made: Made) -> dict[int, bytes]:
    """Return the output for each limit of reads per start."""
    return {
        limit: calls_of([made.bam], made.reference, max_reads_per_start=limit) for limit in LIMITS
    }


def test_the_runs_are_not_trivial(expected: dict[int, bytes]) -> None:
    """There are spanning deletions, and the limit counts."""
    assert all(len(records_in(text.decode())) > 15 for text in expected.values())
    assert "*" in "".join(row[4] for row in records_in(expected[0].decode()))
    assert len(set(expected.values())) == len(LIMITS)


@pytest.mark.parametrize(("threads", "segment_size", "format_", "limit"), PAIRWISE)
def test_threads_segments_formats_and_limits(
    made: Made,
    expected: dict[int, bytes],
    threads: int,
    segment_size: int | None,
    format_: str,
    limit: int,
) -> None:
    found = calls_of(
        [made.bam.with_suffix(f".{format_}")],
        made.reference,
        threads=threads,
        segment_size=segment_size,
        max_reads_per_start=limit,
    )
    assert found == expected[limit]


@pytest.mark.parametrize(
    "regions", [["c:1-2050", "c:2051-3200"], ["c:2000-3200", "c:1-2050"], ["c", "c:7-9"]]
)
def test_regions_that_join(made: Made, expected: dict[int, bytes], regions: list[str]) -> None:
    assert calls_of([made.bam], made.reference, regions=regions) == expected[50]


@pytest.mark.parametrize("limit", ONE_LIMIT)
def test_order_of_reads_of_one_position(made: Made, expected: dict[int, bytes], limit: int) -> None:
    order = np.random.default_rng(9).permutation(len(made.alignments))
    path = made.written("shuffled.sam", [made.alignments[row] for row in order])
    found = calls_of([path], made.reference, max_reads_per_start=limit, segment_size=2000)
    assert found == expected[limit]


@pytest.mark.parametrize("limit", ONE_LIMIT)
def test_files_of_one_sample(made: Made, expected: dict[int, bytes], limit: int) -> None:
    """In any order; mates are in different files."""
    paths = [made.written(f"part{part}.sam", made.alignments[part::3]) for part in range(3)]
    for order in (paths, paths[::-1]):
        found = calls_of(order, made.reference, max_reads_per_start=limit)
        assert found == expected[limit]


@pytest.mark.parametrize("limit", ONE_LIMIT)
@pytest.mark.parametrize("format_", ["bam", "sam"])
def test_piles_that_are_downsampled_while_they_are_read(
    made: Made,
    expected: dict[int, bytes],
    monkeypatch: pytest.MonkeyPatch,
    format_: str,
    limit: int,
) -> None:
    monkeypatch.setattr(segment_reader, "_BATCH_BASES", 3000)
    monkeypatch.setattr(segment_reader, "_MAX_BASES", 100_000)
    reads = [made.bam.with_suffix(f".{format_}")]
    assert calls_of(reads, made.reference, max_reads_per_start=limit) == expected[limit]


@pytest.mark.parametrize("format_", ["bam", "sam"])
@pytest.mark.parametrize("size", [(500, 3000), (1700, 3000), (None, 4_000_000)])
def test_crowds(
    made: Made, monkeypatch: pytest.MonkeyPatch, size: tuple[int | None, int], format_: str
) -> None:
    monkeypatch.setattr(windows, "MAX_CROWD", 25)
    expected = calls_of([made.bam], made.reference, max_reads_per_start=0)
    assert len(records_in(expected.decode())) > 10
    monkeypatch.setattr(segment_reader, "_BATCH_BASES", size[1])
    monkeypatch.setattr(segment_reader, "_MAX_BASES", 100_000 if size[1] == 3000 else 10**9)
    reads = [made.bam.with_suffix(f".{format_}")]
    found = calls_of(reads, made.reference, segment_size=size[0], max_reads_per_start=0)
    assert found == expected


def test_several_samples(made: Made, tmp_path: Path) -> None:
    """The columns follow the files; the records are the same."""
    paths = []
    for part in range(2):
        sam = tmp_path / f"s{part}.sam"
        write_sam(sam, made.alignments[part::2], made.lengths, {"g": f"sample{part}"})
        paths.append(as_bam(sam))
    one = records_in(called(tmp_path, *paths, made.reference, threads=1))
    other = records_in(called(tmp_path, *paths[::-1], made.reference, threads=4))
    assert len(one) > 15
    assert [[*row[:9], row[10], row[9]] for row in other] == one
