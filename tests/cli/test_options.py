"""The values of shared options, through a command that has them all."""

from __future__ import annotations

import os

import pytest
import typer
from typer.testing import CliRunner

from hapgpu.cli import options

received: dict[str, object] = {}
app = typer.Typer()


@app.command()
def show(  # noqa: PLR0913  (Typer asks for one parameter per option)
    *,
    output: options.Output = None,
    output_format: options.OutputFmt = None,
    uncompressed: options.Uncompressed = False,
    no_pg: options.NoPG = False,
    statistics: options.Json = None,
    regions: options.Regions = None,
    targets: options.TargetsFile = None,
    require: options.RequireFlags = 0,
    exclude: options.ExcludeFlags = 0x704,
    threads: options.Threads,
    device: options.DeviceName = "auto",
    gpu_memory: options.GpuMemory = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    received.clear()
    received.update(locals())


def test_defaults() -> None:
    assert CliRunner().invoke(app, []).exit_code == 0
    assert received.pop("threads") == len(os.sched_getaffinity(0))
    assert received.pop("device") == "auto"
    assert received.pop("exclude") == 0x704
    assert not any(received.values())


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (["-@", "3"], "threads", 3),
        (["-t", "3"], "threads", 3),
        (["--threads=3"], "threads", 3),
        (["-r", "chr1:5-9", "--region", "chr2"], "regions", ["chr1:5-9", "chr2"]),
        (["-O", "bam"], "output_format", options.OutputFormat.BAM),
        (["-f", "16"], "require", 16),
        (["-f", "0x10"], "require", 16),
        (["-F", "UNMAP,dup,DUP"], "exclude", 0x404),
        (["-F", "0"], "exclude", 0),
        (["--gpu-mem", "500M"], "gpu_memory", 500 << 20),
        (["--gpu-mem", "2GiB"], "gpu_memory", 2 << 30),
        (["--gpu-mem", "4096"], "gpu_memory", 4096),
        (["-u"], "uncompressed", True),
        (["--no-PG"], "no_pg", True),
    ],
)
def test_value_of_an_option(arguments: list[str], name: str, value: object) -> None:
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert received[name] == value
