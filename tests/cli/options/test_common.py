"""The values of shared options, in a command with all of them."""

from __future__ import annotations

import os

import pytest
import typer
from typer.testing import CliRunner

from hapgpu.cli.options import common as options_common

received: dict[str, object] = {}
app = typer.Typer()


@app.command()
def show(
    *,
    output: options_common.Output = None,
    output_format: options_common.OutputFmt = None,
    uncompressed: options_common.Uncompressed = False,
    no_pg: options_common.NoPG = False,
    statistics: options_common.Json = None,
    regions: options_common.Regions = None,
    targets: options_common.TargetsFile = None,
    require: options_common.RequireFlags = 0,
    exclude: options_common.ExcludeFlags = 0x704,
    threads: options_common.Threads,
    device: options_common.DeviceName = "auto",
    gpu_memory: options_common.GpuMemory = None,
    quiet: options_common.Quiet = False,
    verbose: options_common.Verbose = False,
    debug: options_common.Debug = False,
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
        (["-O", "bam"], "output_format", options_common.OutputFormat.BAM),
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
