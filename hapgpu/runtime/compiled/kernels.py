"""Compilation of CUDA kernels side by side, in threads: NVRTC needs no lock of Python's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import product

from hapgpu.errors import DeviceError
from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.gpu.launch import cached_cubin


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
