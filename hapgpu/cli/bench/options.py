"""The options that all methods of `hapgpu bench` have."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hapgpu.cli.bench.table import Table
from hapgpu.cli.options.common import Debug, DeviceName, GpuMemory, Threads
from hapgpu.io.files.output import write_json
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

    def write(self, table: Table) -> None:
        """Write the measurements to the file of `--json`, if it is given."""
        if self.json is not None:
            write_json(self.json, table)
