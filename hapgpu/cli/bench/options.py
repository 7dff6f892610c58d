"""The options that all methods of `hapgpu bench` have."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from json import loads
from pathlib import Path
from typing import Annotated, Final

import typer
from typer.main import get_command

from hapgpu.benchmark.measurement import Measurement, shown_by
from hapgpu.benchmark.whole_runs import RunCommand, Statistics
from hapgpu.cli.bench.plot import Plot, plot_of, require_plots, write_plot
from hapgpu.cli.bench.table import MeasurementTable
from hapgpu.cli.options.common import Debug, DeviceName, GpuMemory, Threads
from hapgpu.cli.options.files import Written
from hapgpu.cli.parameters import one_parameter_per_option
from hapgpu.cli.terminal.process import collect_from_now_on
from hapgpu.cli.terminal.progress import choose_progress
from hapgpu.runtime import leftovers
from hapgpu.runtime.devices import Device, resolve_devices

Copies = Annotated[
    int | None, typer.Option("--copies", metavar="INT", min=1, help="Repeat the data N times.")
]
SampleReference = Annotated[
    Path,
    typer.Option(
        "--reference",
        metavar="REF.fa",
        help="Reference; the sample is simulated for its longest run without N.",
    ),
]
BenchJson = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", help="Write the measurements as JSON.", rich_help_panel="Output"
    ),
]
BenchPlot = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE.svg",
        help="Draw the rates, and the bound of whole runs, or the speed-ups, as SVG.",
        rich_help_panel="Output",
    ),
]
PLOT: Final = Written("plot", formats=("SVG",))


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """The options on devices, messages and results."""

    threads: Threads
    device: DeviceName = "auto"
    gpu_mem: GpuMemory = None
    json: BenchJson = None
    plot: BenchPlot = None
    debug: Debug = False

    def devices(self) -> list[Device]:
        """Return the devices to measure, and name them on standard error.

        Raises
        ------
        UsageError
            The package that draws the plot is missing.
        """
        collect_from_now_on()
        if self.plot is not None:
            require_plots()
        devices, description = resolve_devices(
            self.device, threads=self.threads, gpu_memory=self.gpu_mem
        )
        sys.stderr.write(f"hapgpu bench: {description}\n")
        return devices

    def runner_of(self, function: Callable[..., None]) -> RunCommand:
        """Return a function that runs a subcommand, given by its function, in this process.

        It takes the arguments after the subcommand, adds `--gpu-mem` if it is given, and returns
        what `--json` writes.
        """
        app = typer.Typer(add_completion=False)
        app.command()(one_parameter_per_option(function))
        command = get_command(app)

        def run(arguments: Sequence[str]) -> Statistics:
            with leftovers.temporary_directory() as directory:
                path = Path(directory, "statistics.json")
                words = [*arguments, "--json", str(path)]
                if self.gpu_mem is not None:
                    words += ["--gpu-mem", str(self.gpu_mem)]
                with command.make_context(function.__name__, words) as context:
                    command.invoke(context)
                statistics: Statistics = loads(path.read_text(encoding="utf-8"))
                return statistics

        return run

    def on_each(self, measure: Callable[[Device], Iterable[Measurement]]) -> Iterable[Measurement]:
        """Return the measurements on all devices, one device after the other."""
        return chain.from_iterable(measure(device) for device in self.devices())

    def publish(
        self,
        method: str,
        table: MeasurementTable,
        measurements: Iterable[Measurement],
        plot: Plot = plot_of,
    ) -> None:
        """Print measurements as they are made; write them to the files of `--json` and `--plot`.

        Parameters
        ----------
        method
            Name of the method.
        table
            What is shown of a measurement.
        measurements
            At least one.
        plot
            Returns what `--plot` draws.
        """
        from hapgpu.io.files.text_output import write_json

        progress = choose_progress(
            f"hapgpu bench {method}",
            quiet=False,
            unit="measurements",
            since=time.monotonic(),
            shows_output=False,  # the bar is erased for each line of the table
        )
        lines = []
        with shown_by(progress):
            for line in table.printed(measurements):
                lines.append(line)
                progress.advance(1)
        if self.json is not None:
            write_json(self.json, [table.as_json(line) for line in lines])
        if self.plot is not None:
            write_plot(self.plot, plot(f"hapgpu bench {method}", lines, table.name))
