"""Loading of CUDA kernels, from the cache or the compiler, and launches with checked arguments."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from hapgpu.errors import DeviceError
from hapgpu.runtime import cache
from hapgpu.runtime.gpu.kernel import Array, Kernel, KernelArgument, Scalar
from hapgpu.runtime.gpu_array import GpuArray, imported_cupy
from hapgpu.runtime.machine_code import kernel_directory

if TYPE_CHECKING:
    from cupy.cuda import Function

OPTIONS = ("-std=c++17", "--ptxas-options=-v")
_INCLUDE = re.compile(r'^#include "([\w./]+)"$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code of a kernel for one architecture, its lowered name, and the compiler's log."""

    cubin: bytes
    lowered_name: str
    log: str

    @property
    def content(self) -> bytes:
        """The content of its file: the lowered name, a zero byte, the machine code."""
        return self.lowered_name.encode() + b"\0" + self.cubin


def source_directory() -> Path:
    """Return the directory of the CUDA sources: in the installed package, or beside it."""
    package = Path(__file__).parents[2]
    for directory in (package / "cuda", package.parent / "cuda"):
        if directory.is_dir():
            return directory
    message = f"{package}: CUDA sources are missing; reinstall hapgpu"
    raise DeviceError(message)


def read_source(name: str) -> str:
    """Return the text of a CUDA source with hapgpu's headers included, each once."""
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
    """Compile a kernel for an architecture such as `sm_90`; needs no GPU and no driver.

    Raises
    ------
    DeviceError
        NVRTC is missing, does not know the architecture, or cannot compile the source.
    """
    try:
        nvrtc = imported_cupy().cuda.nvrtc
        nvrtc.getVersion()
    except Exception as error:
        reason = str(error).strip().split("\n")[0]
        message = f"NVRTC, the CUDA compiler, cannot be loaded: {reason}; run: hapgpu doctor"
        raise DeviceError(message) from error
    program = nvrtc.createProgram(read_source(kernel.source), kernel.source, (), ())
    try:
        nvrtc.addNameExpression(program, kernel.expression)
        nvrtc.compileProgram(program, (*OPTIONS, *_no_cache(nvrtc), f"-arch={architecture}"))
        return Compiled(
            cubin=nvrtc.getCUBIN(program) + b"\0",  # CuPy expects a terminator
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
    """Return the option that disables NVRTC's own cache, which gives no log, if it has one."""
    return ("--no-cache",) if nvrtc.getVersion() >= (12, 9) else ()


@functools.cache
def load_kernel(kernel: Kernel, device: int) -> LoadedKernel:
    """Load a kernel on a GPU, from the cache on disk if it was compiled before."""
    cupy = imported_cupy()
    with cupy.cuda.Device(device) as current:
        cubin, lowered_name = cached_cubin(kernel, f"sm_{current.compute_capability}")
        module = cupy.cuda.function.Module()
        module.load(cubin)
        function = module.get_function(lowered_name)
        if kernel.shared_percent is not None:
            attribute = cupy.cuda.driver.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
            cupy.cuda.driver.funcSetAttribute(function.ptr, attribute, kernel.shared_percent)
        return LoadedKernel(kernel, function, device)


def cached_cubin(kernel: Kernel, architecture: str) -> tuple[bytes, str]:
    """Return a compiled kernel and its lowered name, from the cache or the compiler.

    Raises
    ------
    DeviceError
        The kernel cannot be compiled.
    """
    key = _key(kernel, architecture)
    label = _short(key)
    content = cache.load_installed(kernel_directory(architecture) / _file_name(label), label)
    if content is None:
        label = _short(f"{key}{imported_cupy().cuda.nvrtc.getVersion()}")
        path = cache.cache_path("kernels", _file_name(label))
        cache.mark_used(path)
        content = cache.load(path, label)
    if content is None:
        content = compile_kernel(kernel, architecture).content
        cache.store(path, label, content)
    name, _, cubin = content.partition(b"\0")
    return cubin, name.decode()


def install_kernel(kernel: Kernel, architecture: str, directory: Path) -> None:
    """Compile a kernel for a wheel, into the directory of its architecture.

    Raises
    ------
    DeviceError
        The kernel cannot be compiled.
    """
    label = _short(_key(kernel, architecture))
    cache.store(directory / _file_name(label), label, compile_kernel(kernel, architecture).content)


def _key(kernel: Kernel, architecture: str) -> str:
    """Return all that the machine code of a kernel depends on, except the compiler's version."""
    return repr((read_source(kernel.source), kernel.expression, OPTIONS, architecture))


def _short(label: str) -> str:
    return hashlib.sha256(label.encode()).hexdigest()[:32]


def _file_name(label: str) -> str:
    return f"{label}.kernel"


@dataclass(frozen=True, slots=True)
class Checked:
    """Arguments checked against the parameters of a kernel."""

    parameters: tuple[Array | Scalar, ...]
    values: tuple[KernelArgument, ...]


class LoadedKernel:
    """A kernel loaded on a GPU, which checks its arguments; CuPy accepts any array as a pointer."""

    def __init__(self, kernel: Kernel, function: Function, device: int) -> None:
        self._kernel = kernel
        self._function = function
        self._device = device
        self._blocks: dict[int, int] = {}
        indices = {parameter.name: index for index, parameter in enumerate(kernel.parameters)}
        self._scalars = [
            (index, parameter.dtype)
            for index, parameter in enumerate(kernel.parameters)
            if isinstance(parameter, Scalar)
        ]
        lengths = {array.length for array in kernel.parameters if isinstance(array, Array)}
        self._named_scalars = [
            (index, dtype, name, name in lengths)
            for index, dtype in self._scalars
            if (name := kernel.parameters[index].name)
        ]
        self._arrays = [
            (index, np.dtype(parameter.dtype), indices[parameter.length], parameter)
            for index, parameter in enumerate(kernel.parameters)
            if isinstance(parameter, Array)
        ]

    @property
    def parameters(self) -> tuple[Array | Scalar, ...]:
        """The parameters of the kernel."""
        return self._kernel.parameters

    def blocks_per_multiprocessor(self, threads: int) -> int:
        """Return how many thread blocks of `threads` threads one multiprocessor runs at a time."""
        if threads not in self._blocks:
            function = self._function.ptr
            driver = imported_cupy().cuda.driver
            blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(function, threads, 0)
            self._blocks[threads] = int(blocks)
        return self._blocks[threads]

    def launch(self, blocks: int, threads: int, arguments: Sequence[KernelArgument]) -> None:
        """Launch on the current stream, after checking every argument against its parameter.

        Raises
        ------
        TypeError, ValueError
            An array has another type, device or layout than declared, or is too short.
        """
        self._function((blocks,), (threads,), self.check(arguments).values)

    def launch_checked(
        self, blocks: int, threads: int, checked: Checked, scalars: Mapping[str, float]
    ) -> None:
        """Launch on the current stream with arguments that were checked, and with other scalars.

        Parameters
        ----------
        blocks, threads
            The grid, and the size of a thread block.
        checked
            Arguments, which this kernel or one with the same parameters has checked.
        scalars
            All scalars by name, and maybe others. Lengths of arrays may only be smaller than the
            lengths that were checked.

        Raises
        ------
        TypeError, ValueError
            The arguments are of other parameters, or a length is larger.
        """
        if checked.parameters is not self._kernel.parameters:
            message = f"{self._kernel.expression}: arguments were checked for other parameters"
            raise TypeError(message)
        values = list(checked.values)
        for index, dtype, name, is_length in self._named_scalars:
            scalar = scalars[name]
            if is_length and not 0 <= scalar <= values[index]:
                message = f"{self._kernel.expression}: {name} is {scalar}, not at most"
                raise ValueError(f"{message} {values[index]}")
            values[index] = dtype(scalar)
        self._function((blocks,), (threads,), tuple(values))

    def check(self, arguments: Sequence[KernelArgument]) -> Checked:
        """Check arguments; once is enough for several kernels with the same parameters.

        Raises
        ------
        TypeError, ValueError
            As `launch`.
        """
        values = list(arguments)
        if len(values) != len(self._kernel.parameters):
            message = f"{self._kernel.expression}: takes {len(self._kernel.parameters)} arguments"
            raise ValueError(f"{message}, not {len(values)}")
        for index, dtype in self._scalars:
            values[index] = dtype(values[index])
        for index, array_dtype, length_index, parameter in self._arrays:
            array: GpuArray = values[index]
            needed = (int(values[length_index]) + parameter.extra) * parameter.width
            if (
                array.dtype != array_dtype
                or array.size < needed
                or not array.flags.c_contiguous
                or array.data.device_id != self._device
            ):
                self._refuse(parameter, array, needed)
        return Checked(self._kernel.parameters, tuple(values))

    def _refuse(self, parameter: Array, array: GpuArray, needed: int) -> NoReturn:
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
    """Compile and run a trivial kernel; return None, or the error."""
    try:
        cupy = imported_cupy()
        with cupy.cuda.Device(device):
            values = cupy.arange(1000, dtype=np.int32)
            load_kernel(SMOKE, device).launch(4, 256, (values, values.size))
            right = bool((values == 2 * cupy.arange(1000)).all())
    except Exception as error:  # noqa: BLE001  (any error is the answer)
        return str(error).strip().split("\n")[0]
    return None if right else "a trivial kernel computed the wrong result"
