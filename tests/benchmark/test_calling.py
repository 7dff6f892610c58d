"""Alleles and stages of `hapgpu bench call`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hapgpu.benchmark import calling
from hapgpu.benchmark.calling import (
    CallRun,
    benchmark_call,
    called_alleles,
    carried_alleles,
    missed_and_false,
    simple_alleles,
)
from hapgpu.benchmark.measurement import Measurement
from hapgpu.benchmark.whole_runs import Statistics
from hapgpu.runtime.devices import CpuDevice
from tests.haplotypes.made_references import random_text

BASES = "ACGTTTTGACACACTG"
HEADER = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tmade\n"


@pytest.mark.parametrize(
    ("start", "ref", "alt", "expected"),
    [
        (3, "T", "C", [(3, "T", "C")]),
        (2, "GTTT", "ATTC", [(2, "G", "A"), (5, "T", "C")]),
        (4, "TTT", "TT", [(2, "GT", "G")]),
        (6, "T", "TT", [(2, "G", "GT")]),
        (6, "TGACACAC", "TGACAC", [(7, "GAC", "G")]),
        (10, "AC", "ACAC", [(7, "G", "GAC")]),
        (0, "AC", "C", [(0, "AC", "C")]),
        (7, "GACA", "GT", [(8, "ACA", "T")]),
    ],
)
def test_alleles_in_one_notation(
    start: int, ref: str, alt: str, expected: list[tuple[int, str, str]]
) -> None:
    assert BASES[start:].startswith(ref)
    assert list(simple_alleles(start, ref, alt, BASES)) == expected


def test_alleles_of_genotypes(tmp_path: Path) -> None:
    path = tmp_path / "calls.vcf"
    rows = [
        (1, "A", "C,G", "0/2:9"),
        (3, "G", "T", "./.:9"),
        (4, "TT", "T,*", "1|2:9"),
        (8, "G", "C", "0/0"),
    ]
    lines = (
        f"c\t{position}\t.\t{ref}\t{alt}\t.\t.\t.\tGT\t{genotype}\n"
        for position, ref, alt, genotype in rows
    )
    path.write_text(HEADER + "".join(lines))
    assert called_alleles(path, BASES) == {(0, "A", "G"), (2, "GT", "G")}
    genotypes = np.array([[0, 1], [0, 0], [0, 1], [1, 1]], dtype=np.int8)
    carried = carried_alleles(path, BASES, genotypes)
    assert carried == {(0, "A", "C"), (2, "GT", "G"), (7, "G", "C")}


@pytest.mark.parametrize(
    ("truth", "called", "is_same"),
    [
        ({(8, "A", "C"), (9, "C", "A")}, {(6, "T", "TGC"), (7, "GAC", "G")}, False),
        ({(8, "A", "T"), (9, "C", "G")}, {(7, "GAC", "G"), (9, "C", "CTG")}, True),
        ({(8, "A", "T"), (9, "C", "G")}, {(7, "G", "GTG"), (9, "CAC", "C")}, True),
        ({(8, "A", "T")}, set(), False),
        (set(), {(7, "GAC", "G"), (8, "A", "T")}, False),
        ({(8, "A", "C")}, {(8, "A", "C")}, True),
    ],
)
def test_other_notations(
    truth: set[tuple[int, str, str]], called: set[tuple[int, str, str]], *, is_same: bool
) -> None:
    far, common = (200, "A", "C"), (13, "C", "G")
    found = missed_and_false(truth | {far, common}, called | {common}, BASES)
    assert found == (({far}, set()) if is_same else (truth | {far}, called))


def test_other_notations_beside_a_common_allele() -> None:
    """The common allele is within the bases that the other notation moves."""
    truth = {(8, "A", "T"), (9, "C", "A")}
    called = {(7, "G", "GT"), (9, "C", "A"), (9, "CA", "C")}
    assert missed_and_false(truth, called, BASES) == (set(), set())


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[Measurement]:
    path = tmp_path_factory.mktemp("calling") / "made.fa"
    path.write_text(f">c\n{random_text(20_000, 5)}\n")
    return list(benchmark_call(CpuDevice(2), path, 3))


def test_a_run_with_one_thread_and_with_all(lines: list[Measurement]) -> None:
    first, second = (line for line in lines if line.is_whole_run)
    assert (first.device, second.device) == ("CPU, 1 thread", "CPU, 2 threads")
    assert first.numbers["bases"] == second.numbers["bases"] == 60_000
    assert first.numbers == second.numbers
    assert (first.numbers["active_regions"] or 0) > 10
    assert first.numbers["reads"] == pytest.approx(30 * 60_000 / 148, rel=0.15)


def test_called_alleles_are_those_of_the_sample(lines: list[Measurement]) -> None:
    assert (lines[0].numbers["recall"] or 0) > 0.9
    assert lines[0].numbers["precision"] == 1


def test_stages_follow_their_run(lines: list[Measurement]) -> None:
    starts = [row for row, line in enumerate(lines) if line.is_whole_run]
    assert starts[0] == 0
    assert len(starts) == 2
    for stages in (lines[1 : starts[1]], lines[starts[1] + 1 :]):
        assert {"read", "assembly", "pairhmm", "write"} < {line.task for line in stages}
        fractions = [line.numbers["fraction"] or 0 for line in stages]
        assert sum(fractions) == pytest.approx(1)
        assert [line.task for line in stages if line.numbers["cells"]] == ["pairhmm"]
    assert {line.bound for line in lines} <= {None, *(line.task for line in lines)}


def test_numbers_of_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "made.fa"
    path.write_text(f">c\n{random_text(6000, 6)}\n")

    def timed_call(run: CallRun) -> tuple[Statistics, float]:
        statistics = run._call()
        counts = {**statistics["counts"], "host_regions": 5}
        return {**statistics, "counts": counts}, statistics["seconds"]["total"] / 4

    monkeypatch.setattr(CallRun, "_timed_call", timed_call)
    whole, *stages = benchmark_call(CpuDevice(1), path)
    assert whole.numbers["host_regions"] == 5
    assert whole.numbers["kernel_fraction"] == pytest.approx(0.25)
    for name in ("host_regions", "kernel_fraction", "haplotypes"):
        assert {line.numbers[name] for line in stages} == {None}


def test_alleles_that_are_not_called_lower_the_recall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "made.fa"
    path.write_text(f">c\n{random_text(6000, 6)}\n")
    monkeypatch.setattr(calling, "called_alleles", lambda *_: {(0, "A", "C")})
    line, *_ = benchmark_call(CpuDevice(1), path)
    assert (line.numbers["recall"], line.numbers["precision"]) == (0, 0)


def test_bases_side_by_side_that_are_called_as_indels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "made.fa"
    path.write_text(f">c\n{random_text(6000, 6)}\n")
    names = {"called_alleles": {(7, "GAC", "G"), (9, "C", "CTG")}}
    names["carried_alleles"] = {(8, "A", "T"), (9, "C", "G"), (3000, "A", "C")}
    for name, alleles in names.items():
        monkeypatch.setattr(calling, name, lambda *_, alleles=alleles: alleles)
    monkeypatch.setattr(
        calling, "missed_and_false", lambda *sets: missed_and_false(*sets[:2], BASES)
    )
    line, *_ = benchmark_call(CpuDevice(1), path)
    assert (line.numbers["recall"], line.numbers["precision"]) == (pytest.approx(2 / 3), 1)
