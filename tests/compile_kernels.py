"""Compile every kernel for every architecture, without a GPU, and report registers and spills.

Ends with status 1 if a kernel does not compile, keeps registers in memory, or is in a source
but not among the kernels compiled here.
"""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from hapgpu.cli.kernels import all_kernels
from hapgpu.errors import DeviceError
from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.gpu.launch import Compiled, compile_kernel, source_directory

ARCHITECTURES = ("sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
_GLOBAL = re.compile(r"__global__ void(?:\s+__launch_bounds__\([^)]*\))?\s+(\w+)\(")
_USAGE = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
    r".*?Used (\d+) registers",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Resources per thread of a kernel: registers, and bytes of stack and of register spills."""

    registers: int
    stack_bytes: int
    spill_bytes: int


def usage(compiled: Compiled) -> Usage:
    """Read the registers and the spilled bytes of a kernel from the compiler's log."""
    return _usage_of(compiled.lowered_name, compiled.log)


def _usage_of(lowered_name: str, log: str) -> Usage:
    own = log.find(f"'{lowered_name}'")
    match = _USAGE.search(log, own) if own >= 0 else None
    if match is None:
        what = "the compiler did not report the register usage"
        raise DeviceError(f"{lowered_name}: {what}:\n{log}")
    stack, stores, loads, registers = map(int, match.groups())
    return Usage(registers, stack, stores + loads)


def forgotten(kernels: list[Kernel]) -> list[str]:
    """Return the names of kernels in the sources that are not in a list."""
    known = {(kernel.source, kernel.expression.partition("<")[0]) for kernel in kernels}
    directory = source_directory()
    written = [
        (str(path.relative_to(directory)), name)
        for path in sorted(directory.rglob("*.cu"))
        for name in _GLOBAL.findall(path.read_text(encoding="utf-8"))
    ]
    return [f"{source}: {name}" for source, name in written if (source, name) not in known]


def grouped(kernels: list[Kernel]) -> list[list[Kernel]]:
    """Group kernels that are compiled together: of a source, all that are no templates."""
    groups: dict[tuple[str, str], list[Kernel]] = {}
    for kernel in kernels:
        template = kernel.expression if "<" in kernel.expression else ""
        groups.setdefault((kernel.source, template), []).append(kernel)
    return [*groups.values()]


def compiled_usages(job: tuple[list[Kernel], str]) -> list[Usage]:
    """Compile a group of kernels and read the resource usage of each."""
    (first, *others), architecture = job
    compiled = compile_kernel(first, architecture)
    return [usage(compiled), *(_usage_of(each.expression, compiled.log) for each in others)]


def main() -> int:
    """Print one line per kernel and architecture."""
    kernels = all_kernels()
    jobs = [(group, arch) for group in grouped(kernels) for arch in ARCHITECTURES]
    count = spilling = 0
    with ThreadPoolExecutor() as pool:
        for (group, arch), usages in zip(jobs, pool.map(compiled_usages, jobs), strict=True):
            for kernel, used in zip(group, usages, strict=True):
                spills = used.stack_bytes > 0 or used.spill_bytes > 0
                count, spilling = count + 1, spilling + spills
                print(
                    f"{arch:7} {kernel.expression:28} {used.registers:3} registers, "
                    f"{used.stack_bytes} B stack, {used.spill_bytes} B spilled"
                    f"{'  <-- must not' if spills else ''}"
                )
    print(f"{count} kernels compiled, {spilling} of them spill")
    missing = forgotten(kernels)
    for name in missing:
        print(f"{name} is not compiled here  <-- must be")
    return 1 if spilling or missing else 0


if __name__ == "__main__":
    sys.exit(main())
