"""CUDA kernels: from a `.cu` file to a checked launch.

hapgpu calls NVRTC itself: that works without a driver (so every kernel is compiled in tests
for every architecture), keeps denormal numbers, and lets the cache know about headers.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from hapgpu.errors import DeviceError
from hapgpu.runtime import cache

OPTIONS = ("-std=c++17", "--ptxas-options=-v")

_INCLUDE = re.compile(r'^#include "([\w./]+)"$', re.MULTILINE)
_USAGE = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
    r".*?Used (\d+) registers",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Array:
    """A pointer parameter: an array of `dtype`, C-contiguous.

    It needs at least `width` elements (4 of float32 for a float4) for each of `length + extra`
    items; `length` names a scalar parameter of the same kernel.
    """

    name: str
    dtype: type[np.generic]
    length: str
    extra: int = 0
    width: int = 1


@dataclass(frozen=True, slots=True)
class Scalar:
    """A parameter passed by value."""

    name: str
    dtype: type[np.generic]


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """One kernel: `expression`, say `align<20>`, out of the file `source` in `cuda/`.

    Compared by identity, for kernels are looked up at each launch: make each of them once.

    Attributes
    ----------
    parameters
        In the order of the source.
    shared_percent
        How much of a multiprocessor's on-chip memory it should have as shared memory; None leaves
        that to the driver. Kernels that are to run side by side have to agree.
    """

    source: str
    expression: str
    parameters: tuple[Array | Scalar, ...]
    shared_percent: int | None = None


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code of a kernel for one architecture, its name in it, and the compiler's log."""

    cubin: bytes
    lowered_name: str
    log: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What a thread of a kernel uses: registers, and bytes of memory standing in for them."""

    registers: int
    stack_bytes: int
    spill_bytes: int


def source_directory() -> Path:
    """Return the folder of the CUDA sources: in the installed package, or beside it."""
    package = Path(__file__).parents[2]
    for folder in (package / "cuda", package.parent / "cuda"):
        if folder.is_dir():
            return folder
    message = f"the CUDA sources are missing from {package}: reinstall hapgpu"
    raise DeviceError(message)


def read_source(name: str) -> str:
    """Text of a CUDA source with its own headers spliced in, each once."""
    seen: set[str] = set()

    def splice(file: str) -> str:
        text = (source_directory() / file).read_text(encoding="utf-8")
        return _INCLUDE.sub(include, text)

    def include(match: re.Match[str]) -> str:
        if match[1] in seen:
            return ""
        seen.add(match[1])
        return splice(match[1])

    return splice(name)


def compile_kernel(kernel: Kernel, architecture: str) -> Compiled:
    """Compile for an architecture such as `sm_90`; needs no GPU and no driver.

    Raises
    ------
    DeviceError
        If NVRTC is missing, or does not know the architecture or the source.
    """
    try:
        from cupy.cuda import nvrtc  # noqa: PLC0415  (slow, and not installed everywhere)

        nvrtc.getVersion()
    except Exception as error:
        reason = str(error).strip().split("\n")[0]
        message = f"the CUDA compiler NVRTC cannot be loaded: {reason} (see: hapgpu doctor)"
        raise DeviceError(message) from error
    program = nvrtc.createProgram(read_source(kernel.source), kernel.source, (), ())
    try:
        nvrtc.addNameExpression(program, kernel.expression)
        nvrtc.compileProgram(program, (*OPTIONS, *_no_cache(nvrtc), f"-arch={architecture}"))
        return Compiled(
            cubin=nvrtc.getCUBIN(program) + b"\0",  # CuPy takes the last byte for a terminator
            lowered_name=nvrtc.getLoweredName(program, kernel.expression),
            log=nvrtc.getProgramLog(program),
        )
    except nvrtc.NVRTCError as error:
        log = nvrtc.getProgramLog(program)
        message = f"{kernel.source}: {kernel.expression} for {architecture}: {error}\n{log}"
        raise DeviceError(message.strip()) from error
    finally:
        nvrtc.destroyProgram(program)


def _no_cache(nvrtc: ModuleType) -> tuple[str, ...]:
    """Switch off NVRTC's own cache, which gives no log, where it has one."""
    return ("--no-cache",) if nvrtc.getVersion() >= (12, 9) else ()


def usage(compiled: Compiled) -> Usage:
    """Read the registers and the spilled bytes of a kernel from the compiler's log."""
    own = compiled.log.find(f"'{compiled.lowered_name}'")
    match = _USAGE.search(compiled.log, max(own, 0))
    if match is None:
        message = f"the compiler did not report the use of registers:\n{compiled.log}"
        raise DeviceError(message)
    stack, stores, loads, registers = map(int, match.groups())
    return Usage(registers, stack, stores + loads)


@functools.cache
def load_kernel(kernel: Kernel, device: int) -> LoadedKernel:
    """Get a kernel ready on a device, from the cache on disk where it was compiled before."""
    import cupy  # noqa: PLC0415  (slow, and not installed everywhere)

    with cupy.cuda.Device(device) as current:
        cubin, lowered_name = _cached_cubin(kernel, f"sm_{current.compute_capability}")
        module = cupy.cuda.function.Module()
        module.load(cubin)
        function = module.get_function(lowered_name)
        if kernel.shared_percent is not None:
            attribute = cupy.cuda.driver.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
            cupy.cuda.driver.funcSetAttribute(function.ptr, attribute, kernel.shared_percent)
        return LoadedKernel(kernel, function, device)


