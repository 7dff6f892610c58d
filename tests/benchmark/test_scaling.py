"""Scaling of whole runs, of commands that are not run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from hapgpu.benchmark.measurement import doubling_counts
from hapgpu.benchmark.scaling import ProcessRun, Scale, benchmark_scaling, scales_of
from hapgpu.benchmark.whole_runs import CommandRun
from hapgpu.runtime.devices import CpuDevice, CudaDevice

GPUS = (CudaDevice(0, "A"), CudaDevice(2, "A", 5000))
OPTIONS = {
    "--device cpu -t 1": 12.0,
    "--device cpu -t 2": 8.0,
    "--device cpu -t 3": 6.0,
    "--device cuda:0 -t 3": 3.0,
    "--device cuda:0,2 -t 3 --gpu-mem 5000": 2.0,
}
"""Seconds of a run."""


class Started:
    """Runs that take the seconds of `OPTIONS`, on two cores.

    Attributes
    ----------
    words
        Command lines, in order.
    """

    def __init__(self) -> None:
        self.words: list[str] = []

    def __call__(self, arguments: Sequence[str]) -> ProcessRun:
        line = " ".join(arguments)
        self.words.append(line)
        seconds = OPTIONS[line.partition(" -q ")[2]]
        statistics = {
            "counts": {"reads": 60, "hits": 7},
            "seconds": {"read": 0.5, "map": 3.0, "total": 2.0},
            "stage_threads": {"read": 1, "map": 2},
        }
        return ProcessRun(seconds, 2 * seconds, statistics)


def prepared(directory: Path) -> list[CommandRun]:
    (directory / "reads.fq").write_text("")
    run = CommandRun(data="made", unit="reads", command="map", arguments=("x.fq", "-o", "x.sam"))
    other = CommandRun(
        task="SAM", data="made", unit="hits", command="chain", arguments=("-a", Path("x.fq"))
    )
    return [run, other]


@pytest.mark.parametrize(
    ("most", "counts"),
    [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (8, [1, 2, 4, 8]), (12, [1, 2, 4, 8, 12])],
)
def test_counts_double_up_to_all(most: int, counts: list[int]) -> None:
    assert doubling_counts(most) == counts


def test_options_of_a_scale() -> None:
    scales = scales_of([CpuDevice(3), *GPUS], 3)
    assert [" ".join(scale.options()) for group in scales for scale in group] == list(OPTIONS)


def test_devices_that_are_measured() -> None:
    assert scales_of([CpuDevice(1)], 1) == [[Scale((CpuDevice(1),), 1)]]
    assert scales_of(GPUS[:1], 4) == [[Scale(GPUS[:1], 4)]]


def test_measurements_of_each_scale() -> None:
    start = Started()
    lines = list(benchmark_scaling(prepared, scales_of([CpuDevice(3), *GPUS], 3), start))
    devices = [
        *("CPU, 1 thread", "CPU, 2 threads", "CPU, 3 threads"),
        *("cuda:0 (A)", "cuda:0 (A), cuda:2 (A)"),
    ]
    assert [line.device for line in lines] == 2 * devices
    numbers = {"threads": 3, "gpus": 2, "cpu_seconds": 4.0, "busy_cores": 2.0, "speed_up": 6.0}
    assert lines[4].numbers == {"reads": 60, **numbers}
    assert (lines[4].rate, lines[4].bound, lines[4].busy) == (30.0, "map", 0.75)
    assert [line.numbers["speed_up"] for line in lines[5:8]] == [1.0, 1.5, 2.0]
    assert {(line.task, line.count) for line in lines} == {("whole run", 60), ("SAM", 7)}


def test_a_first_run_is_not_measured() -> None:
    start = Started()
    list(benchmark_scaling(prepared, scales_of([CpuDevice(2), *GPUS], 3), start))
    cpu = [f"--device cpu -t {count}" for count in (2, 1, 2)]
    both, one = "--device cuda:0,2 -t 3 --gpu-mem 5000", "--device cuda:0 -t 3"
    assert start.words == [
        *(f"map x.fq -o x.sam -q {options}" for options in (*cpu, both, one, both)),
        *(f"chain -a x.fq -q {options}" for options in (*cpu, both, one, both)),
    ]


def test_speed_up_against_one_gpu_without_the_cpu() -> None:
    lines = list(benchmark_scaling(prepared, scales_of(GPUS, 3), Started()))
    assert [line.numbers["speed_up"] for line in lines] == 2 * [1.0, 1.5]


def test_the_files_are_removed() -> None:
    directories: list[Path] = []

    def noted(directory: Path) -> list[CommandRun]:
        directories.append(directory)
        return prepared(directory)

    list(benchmark_scaling(noted, scales_of([CpuDevice(1)], 1), Started()))
    assert not directories[0].exists()
