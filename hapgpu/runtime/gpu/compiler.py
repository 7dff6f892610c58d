"""Compilation of CUDA kernels with NVRTC.

hapgpu calls NVRTC itself, not through CuPy: this works without a driver (so that tests compile
every kernel for every architecture), keeps denormal numbers, and the cache key includes headers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from hapgpu.errors import DeviceError
from hapgpu.runtime.gpu.kernel import Kernel

OPTIONS = ("-std=c++17", "--ptxas-options=-v")
_INCLUDE = re.compile(r'^#include "([\w./]+)"$', re.MULTILINE)
_USAGE = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
    r".*?Used (\d+) registers",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code of a kernel for one architecture, its lowered name, and the compiler's log."""

    cubin: bytes
    lowered_name: str
    log: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Resources per thread of a kernel: registers, and bytes of stack and of register spills."""

    registers: int
    stack_bytes: int
    spill_bytes: int


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
        from cupy.cuda import nvrtc  # noqa: PLC0415  (slow, and not installed everywhere)

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


def usage(compiled: Compiled) -> Usage:
    """Read the registers and the spilled bytes of a kernel from the compiler's log."""
    own = compiled.log.find(f"'{compiled.lowered_name}'")
    match = _USAGE.search(compiled.log, max(own, 0))
    if match is None:
        what = "the compiler did not report the register usage"
        message = f"{compiled.lowered_name}: {what}:\n{compiled.log}"
        raise DeviceError(message)
    stack, stores, loads, registers = map(int, match.groups())
    return Usage(registers, stack, stores + loads)
