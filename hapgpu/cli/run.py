"""The run of a command: its devices, its statistics, and what it shows of itself."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from hapgpu.cli.options.common import ComputeOptions, ReportOptions
from hapgpu.cli.terminal.progress import choose_progress
from hapgpu.cli.terminal.summary import announce, report
from hapgpu.runtime.compiled.first_run import FirstRun
from hapgpu.runtime.devices import Device, resolve_devices
from hapgpu.runtime.jit import COMPILED
from hapgpu.runtime.progress import Progress
from hapgpu.runtime.statistics import RunStatistics


class Run:
    """The run of a command, from its first work to its summary.

    Parameters
    ----------
    command
        The subcommand, such as `realign`.
    devices
        The devices that compute.
    threads
        The number of CPU threads.
    options
        What to show and where to write the statistics.
    description
        The devices in words, for `announce`.

    Attributes
    ----------
    statistics
        Counts and times, from now on.
    """

    def __init__(
        self,
        command: str,
        devices: Sequence[Device],
        threads: int,
        options: ReportOptions,
        description: str = "",
    ) -> None:
        self.devices = list(devices)
        self.threads = threads
        self.statistics = RunStatistics(command, sys.argv, [d.name for d in devices], threads)
        self._command = command
        self._options = options
        self._description = description

    def announce(self) -> None:
        """Name the devices on standard error; before a first run, compile its functions."""
        first = FirstRun(COMPILED, self._command, self.devices, sys.argv)
        if not self._options.quiet:
            announce(self._command, self._description, compiles=bool(first))
        first.compile()

    def progress(self, unit: str = "reads") -> Progress:
        """Return what shows the progress of the run, counted in a unit."""
        return choose_progress(f"hapgpu {self._command}", quiet=self._options.quiet, unit=unit)

    def finish(self, warnings: Mapping[str, str] | None = None) -> None:
        """Log the counts, with warnings for some of them, and write the statistics: see `report`.

        Raises
        ------
        OutputError
            The statistics cannot be written.
        """
        report(self.statistics, self._options.json, warnings)


def start_run(command: str, compute: ComputeOptions, options: ReportOptions) -> Run:
    """Find the devices of a run and name them on standard error: `prepare_run`, then `announce`."""
    run = prepare_run(command, compute, options)
    run.announce()
    return run


def prepare_run(command: str, compute: ComputeOptions, options: ReportOptions) -> Run:
    """Find the devices of a run.

    Raises
    ------
    UsageError
        There is no such kind of device.
    DeviceError
        A GPU that was named cannot be used.
    """
    devices, description = resolve_devices(
        compute.device, threads=compute.threads, gpu_memory=compute.gpu_mem
    )
    return Run(command, devices, compute.threads, options, description)
