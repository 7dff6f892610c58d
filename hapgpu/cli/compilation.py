"""Compilation of all functions and kernels, for `hapgpu doctor --compile`."""

from __future__ import annotations

import time
from collections.abc import Collection

from hapgpu.cli.terminal.process import collect_from_now_on
from hapgpu.cli.terminal.progress import choose_progress
from hapgpu.errors import OutputError
from hapgpu.runtime.cache import cache_directory, probe
from hapgpu.runtime.compiled.first_run import mark_compiled
from hapgpu.runtime.compiled.side_by_side import compile_side_by_side
from hapgpu.runtime.compiled.signatures import all_versions
from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.jit import COMPILED


def compile_all(architectures: Collection[str]) -> str:
    """Compile all functions, and all kernels for some architectures; return their numbers in words.

    Raises
    ------
    OutputError
        The cache cannot be written.
    DeviceError
        A kernel cannot be compiled.
    """
    collect_from_now_on()
    _check_cache()
    versions, kernels = all_versions(), _all_kernels() if architectures else []
    progress = choose_progress(
        "hapgpu doctor",
        quiet=False,
        unit="functions",
        since=time.monotonic(),
        shows_output=False,  # the findings are complete
    )
    for fault in compile_side_by_side(versions, kernels, architectures, progress):
        raise fault
    mark_compiled(COMPILED, {"cpu", "cuda"} if architectures else {"cpu"})
    done = f"{len(versions)} functions compiled"
    if not architectures:
        return f"{done}; no kernels: no GPU, and no --arch"
    return f"{done}, {len(kernels)} kernels for {', '.join(sorted(architectures))}"


def _check_cache() -> None:
    where = ""
    try:
        directory = COMPILED or cache_directory()
        where = f"{directory}: "
        probe(directory)
    except OSError as error:
        remedy = "set HAPGPU_CACHE_DIR to another directory"
        message = f"{where}cannot store compiled code ({error.strerror or error}); {remedy}"
        raise OutputError(message) from error


def _all_kernels() -> list[Kernel]:
    from hapgpu.cli.kernels import all_kernels  # noqa: PLC0415  (imports CuPy)

    return all_kernels()
