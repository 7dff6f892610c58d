"""Devices: discovery, the user's choice, and memory limits."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from numbers import Integral
from pathlib import Path
from types import ModuleType
from typing import Final, TypeVar

from hapgpu.errors import DeviceError, UsageError
from hapgpu.runtime.cache import cache_path, is_open_to_others, probe
from hapgpu.runtime.driver import scouted
from hapgpu.runtime.gpu_array import imported_cupy
from hapgpu.runtime.scout import SeenGpu

_In = TypeVar("_In")
_Out = TypeVar("_Out")

MEMORY_FRACTION = 0.8
"""Fraction of the free memory of a GPU that is used unless the user sets a limit."""

_WORKERS_PER_GPU: Final = 2  # one prepares and finishes batches while the other uses the GPU


@dataclass(frozen=True, slots=True)
class CpuDevice:
    """The CPU, with the number of threads to compute with."""

    threads: int = 1

    @property
    def name(self) -> str:
        """The name of the device in messages."""
        return f"CPU, {self.threads} thread{'s' if self.threads != 1 else ''}"

    def divided(self, parts: int) -> list[CpuDevice]:
        """Return its threads in so many equal parts, at most one per thread."""
        parts = min(parts, self.threads)
        ends = [self.threads * part // parts for part in range(parts + 1)]
        return [CpuDevice(end - start) for start, end in pairwise(ends)]


@dataclass(frozen=True, slots=True)
class CudaDevice:
    """One GPU.

    Attributes
    ----------
    index
        Its number.
    model
        Its name.
    memory_limit
        Bytes that may be in use at once; None for a fraction of the free memory.
    found
        Its properties when it was found; None: unknown.
    """

    index: int
    model: str = "GPU"
    memory_limit: int | None = None
    found: GpuReport | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The name of the device in messages."""
        return f"cuda:{self.index} ({self.model})"

    @property
    def architecture(self) -> str:
        """The architecture to compile kernels for, such as `sm_90`."""
        if self.found is not None:
            return "sm_{}{}".format(*self.found.compute_capability)
        cupy = imported_cupy()
        return f"sm_{cupy.cuda.Device(self.index).compute_capability}"

    def memory_budget(self) -> int:
        """Return the number of bytes that may be in use at once on this GPU."""
        if self.memory_limit is not None:
            return self.memory_limit
        cupy = imported_cupy()
        with cupy.cuda.Device(self.index) as device:
            free, _ = device.mem_info
            pooled = cupy.get_default_memory_pool().free_bytes()
        return int((free + pooled) * MEMORY_FRACTION)

    def expected_budget(self) -> int:
        """Return about what `memory_budget` does, if possible without starting CUDA."""
        if self.memory_limit is None and self.found is not None:
            return int(self.found.memory_free * MEMORY_FRACTION)
        return self.memory_budget()


Device = CpuDevice | CudaDevice


@dataclass(frozen=True, slots=True)
class GpuReport:
    """Properties of one GPU; memory in bytes; its address on the PCI bus, as Linux writes it."""

    index: int
    model: str
    compute_capability: tuple[int, int]
    memory_total: int
    memory_free: int
    bus: str | None = None


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """Driver, libraries and GPUs.

    Attributes
    ----------
    driver_version, cupy_version, nvrtc_version
        Versions; None for what is missing.
    gpus
        The GPUs that were looked at.
    problem
        Why GPUs cannot be used, or None.
    gpu_count
        The number of GPUs of the machine.
    """

    driver_version: int | None
    cupy_version: str | None
    nvrtc_version: str | None
    gpus: list[GpuReport] = field(default_factory=list)
    problem: str | None = None
    gpu_count: int = 0


