"""Scaling of whole runs: commands in new processes, with 1, 2, 4 ... threads and GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from hapgpu.benchmark.measurement import Measurement, doubling_counts, measuring, plan
from hapgpu.benchmark.whole_runs import CommandRun, Statistics, WholeRun, files_of_run
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device


@dataclass(frozen=True, slots=True)
class ProcessRun:
    """A run of a command in a process of its own.

    Attributes
    ----------
    seconds
        Wall time, the start of the program included.
    cpu_seconds
        CPU time of the process and of its children, user and system.
    statistics
        What `--json` writes.
    """

    seconds: float
    cpu_seconds: float
    statistics: Statistics


StartCommand: TypeAlias = Callable[[Sequence[str]], ProcessRun]
"""Runs a subcommand with its arguments in a new process."""

Prepare: TypeAlias = Callable[[Path], Sequence[CommandRun]]
"""Writes the files of commands to a directory; returns the commands."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Devices of a run: the CPU, or some GPUs; and its CPU threads."""

    devices: tuple[Device, ...]
    threads: int

    @property
    def name(self) -> str:
        """The names of the devices."""
        return ", ".join(device.name for device in self.devices)

    @property
    def gpus(self) -> tuple[CudaDevice, ...]:
        """The GPUs; none for a run on the CPU."""
        return tuple(device for device in self.devices if isinstance(device, CudaDevice))

    def options(self) -> list[str]:
        """Return the options of a command."""
        numbers = ",".join(str(gpu.index) for gpu in self.gpus)
        words = ["--device", f"cuda:{numbers}" if numbers else "cpu", "-t", str(self.threads)]
        limits = {gpu.memory_limit for gpu in self.gpus} - {None}
        return [*words, *(word for limit in limits for word in ("--gpu-mem", str(limit)))]


def scales_of(devices: Sequence[Device], threads: int) -> list[list[Scale]]:
    """Return the scales of the CPU, then of the GPUs: 1, 2, 4 ... and all threads or GPUs.

    Parameters
    ----------
    devices
        Devices to measure.
    threads
        CPU threads of a run on GPUs.
    """
    gpus = [device for device in devices if isinstance(device, CudaDevice)]
    scales = [
        [Scale((CpuDevice(count),), count) for count in doubling_counts(device.threads)]
        for device in devices
        if isinstance(device, CpuDevice)
    ]
    if gpus:
        counts = doubling_counts(len(gpus))
        scales.append([Scale(tuple(gpus[:count]), threads) for count in counts])
    return scales


def benchmark_scaling(
    prepare: Prepare, scales: Sequence[Sequence[Scale]], start: StartCommand
) -> Iterator[Measurement]:
    """Measure commands on the same files at each scale, one run each.

    A run with all threads, and one with all GPUs, come first and are not measured: they compile.

    Parameters
    ----------
    prepare
        Writes the files to a temporary directory.
    scales
        Scales of `scales_of`.
    start
        Runs a command.

    Raises
    ------
    HapgpuError
        The data cannot be made, or a run failed.
    """
    with files_of_run() as directory:
        measuring("preparing the data")
        runs = prepare(directory)
        plan(len(runs) * sum(map(len, scales)))
        for run in runs:
            yield from _measured(run, scales, start)


def _measured(
    run: CommandRun, groups: Sequence[Sequence[Scale]], start: StartCommand
) -> Iterator[Measurement]:
    """Yield the measurement at each scale, with its speed-up against the first one."""
    command = [run.command, *map(str, run.arguments), "-q"]
    first: float | None = None
    for group in groups:
        measuring(f"first run, {group[-1].name}")
        start([*command, *group[-1].options()])
        for scale in group:
            measuring(f"{run.task}, {scale.name}")
            done = start([*command, *scale.options()])
            first = done.seconds if first is None else first
            yield _measurement(run, scale, done, first)


def _measurement(run: CommandRun, scale: Scale, done: ProcessRun, first: float) -> Measurement:
    whole = WholeRun.of(done.statistics)
    return Measurement(
        device=scale.name,
        task=run.task,
        data=run.data,
        unit=run.unit,
        numbers={
            run.unit: whole.counts[run.unit],
            "threads": scale.threads,
            "gpus": len(scale.gpus),
            "cpu_seconds": done.cpu_seconds,
            "busy_cores": done.cpu_seconds / done.seconds,
            "speed_up": first / done.seconds,
        },
        seconds=done.seconds,
        bound=whole.bound,
        busy=whole.busy,
    )
