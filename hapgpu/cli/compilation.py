"""Compilation of all functions and kernels, for `hapgpu doctor --compile`."""

from __future__ import annotations

from collections.abc import Collection
from threading import Lock

from hapgpu.cli.terminal.progress import choose_progress
from hapgpu.errors import OutputError
from hapgpu.runtime.cache import cache_directory, probe
from hapgpu.runtime.compiled.ahead import compile_ahead
from hapgpu.runtime.compiled.first_run import mark_compiled
from hapgpu.runtime.compiled.kernels import compiling
from hapgpu.runtime.compiled.signatures import all_versions
from hapgpu.runtime.devices import usable_cpus
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
    _check_cache()
    versions, kernels = all_versions(), _all_kernels() if architectures else []
    progress, lock = choose_progress("hapgpu doctor", quiet=False, unit="functions"), Lock()

    def advance() -> None:
        with lock:
            progress.advance(1)

    progress.start(len(versions) + len(kernels) * len(architectures))
    try:
        with compiling(kernels, architectures, usable_cpus(), advance) as faults:
            compile_ahead(versions, usable_cpus(), advance)
    finally:
        progress.finish()
    for fault in faults:
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
