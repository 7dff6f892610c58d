"""Loading of CUDA kernels, from the cache or the compiler, and launches with checked arguments."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from hapgpu.errors import DeviceError
from hapgpu.runtime import cache
from hapgpu.runtime.gpu.arguments import ArgumentTable, Checked
from hapgpu.runtime.gpu.kernel import Array, Kernel, KernelArgument, Parameter, Scalar
from hapgpu.runtime.gpu_array import imported_cupy
from hapgpu.runtime.machine_code import kernel_directory

if TYPE_CHECKING:
    from cupy.cuda import Function

_REPORT = ("--ptxas-options=-v",)
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
    """Return the directory of the CUDA sources: in the installed package, or beside it.

    Raises
    ------
    DeviceError
        It is in neither place.
    """
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
        options = (*kernel.options, *_REPORT, *_no_cache(nvrtc), f"-arch={architecture}")
        nvrtc.compileProgram(program, options)
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
    return repr((read_source(kernel.source), kernel.expression, kernel.options, architecture))


def _short(label: str) -> str:
    return hashlib.sha256(label.encode()).hexdigest()[:32]


def _file_name(label: str) -> str:
    return f"{label}.kernel"


@dataclass(slots=True)
class _Launches:
    """Makes the context of each launch."""

    context: Callable[[], AbstractContextManager[object]] = nullcontext


_launches: Final = _Launches()
"""Of this process."""


@contextmanager
def around_launches(context: Callable[[], AbstractContextManager[object]]) -> Iterator[None]:
    """Launch each kernel of this process within a context of its own, such as one that times it.

    Parameters
    ----------
    context
        Makes the context of a launch; called in any thread. The GPU and the stream of the launch
        are the current ones.
    """
    before, _launches.context = _launches.context, context
    try:
        yield
    finally:
        _launches.context = before


class LoadedKernel:
    """A kernel loaded on a GPU, which checks its arguments; CuPy accepts any array as a pointer."""

    def __init__(self, kernel: Kernel, function: Function, device: int) -> None:
        self._kernel = kernel
        self._function = function
        self._arguments = ArgumentTable(kernel, device)
        self._blocks: dict[int, int] = {}

    @property
    def parameters(self) -> tuple[Parameter, ...]:
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
        TypeError, ValueError, OverflowError
            An array has another type, device or layout than declared, or is too short; a number is
            out of range.
        """
        checked = self._arguments.check(arguments)
        self._start(blocks, threads, checked.values)

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
            All scalars and lengths by name (`struct.field` in structs), and maybe others. Lengths
            of arrays may only be smaller than the lengths that were checked.

        Raises
        ------
        TypeError, ValueError, OverflowError
            The arguments are of other parameters, a length is larger, or a number is out of range.
        """
        values = self._arguments.with_scalars(checked, scalars)
        self._start(blocks, threads, values)

    def _start(self, blocks: int, threads: int, values: Sequence[Any]) -> None:
        passed = self._arguments.passed(values)
        with _launches.context():
            self._function((blocks,), (threads,), passed)

    def check(self, arguments: Sequence[KernelArgument]) -> Checked:
        """Check arguments; once is enough for several kernels with the same parameters.

        Raises
        ------
        TypeError, ValueError, OverflowError
            As `launch`.
        """
        return self._arguments.check(arguments)


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
