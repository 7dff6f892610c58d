"""The run of a command: its devices, its statistics, and what it shows of itself."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from hapgpu.cli.gatk.tool import tool_arguments
from hapgpu.cli.options.common import ComputeOptions, ReportOptions
from hapgpu.cli.options.files import STANDARD
from hapgpu.cli.terminal.process import collect_from_now_on
from hapgpu.cli.terminal.progress import choose_progress
from hapgpu.cli.terminal.summary import announce, is_watched, summarize, warn
from hapgpu.io.files.text_output import write_json
from hapgpu.runtime.compiled.first_run import FirstRun
from hapgpu.runtime.devices import Device, resolve_devices
from hapgpu.runtime.jit import COMPILED, INSTALLED
from hapgpu.runtime.progress import NoProgress, Progress
from hapgpu.runtime.statistics import COMPILE, RunStatistics


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
    output
        The file that is written; None is standard output.
    processes
        The number of processes that the user wants; None: what suits the command.
    variant
        Options that decide on the functions to compile before a first run; None: those of the
        command line.

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
        output: Path | None = None,
        *,
        processes: int | None = None,
        variant: Sequence[str] | None = None,
    ) -> None:
        collect_from_now_on()
        self._since = time.monotonic()
        self.devices = list(devices)
        self.threads = threads
        self.processes = processes
        self.statistics = RunStatistics(command, sys.argv, [d.name for d in devices], threads)
        self._command = command
        self._options = options
        self._description = description
        self._output = str(output or STANDARD)
        self._variant = words_of_command() if variant is None else variant

    def announce(self) -> None:
        """Name the devices on standard error; before a first run, compile its functions."""
        first = FirstRun(
            COMPILED,
            self._command,
            self.devices,
            self._variant,
            has_functions=INSTALLED is not None,
        )
        if not self._options.quiet:
            announce(self._command, self._description, compiled=len(first))
        if first:
            # A log has the line above: nothing of the compilation depends on the data.
            watched = sys.stderr.isatty()
            progress = self.progress("functions", "compiling") if watched else NoProgress()
            self.statistics.timed(COMPILE, first.compile)(progress)

    def progress(self, unit: str = "reads", part: str = "") -> Progress:
        """Return what shows the progress of the run, or of a part of it, counted in a unit."""
        return choose_progress(
            f"hapgpu {self._command}" + (f", {part}" if part else ""),
            quiet=self._options.quiet,
            unit=unit,
            since=self._since,
            shows_output=self._shows_output,
        )

    @contextmanager
    def showing(self, unit: str, part: str = "") -> Iterator[Progress]:
        """Show the progress of work within the context, whose total is unknown."""
        progress = self.progress(unit, part)
        progress.start(None)
        try:
            yield progress
        finally:
            progress.finish()

    @property
    def process_count(self) -> int:
        """Number of processes that the user wants, or one for each thread or GPU."""
        return self.processes or max(self.threads, len(self.devices))

    @property
    def _shows_output(self) -> bool:
        return self._output == STANDARD

    def finish(self, shown: Sequence[str], warnings: Mapping[str, str] | None = None) -> None:
        """Log warnings, write the statistics, and show the closing summary if somebody watches.

        Parameters
        ----------
        shown
            Names of the counts in the summary, the one whose rate is shown first.
        warnings
            By the name of a count: the words after its number in the warning if it is not 0, such
            as `reads without bases excluded`.

        Raises
        ------
        OutputError
            The statistics cannot be written.
        """
        options = self._options
        warn(self.statistics.counts, warnings or {})
        if options.json is not None:
            write_json(options.json, self.statistics.as_dict())
        watched = is_watched(shows_output=self._shows_output)
        if (watched or options.verbose) and not options.quiet:
            summarize(
                self._command,
                self.statistics,
                shown,
                output=self._output,
            )


def words_of_command() -> list[str]:
    """Return the command line with the options of hapgpu, also if its words are GATK's."""
    gatk = tool_arguments(sys.argv[1:])
    if gatk is None:
        return sys.argv
    from hapgpu.cli.gatk.translation import translate  # noqa: PLC0415  (only for this tool)

    return [*translate(gatk).arguments]


def start_run(
    command: str,
    compute: ComputeOptions,
    options: ReportOptions,
    output: Path | None,
    *,
    variant: Sequence[str] | None = None,
) -> Run:
    """Find the devices of a run and name them on standard error: `prepare_run`, then `announce`."""
    run = prepare_run(command, compute, options, output, variant=variant)
    run.announce()
    return run


def prepare_run(
    command: str,
    compute: ComputeOptions,
    options: ReportOptions,
    output: Path | None,
    *,
    variant: Sequence[str] | None = None,
) -> Run:
    """Find the devices of a run, which writes to a file; None is standard output.

    `variant`: see `Run`.

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
    return Run(
        command,
        devices,
        compute.threads,
        options,
        description,
        output,
        processes=compute.processes,
        variant=variant,
    )
