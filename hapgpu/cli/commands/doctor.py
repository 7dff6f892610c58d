"""`hapgpu doctor`: what hapgpu finds on this machine, and what is missing."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hapgpu.cli.compilation import compile_all
from hapgpu.cli.options.common import Debug, DeviceName
from hapgpu.cli.options.effects import needs
from hapgpu.cli.options.files import CommandFiles
from hapgpu.errors import DeviceError, UsageError
from hapgpu.io.bgzf.deflater import deflate_library
from hapgpu.io.bgzf.inflater import inflate_library
from hapgpu.runtime.cache import cache_directory, probe
from hapgpu.runtime.devices import (
    CudaDevice,
    DeviceReport,
    GpuReport,
    discover,
    resolve_devices,
    usable_cpus,
)
from hapgpu.runtime.gpu.launch import smoke_test

EXAMPLES: Final = "Example: hapgpu doctor --device cuda:0 && hapgpu realign --device cuda:0 ..."

FILES: Final = CommandFiles()

NO_EFFECT: Final = (needs("compile_", "--compile", "arch"),)

_GIB: Final = 1 << 30
_ARCHITECTURE: Final = re.compile(r"sm_\d{2,3}")


@dataclass(frozen=True, slots=True)
class Finding:
    """An item that hapgpu can use, its state, and whether it is usable."""

    item: str
    state: str
    good: bool = True


def doctor(
    *,
    device: DeviceName = "auto",
    compile_: Annotated[
        bool,
        typer.Option(
            "--compile", help="Compile everything now, for images and clusters, into the cache."
        ),
    ] = False,
    arch: Annotated[
        str,
        typer.Option(
            "--arch",
            metavar="sm_80,sm_90",
            help="With --compile: GPUs to compile for, besides those of this machine.",
        ),
    ] = "",
    debug: Debug = False,  # noqa: ARG001  (the command line reads it)
) -> None:
    """Show what hapgpu finds on this machine, and what is missing.

    With --device, the exit status is 3 if that device cannot be used.
    """
    architectures = _architectures(arch)
    report = discover()
    kernel_faults = {gpu.index: smoke_test(gpu.index) for gpu in report.gpus}
    Console(soft_wrap=True).print(_table([*find(report, kernel_faults)]))
    devices, _ = resolve_devices(device)
    for chosen in devices:
        fault = kernel_faults.get(chosen.index) if isinstance(chosen, CudaDevice) else None
        if fault and device != "auto":
            raise DeviceError(f"{chosen.name}: cannot be used ({fault})")
    if compile_:
        own = {"sm_{}{}".format(*gpu.compute_capability) for gpu in report.gpus}
        sys.stderr.write(f"hapgpu doctor: {compile_all(architectures | own)}\n")


def _architectures(text: str) -> set[str]:
    """Return the architectures of `sm_80,sm_90`."""
    names = text.split(",") if text else []
    if wrong := [name for name in names if not _ARCHITECTURE.fullmatch(name)]:
        raise UsageError(f"--arch '{wrong[0]}': not an architecture; give sm_80 or sm_80,sm_90")
    return {*names}


def find(report: DeviceReport, kernel_faults: dict[int, str | None]) -> Iterator[Finding]:
    """Yield the findings; each item needs the items before it.

    Parameters
    ----------
    report
        The result of the search for devices.
    kernel_faults
        For each GPU, the reason why a trivial kernel does not run on it, or None.
    """
    yield Finding("CPU threads", str(usable_cpus()))
    yield Finding("Numba", metadata.version("numba"))
    yield _bgzf_finding()
    yield from _cache_findings()
    yield _present("NVIDIA driver", _cuda_version(report.driver_version))
    yield _present(_cupy_distribution(), report.cupy_version)
    yield _present("NVRTC", report.nvrtc_version)
    for gpu in report.gpus:
        yield _gpu_finding(gpu)
        fault = kernel_faults[gpu.index]
        yield Finding(f"cuda:{gpu.index} kernel", fault or "compiled and run", good=fault is None)
    if report.problem:
        yield Finding("GPU", f"not used: {report.problem}", good=False)


def _present(item: str, version: str | None) -> Finding:
    return Finding(item, version or "not found", good=version is not None)


def _bgzf_finding() -> Finding:
    """Return the libraries that inflate and deflate BGZF; calls per block are slower."""
    inflating, deflating = inflate_library().name, deflate_library().name
    slow = any("per block" in name for name in (inflating, deflating))
    advice = "; run: pip install deflate isal" if slow else ""
    return Finding("BGZF", f"{inflating} inflates, {deflating} deflates{advice}", good=not slow)


def _cuda_version(number: int | None) -> str | None:
    return f"for CUDA {number // 1000}.{number % 1000 // 10}" if number else None


def _cupy_distribution() -> str:
    names = (distribution.name for distribution in metadata.distributions())
    return next((name for name in names if name.startswith("cupy")), "CuPy")


def _cache_findings() -> Iterator[Finding]:
    """Yield whether compiled code can be kept, for Numba's directory only if the user set one."""
    yield _cache_finding("Cache", cache_directory, "HAPGPU_CACHE_DIR")
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        yield _cache_finding("Cache of Numba", lambda: Path(chosen), "NUMBA_CACHE_DIR")


def _cache_finding(item: str, find_directory: Callable[[], Path], variable: str) -> Finding:
    where = ""
    try:
        directory = find_directory()
        where = f"{directory}: "
        probe(directory)
    except OSError as error:
        advice = f"what it lacks is compiled in every run; set {variable} to another directory"
        return Finding(item, f"{where}{error.strerror or error}; {advice}", good=False)
    return Finding(item, str(directory))


def _gpu_finding(gpu: GpuReport) -> Finding:
    major, minor = gpu.compute_capability
    memory = f"{gpu.memory_free / _GIB:.1f} of {gpu.memory_total / _GIB:.1f} GiB free"
    return Finding(
        f"cuda:{gpu.index}", f"{gpu.model}, compute capability {major}.{minor}, {memory}"
    )


def _table(findings: list[Finding]) -> Table:
    table = Table(show_header=False, box=None)
    for finding in findings:
        mark = Text("ok", style="green") if finding.good else Text("--", style="yellow")
        table.add_row(mark, Text(finding.item, style="bold"), Text(finding.state))
    return table