def usable_cpus() -> int:
    """Count the CPUs that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def discover(named: Sequence[int] | None = None) -> DeviceReport:
    """Look for CuPy, its compiler, the driver and GPUs; never raises.

    Parameters
    ----------
    named
        Numbers of the GPUs to look at, or None for all. Other GPUs are left alone: the first use
        of a GPU takes time, and some of its memory.
    """
    set_cupy_cache()
    try:
        cupy = imported_cupy()
    except Exception as error:  # noqa: BLE001  (a broken installation fails in many ways)
        missing = f"CuPy cannot be imported ({error}); run: pip install cupy-cuda12x"
        return DeviceReport(
            driver_version=None, cupy_version=None, nvrtc_version=None, problem=missing
        )
    nvrtc, problem = _nvrtc_version(cupy)
    if seen := scouted():
        return DeviceReport(
            driver_version=seen.driver_version,
            cupy_version=str(cupy.__version__),
            nvrtc_version=nvrtc,
            gpus=[_reported(gpu) for gpu in seen.gpus],
            problem=problem,
            gpu_count=seen.count,
        )
    driver = int(cupy.cuda.runtime.driverGetVersion())
    gpus: list[GpuReport] = []
    count = 0
    if not driver:
        problem = "no NVIDIA driver was found"
    else:
        try:
            count = cupy.cuda.runtime.getDeviceCount()
            indices = [index for index in range(count) if named is None or index in named]
            gpus = side_by_side(partial(_describe_gpu, cupy), indices)
        except cupy.cuda.runtime.CUDARuntimeError as error:
            problem = f"the NVIDIA driver finds no usable GPU ({error})"
    return DeviceReport(
        driver_version=driver or None,
        cupy_version=str(cupy.__version__),
        nvrtc_version=nvrtc,
        gpus=gpus,
        problem=problem,
        gpu_count=count,
    )


def _nvrtc_version(cupy: ModuleType) -> tuple[str | None, str | None]:
    """Return the version of NVRTC; or None and the reason why it cannot be loaded."""
    try:
        major, minor = cupy.cuda.nvrtc.getVersion()
    except Exception as error:  # noqa: BLE001  (the loader of CUDA libraries fails in many ways)
        first_line = str(error).strip().split("\n")[0]
        remedy = "run: pip install nvidia-cuda-nvrtc-cu12"
        return None, f"NVRTC cannot be loaded ({first_line}); {remedy}"
    return f"{major}.{minor}", None


def _reported(gpu: SeenGpu) -> GpuReport:
    return GpuReport(
        index=gpu.index,
        model=gpu.model,
        compute_capability=(gpu.major, gpu.minor),
        memory_total=gpu.memory_total,
        memory_free=gpu.memory_free,
        bus=gpu.bus,
    )


def _describe_gpu(cupy: ModuleType, index: int) -> GpuReport:
    properties = cupy.cuda.runtime.getDeviceProperties(index)
    with cupy.cuda.Device(index) as device:
        free, total = device.mem_info
    return GpuReport(
        index=index,
        model=properties["name"].decode(),
        compute_capability=(properties["major"], properties["minor"]),
        memory_total=total,
        memory_free=free,
    )


def parse_memory(text: str) -> int:
    """Parse `8G`, `500M` or a number of bytes; return bytes.

    Raises
    ------
    UsageError
        The text is not a positive amount of memory.
    """
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    number = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = units.get(number[-1:], 0)
    try:
        size = int(float(number[:-1] if unit else number) * (unit or 1))
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        message = f"'{text}': not an amount of memory; write it as 8G or 500M"
        raise UsageError(message)
    return size


def resolve_devices(
    text: str, *, threads: int | None = None, gpu_memory: int | None = None
) -> tuple[list[Device], str]:
    """Return the devices of `auto`, `cpu`, `cuda` or `cuda:0,2`.

    `auto` means all visible GPUs, or the CPU if there is none. A named device is never replaced by
    another.

    Parameters
    ----------
    text
        The user's choice.
    threads
        CPU threads; None for one per usable CPU.
    gpu_memory
        Bytes that may be in use on each GPU; None for a fraction of the free memory.

    Returns
    -------
    The devices, at least one, and a message with their names and, if GPUs cannot be used, why.

    Raises
    ------
    UsageError
        If `text` names no kind of device.
    DeviceError
        If a named GPU cannot be used.
    """
    cpu = CpuDevice(threads or usable_cpus())
    if text == "cpu":
        return [cpu], f"device: {cpu.name}"
    named = _gpu_indices(text)
    report = discover(named)
    if report.gpu_count and not report.problem:
        last = report.gpu_count - 1
        if missing := [index for index in named or () if index > last]:
            message = f"device 'cuda:{missing[0]}': no such GPU; give cuda:0 to cuda:{last}"
            raise DeviceError(message)
        devices: list[Device] = [
            CudaDevice(gpu.index, gpu.model, gpu_memory, gpu) for gpu in report.gpus
        ]
        return devices, f"device: {', '.join(device.name for device in devices)}"
    problem = report.problem or "no GPU is visible"
    if text == "auto":
        return [cpu], f"device: {cpu.name} ({problem})"
    message = f"device '{text}': {problem}; for details, run: hapgpu doctor"
    raise DeviceError(message)


def first_device(text: str, threads: int | None = None) -> Device:
    """Return the first of the devices that `resolve_devices` returns, for functions with one.

    Parameters
    ----------
    text
        The user's choice.
    threads
        CPU threads; None for one per usable CPU.

    Raises
    ------
    UsageError
        If `text` names no kind of device, or the number of threads is not from 1.
    DeviceError
        If a named GPU cannot be used.
    """
    devices, _ = resolve_devices(text, threads=given_threads(threads))
    return devices[0]


def given_threads(threads: int | None) -> int:
    """Return the number of CPU threads that a caller wants; None: one per usable CPU.

    Raises
    ------
    UsageError
        It is not a whole number from 1.
    """
    if threads is None:
        return usable_cpus()
    if not isinstance(threads, Integral) or threads < 1:
        message = f"threads={threads!r}: out of range; give a whole number from 1, or None"
        raise UsageError(message)
    return int(threads)


def _gpu_indices(text: str) -> list[int] | None:
    """Return the GPU numbers of `cuda:0,2`; None for `cuda` and `auto`, which mean all GPUs."""
    if isinstance(text, str) and text in {"auto", "cuda"}:
        return None
    kind, _, numbers = str(text).partition(":")
    parts = numbers.split(",")
    if kind != "cuda" or not all(part.isdecimal() for part in parts):
        message = f"device '{text}': unknown; give auto, cpu, cuda, cuda:0 or cuda:0,2"
        raise UsageError(message)
    return sorted({int(part) for part in parts})


def gpus_of(devices: Sequence[Device]) -> list[CudaDevice]:
    """Return those of the devices that are GPUs."""
    return [device for device in devices if isinstance(device, CudaDevice)]


def side_by_side(make: Callable[[_In], _Out], items: Sequence[_In]) -> list[_Out]:
    """Return `make(item)` of each item, such as a GPU, in their order: a thread for each."""
    if len(items) < 2:
        return [make(item) for item in items]
    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(make, items))


def worker_devices(gpus: Sequence[CudaDevice]) -> list[CudaDevice]:
    """Return the device of each worker: several workers per GPU."""
    return [gpu for gpu in gpus for _ in range(_WORKERS_PER_GPU)]


def set_cupy_cache() -> None:
    """Give CuPy a usable cache: its own directory, hapgpu's cache, or memory. Call before import.

    CuPy would fail without a home directory, if it is not writable, and on a full disk.
    """
    if "cupy" in sys.modules or _is_usable(_cupy_default()):
        return
    substitute = cache_path("cupy")
    if substitute is not None and _is_usable(substitute) and not is_open_to_others(substitute):
        os.environ["CUPY_CACHE_DIR"] = str(substitute)
        return
    os.environ["CUPY_CACHE_IN_MEMORY"] = "1"
    os.environ["CUPY_CACHE_DIR"] = "/"  # must exist; is not written to


def _cupy_default() -> Path:
    # Not Path.expanduser, which raises without a home directory; CuPy does not raise.
    default = os.path.expanduser("~/.cupy/kernel_cache")  # noqa: PTH111  (see the line above)
    return Path(os.environ.get("CUPY_CACHE_DIR") or default)


def _is_usable(directory: Path) -> bool:
    try:
        if directory.parts[:1] == ("~",):  # not expanded: CuPy would make a directory named "~"
            return False
        probe(directory)
    except OSError:
        return False
    return True
