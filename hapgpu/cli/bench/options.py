"""The options that all methods of `hapgpu bench` have."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from json import loads
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

from hapgpu.benchmark.whole_runs import RunCommand
from hapgpu.cli.bench.table import Table
from hapgpu.cli.options.common import Debug, DeviceName, GpuMemory, Threads
from hapgpu.cli.options.groups import one_parameter_per_option
from hapgpu.io.files.output import write_json
from hapgpu.runtime import leftovers
from hapgpu.runtime.devices import Device, resolve_devices

Copies = Annotated[
    int | None, typer.Option("--copies", metavar="N", min=1, help="Repeat the data N times.")
]
BenchJson = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", help="Write the measurements as JSON.", rich_help_panel="Output"
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """The options on devices, messages and results."""

    threads: Threads
    device: DeviceName = "auto"
    gpu_mem: GpuMemory = None
    json: BenchJson = None
    debug: Debug = False

    def devices(self) -> list[Device]:
        """Return the devices to measure, and name them on standard error."""
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

        def run(arguments: Sequence[str]) -> Mapping[str, Any]:
            with leftovers.temporary_directory() as directory:
                path = Path(directory, "statistics.json")
                words = [*arguments, "--json", str(path)]
                if self.gpu_mem is not None:
                    words += ["--gpu-mem", str(self.gpu_mem)]
                with command.make_context(function.__name__, words) as context:
                    command.invoke(context)
                statistics: dict[str, Any] = loads(path.read_text(encoding="utf-8"))
                return statistics

        return run

    def write(self, table: Table) -> None:
        """Write the measurements to the file of `--json`, if it is given."""
        if self.json is not None:
            write_json(self.json, table)