def _cached_cubin(kernel: Kernel, architecture: str) -> tuple[bytes, str]:
    """Return a compiled kernel and its name in it, compiling where it is not in the cache."""
    from cupy.cuda import nvrtc  # noqa: PLC0415  (as above)

    key = repr((read_source(kernel.source), kernel.expression, OPTIONS, architecture))
    label = hashlib.sha256(f"{key}{nvrtc.getVersion()}".encode()).hexdigest()[:32]
    path = cache.cache_path("kernels", f"{label}.kernel")
    cache.mark_used(path)
    if kept := cache.take(path, label):
        name, _, cubin = kept.partition(b"\0")
        return cubin, name.decode()
    compiled = compile_kernel(kernel, architecture)
    cache.keep(path, label, compiled.lowered_name.encode() + b"\0" + compiled.cubin)
    return compiled.cubin, compiled.lowered_name


@dataclass(frozen=True, slots=True)
class Checked:
    """Arguments that were checked against the parameters of a kernel."""

    parameters: tuple[Array | Scalar, ...]
    values: tuple[Any, ...]


class LoadedKernel:
    """A kernel on a device. CuPy would take any array for any pointer; this does not."""

    def __init__(self, kernel: Kernel, function: Any, device: int) -> None:
        self._kernel = kernel
        self._function = function
        self._device = device
        places = {parameter.name: place for place, parameter in enumerate(kernel.parameters)}
        self._scalars = [
            (place, parameter.dtype)
            for place, parameter in enumerate(kernel.parameters)
            if isinstance(parameter, Scalar)
        ]
        lengths = {array.length for array in kernel.parameters if isinstance(array, Array)}
        self._free_scalars = {
            kernel.parameters[place].name: (place, dtype)
            for place, dtype in self._scalars
            if kernel.parameters[place].name not in lengths
        }
        self._arrays = [
            (place, np.dtype(parameter.dtype), places[parameter.length], parameter)
            for place, parameter in enumerate(kernel.parameters)
            if isinstance(parameter, Array)
        ]

    def blocks_per_multiprocessor(self, threads: int) -> int:
        """Blocks of `threads` threads that one multiprocessor holds at a time."""
        from cupy.cuda import driver  # noqa: PLC0415  (as above)

        function = self._function.ptr
        return int(driver.occupancyMaxActiveBlocksPerMultiprocessor(function, threads, 0))

    def launch(
        self, blocks: int, threads: int, arguments: Sequence[Any] | Checked, **scalars: float
    ) -> None:
        """Launch on the current stream, after checking every argument against its parameter.

        `scalars` replace, by name, arguments that were checked before and are the length of no
        array.

        Raises
        ------
        TypeError, ValueError
            If an array has another type, device or layout than declared, or is too short.
        """
        checked = arguments if isinstance(arguments, Checked) else self.check(arguments)
        if checked.parameters is not self._kernel.parameters:
            message = f"{self._kernel.expression} has other parameters than were checked"
            raise TypeError(message)
        values = checked.values
        if scalars:
            replaced = list(values)
            for name, scalar in scalars.items():
                place, dtype = self._free_scalars[name]
                replaced[place] = dtype(scalar)
            values = tuple(replaced)
        self._function((blocks,), (threads,), values)

    def check(self, arguments: Sequence[Any]) -> Checked:
        """Check arguments; for several kernels with the same parameters once is enough.

        Raises
        ------
        TypeError, ValueError
            As `launch`.
        """
        values = list(arguments)
        if len(values) != len(self._kernel.parameters):
            message = f"{self._kernel.expression} takes {len(self._kernel.parameters)} arguments"
            raise ValueError(f"{message}, not {len(values)}")
        for place, dtype in self._scalars:
            values[place] = dtype(values[place])
        for place, array_dtype, length_place, parameter in self._arrays:
            array = values[place]
            needed = (int(values[length_place]) + parameter.extra) * parameter.width
            if (
                array.dtype != array_dtype
                or array.size < needed
                or not array.flags.c_contiguous
                or array.data.device_id != self._device
            ):
                self._refuse(parameter, array, needed)
        return Checked(self._kernel.parameters, tuple(values))

    def _refuse(self, parameter: Array, array: Any, needed: int) -> NoReturn:
        where = f"{self._kernel.expression}: {parameter.name}"
        if array.dtype != np.dtype(parameter.dtype):
            message = f"{where} has type {array.dtype}, not {np.dtype(parameter.dtype)}"
            raise TypeError(message)
        if array.size < needed:
            message = f"{where} has {array.size} elements, not {needed}"
            raise ValueError(message)
        message = f"{where} is not contiguous, or not on device {self._device}"
        raise ValueError(message)


SMOKE = Kernel(
    "common/smoke.cu", "double_all", (Array("values", np.int32, "n"), Scalar("n", np.int32))
)


def smoke_test(device: int) -> str | None:
    """Compile and run a trivial kernel; None, or what went wrong."""
    try:
        import cupy  # noqa: PLC0415  (as above)

        with cupy.cuda.Device(device):
            values = cupy.arange(1000, dtype=np.int32)
            load_kernel(SMOKE, device).launch(4, 256, (values, values.size))
            right = bool((values == 2 * cupy.arange(1000)).all())
    except Exception as error:  # noqa: BLE001  (whatever fails is the answer)
        return str(error).strip().split("\n")[0]
    return None if right else "a trivial kernel computed the wrong result"
