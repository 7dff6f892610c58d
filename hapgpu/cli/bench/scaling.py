"""`--scaling` of `hapgpu bench`: its table, and runs of commands in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Annotated, Final

import typer

from hapgpu.benchmark.scaling import Prepare, ProcessRun, benchmark_scaling, scales_of
from hapgpu.cli.bench.options import BenchOptions
from hapgpu.cli.bench.plot import speed_ups_of
from hapgpu.cli.bench.table import (
    BOUND,
    BOUND_KEYS,
    SECONDS,
    Column,
    MeasurementTable,
    number,
    plain,
)
from hapgpu.cli.options.effects import NoEffect
from hapgpu.errors import HapgpuError
from hapgpu.runtime import leftovers
from hapgpu.runtime.devices import CpuDevice

Scaling = Annotated[
    bool,
    typer.Option(
        "--scaling",
        help="Measure whole runs only, in new processes with 1, 2, 4 ... threads and GPUs.",
    ),
]


def copies_need(parameter: str, option: str) -> NoEffect:
    """Declare that `--copies` needs `--scaling` or another option, whose default is none."""
    return NoEffect(
        ("copies",),
        lambda values: not (values[parameter] or values["scaling"]),
        f"without {option} or --scaling; add one of them",
    )


_TABLE: Final = MeasurementTable(
    (
        *plain("device", "task", "data", "threads", "count", "unit"),
        SECONDS,
        number("CPU seconds", "cpu_seconds", ".4g"),
        number("busy cores", "busy_cores", ".2f"),
        number("speed-up", "speed_up", ".2f"),
        Column("per second", lambda line: f"{line.rate:.4g}"),
        *BOUND,
    ),
    (
        *("device", "task", "data", "threads", "gpus", "unit", "count", "seconds"),
        *("cpu_seconds", "busy_cores", "speed_up", *BOUND_KEYS),
    ),
)
_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "sys.argv[:] = ['hapgpu', *sys.argv[2:]]; from hapgpu.cli.app import main; main()"
)
_END_SECONDS: Final = 10.0


def publish_scaling(options: BenchOptions, method: str, prepare: Prepare) -> None:
    """Print the scaling of commands; write it to the files of `--json` and `--plot`.

    Parameters
    ----------
    options
        Options of the method. `--device auto` stands for the CPU and all GPUs.
    method
        Name of the method.
    prepare
        Writes the files of the commands.
    """
    devices = options.devices()
    if options.device == "auto" and not isinstance(devices[0], CpuDevice):
        devices.insert(0, CpuDevice(options.threads))
    measurements = benchmark_scaling(prepare, scales_of(devices, options.threads), start_command)
    options.publish(method, _TABLE, measurements, speed_ups_of)


def start_command(arguments: Sequence[str]) -> ProcessRun:
    """Run a subcommand in a new process, and measure it with its children.

    Parameters
    ----------
    arguments
        The subcommand and its arguments, without `--json`.

    Raises
    ------
    HapgpuError
        The run failed.
    """
    with leftovers.temporary_directory() as directory:
        path, messages = directory / "statistics.json", directory / "messages.txt"
        before, start = _cpu_seconds_of_children(), time.perf_counter()
        with _process([*arguments, "--json", str(path)], messages) as process:
            status = process.wait()
        seconds = time.perf_counter() - start
        if status:
            raise HapgpuError(_failure(arguments[0], status, messages))
        statistics = json.loads(path.read_text(encoding="utf-8"))
        return ProcessRun(seconds, _cpu_seconds_of_children() - before, statistics)


def _cpu_seconds_of_children() -> float:
    """Return the CPU time of all children that have ended, and of the children of these."""
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def _process(arguments: Sequence[str], messages: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start the program with the modules of this process; end it at the end of the context."""
    command = [sys.executable, "-c", _START, json.dumps(sys.path), *arguments]
    with messages.open("wb") as stderr, leftovers.steady():
        process = subprocess.Popen(  # noqa: S603  (a list of arguments, no shell)
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            process_group=0,  # Ctrl-C is for this process, which then ends the other
        )
        number = leftovers.register(partial(_end, process))
    try:
        yield process
    finally:
        _end(process)
        leftovers.forget(number)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process, which first removes its temporary files and ends its children."""
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _failure(command: str, status: int, messages: Path) -> str:
    """Return the message on a failed run, with the last line that it wrote."""
    lines = messages.read_text(encoding="utf-8", errors="replace").split("\n")
    said = [line for line in lines if line.strip()] or ["without a message"]
    return f"hapgpu {command}: ended with status {status}; {said[-1]}"
