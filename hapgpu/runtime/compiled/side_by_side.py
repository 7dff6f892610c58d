"""Compilation of functions in processes and of kernels in threads, at the same time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count, product
from typing import Final

from hapgpu.errors import DeviceError
from hapgpu.runtime.compiled.ahead import compile_ahead
from hapgpu.runtime.compiled.signatures import Version
from hapgpu.runtime.devices import usable_cpus
from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.gpu.launch import cached_cubin
from hapgpu.runtime.progress import Progress

_EXPONENT: Final = 1 / 3
"""The large functions come first: half of the functions take four fifths of the time."""


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
