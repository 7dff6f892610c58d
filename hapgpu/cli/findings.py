"""What hapgpu finds on a machine, for `hapgpu doctor`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hapgpu.io.bgzf.deflater import deflate_library
from hapgpu.io.bgzf.inflater import inflate_library
from hapgpu.runtime.cache import cache_directory, probe
from hapgpu.runtime.devices import DeviceReport, GpuReport, usable_cpus
from hapgpu.runtime.gpu.launch import smoke_test
from hapgpu.runtime.jit import INSTALLED
from hapgpu.runtime.machine_code import kernel_architectures

_GIB: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Finding:
    """An item that hapgpu can use, its state, and whether it is usable."""

    item: str
    state: str
    good: bool = True


def kernel_faults_of(report: DeviceReport) -> dict[int, str | None]:
    """Return for each GPU the reason why a trivial kernel does not run on it, or None."""
    return {gpu.index: smoke_test(gpu.index) for gpu in report.gpus}


def find(report: DeviceReport, kernel_faults: Mapping[int, str | None]) -> Iterator[Finding]:
    """Yield the findings; each item needs the items before it.

    Parameters
    ----------
    report
        The result of the search for devices.
    kernel_faults
        As `kernel_faults_of` returns them.
    """
    yield Finding("CPU threads", str(usable_cpus()))
    yield Finding("Numba", metadata.version("numba"))
    yield Finding("Compiled functions", _compiled_functions())
    yield Finding("Compiled kernels", _compiled_kernels())
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


def _compiled_functions() -> str:
    if INSTALLED is None:
        return "in the cache, from first runs"
    return f"in the package, for {INSTALLED.level.name}"


def _compiled_kernels() -> str:
    if not (architectures := kernel_architectures()):
        return "in the cache, from first runs on a GPU"
    return f"in the package, for {', '.join(architectures)}"


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


def print_findings(findings: Iterable[Finding]) -> None:
    """Print findings as a table."""
    table = Table(show_header=False, box=None)
    for finding in findings:
        mark = Text("ok", style="green") if finding.good else Text("--", style="yellow")
        table.add_row(mark, Text(finding.item, style="bold"), Text(finding.state))
    Console(soft_wrap=True).print(table)
