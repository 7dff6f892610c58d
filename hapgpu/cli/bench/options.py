"""The options that all methods of `hapgpu bench` have."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import loads
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

from hapgpu.cli.bench.table import Table
from hapgpu.cli.command_line import build_app
from hapgpu.cli.options.common import Debug, DeviceName, GpuMemory, Threads
from hapgpu.cli.terminal.messages import set_up_messages
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

    def run_command(self, arguments: Sequence[str]) -> Mapping[str, Any]:
        """Run a subcommand in this process; return what `--json` writes.

        Parameters
        ----------
        arguments
            The subcommand and its arguments; `--gpu-mem` is added if it is given.
        """
        with leftovers.temporary_directory() as directory:
            path = Path(directory, "statistics.json")
            words = [*arguments, "--json", str(path)]
            if self.gpu_mem is not None:
                words += ["--gpu-mem", str(self.gpu_mem)]
            try:
                command = get_command(build_app(words))
                with command.make_context("hapgpu", words) as context:
                    command.invoke(context)
            finally:  # of the subcommand, which has set up its own
                set_up_messages("bench", quiet=False, verbose=False, debug=self.debug)
            statistics: dict[str, Any] = loads(path.read_text(encoding="utf-8"))
            return statistics

    def write(self, table: Table) -> None:
        """Write the measurements to the file of `--json`, if it is given."""
        if self.json is not None:
            write_json(self.json, table)
