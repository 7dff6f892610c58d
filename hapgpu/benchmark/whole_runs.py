"""Whole runs of commands on files, and the stage that bounds each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from hapgpu.runtime import leftovers
from hapgpu.runtime.devices import CpuDevice, Device, usable_cpus
from hapgpu.runtime.statistics import TOTAL, busy_fractions

WHOLE_RUN: Final = "whole run"
"""Task of a measurement of a command, from its files to its output."""

Statistics: TypeAlias = Mapping[str, Any]
"""Statistics of a run, as `--json` writes them."""

RunCommand: TypeAlias = Callable[[Sequence[str]], Statistics]
"""Runs a command with these arguments in this process; returns what `--json` writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRun:
    """A command with its files, but without devices and threads.

    Attributes
    ----------
    task, data
        Names of the measurement and of its data.
    unit
        What the rate counts: the name of a count of `--json`.
    command
        The subcommand.
    arguments
        Its arguments, the output included.
    """

    task: str = WHOLE_RUN
    data: str
    unit: str
    command: str
    arguments: tuple[str | Path, ...]


@dataclass(frozen=True, slots=True)
class WholeRun:
    """A run of a command.

    Attributes
    ----------
    seconds
        Wall time, without the start of the program.
    counts
        Numbers by name, as in `--json`.
    bound
        The stage whose threads were busy for the largest fraction of the run.
    busy
        This fraction, 0 to 1. A stage that is always busy bounds the run.
    """

    seconds: float
    counts: Mapping[str, int]
    bound: str
    busy: float

    @classmethod
    def of(cls, statistics: Statistics) -> WholeRun:
        """Find the bound in the statistics of a run."""
        busy = busy_fractions(statistics)
        bound = max(busy, key=lambda stage: busy[stage])
        return cls(statistics["seconds"][TOTAL], statistics["counts"], bound, busy[bound])


@contextmanager
def files_of_run() -> Iterator[Path]:
    """Yield a directory for the files of a run, which is removed afterwards."""
    with leftovers.temporary_directory() as directory:
        yield Path(directory)


def measured_run(run: RunCommand, command: CommandRun, device: Device) -> WholeRun:
    """Run a command on a device twice, and measure the second run; the first may compile.

    Parameters
    ----------
    run
        Runs the subcommand.
    command
        Its arguments.
    device
        The device, with all its threads; on a GPU, the run has all usable CPUs.
    """
    if isinstance(device, CpuDevice):
        name, threads = "cpu", device.threads
    else:
        name, threads = f"cuda:{device.index}", usable_cpus()
    arguments = [*map(str, command.arguments), "--device", name, "-t", str(threads), "-q"]
    run(arguments)
    return WholeRun.of(run(arguments))
