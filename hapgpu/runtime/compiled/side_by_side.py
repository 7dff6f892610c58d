"""Compilation of functions in processes and of kernels in threads, before a run calls them.

Numba compiles one function at a time in a process. So the first run of a command starts processes
that compile the functions that it is going to call, and finds them in the cache.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import count, product
from typing import Final

from hapgpu.errors import DeviceError
from hapgpu.runtime import leftovers
from hapgpu.runtime.compiled.signatures import Version, all_versions
from hapgpu.runtime.devices import usable_cpus
from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.gpu.launch import cached_cubin
from hapgpu.runtime.progress import Progress

_MAX_PROCESSES: Final = 8  # of some 250 MB
_MIN_FUNCTIONS: Final = 3  # for a process, which imports Numba's compiler first
_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from hapgpu.runtime.compiled.side_by_side import work; work(*map(int, sys.argv[2:]))"
)
_NUMBER_BYTES: Final = 4

_EXPONENT: Final = 1 / 3
"""The large functions come first: half of the functions take four fifths of the time."""


def compile_ahead(
    versions: Sequence[Version], processes: int, note_one: Callable[[], object] = lambda: None
) -> None:
    """Compile functions in processes, which store them in the cache; faults are left to the run.

    Parameters
    ----------
    versions
        Functions of `all_versions`, large ones first.
    processes
        The number of processes to use at most.
    note_one
        Called after each function.
    """
    numbers = {version: number for number, version in enumerate(all_versions())}
    tasks = b"".join(numbers[version].to_bytes(_NUMBER_BYTES) for version in versions)
    take, give = os.pipe()
    read, report = os.pipe()
    with ExitStack() as processes_end, ExitStack() as ends, suppress(OSError):
        ends.callback(os.close, read)
        with os.fdopen(give, "wb") as tasks_file, ExitStack() as own_ends:
            own_ends.callback(os.close, take)
            own_ends.callback(os.close, report)
            enough = -(-len(versions) // _MIN_FUNCTIONS)
            for _ in range(min(processes, _MAX_PROCESSES, enough)):
                processes_end.enter_context(_process(take, report))
            tasks_file.write(tasks)
        while os.read(read, 1):
            note_one()


@contextmanager
def _process(take: int, report: int) -> Iterator[None]:
    """Start a process that compiles; at the end of the context, kill it."""
    with leftovers.steady():
        process = subprocess.Popen(  # noqa: S603  (a list of arguments, no shell)
            [
                sys.executable,
                "-c",
                _START,
                json.dumps(sys.path),
                *map(str, (take, report, os.getpid())),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(take, report),
            process_group=0,  # Ctrl-C is for this process, which then ends the others
        )
        number = leftovers.register(partial(_kill, process))
    try:
        yield
    finally:
        _kill(process)
        leftovers.forget(number)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def work(take: int, report: int, parent: int) -> None:
    """Compile the functions whose numbers come through a pipe, while the parent lives.

    Parameters
    ----------
    take
        The end of the pipe with the numbers, which several processes read.
    report
        The end of a pipe to which a byte is written for each function.
    parent
        The number of the process that waits.
    """
    gc.disable()  # the compiler's objects live as long as the process
    versions = all_versions()
    while (number := os.read(take, _NUMBER_BYTES)) and os.getppid() == parent:
        with suppress(Exception):  # the run compiles the function, and reports the error
            versions[int.from_bytes(number)].compile()
        os.write(report, b".")
    os._exit(0)


def compile_side_by_side(
    versions: Sequence[Version],
    kernels: Sequence[Kernel],
    architectures: Collection[str],
    progress: Progress,
) -> list[DeviceError]:
    """Compile functions and kernels that are not in the cache; return the faults of kernels.

    Parameters
    ----------
    versions
        See `compile_ahead`.
    kernels, architectures
        See `compiling`.
    progress
        Receives the number of functions and kernels.
    """
    total = len(versions) + len(kernels) * len(architectures)
    done = count(1)

    def note_one() -> None:
        progress.advance(1, (next(done) / total) ** _EXPONENT)

    progress.start(total)
    try:
        with compiling(kernels, architectures, usable_cpus(), note_one) as faults:
            compile_ahead(versions, usable_cpus(), note_one)
    finally:
        progress.finish()
    return faults


@contextmanager
def compiling(
    kernels: Iterable[Kernel],
    architectures: Iterable[str],
    threads: int,
    note_one: Callable[[], object] = lambda: None,
) -> Iterator[list[DeviceError]]:
    """Compile kernels that are not in the cache, until the end of the context; yield the faults.

    Parameters
    ----------
    kernels
        Sources and names; the parameters of a kernel are not needed.
    architectures
        Such as `sm_90`.
    threads
        The number of threads.
    note_one
        Called after each kernel.
    """

    def store(job: tuple[Kernel, str]) -> None:
        try:
            cached_cubin(*job)
        except DeviceError as error:
            faults.append(error)
        note_one()

    faults: list[DeviceError] = []
    with ThreadPoolExecutor(threads, "hapgpu-kernels") as pool:
        pool.map(store, product(kernels, architectures))
        yield faults
