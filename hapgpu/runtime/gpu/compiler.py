"""CUDA kernels compiled by NVRTC.

hapgpu calls NVRTC itself: that works without a driver (so tests compile every kernel for every
architecture), keeps denormal numbers, and lets the cache know about headers.
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
