"""Processes of workers on GPUs: one for each of several GPUs, which starts CUDA for itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.affinity import bind_near
from hapgpu.runtime.devices import CudaDevice, Device, gpus_of, side_by_side
from hapgpu.runtime.gpu_array import imported_cupy
from hapgpu.runtime.processes.blocks import known_blocks, shared_blocks
from hapgpu.runtime.processes.forked import Processes
from hapgpu.runtime.processes.tallies import Tally
from hapgpu.runtime.scout import is_cuda_started

_In = TypeVar("_In")
_Out = TypeVar("_Out")


def gpu_processes(gpus: Sequence[CudaDevice], wanted: int | None) -> int:
    """Return the number of processes for workers on GPUs: one for each of several, or 1.

    It is 1, for threads of the run, where this process has started CUDA, which does not survive a
    fork. As long as workers are opened later, and input goes to shared memory, it does not change.

    Parameters
    ----------
    gpus
        The GPUs, each once or several times.
    wanted
        Number of processes that the user wants: 1 for none but the run; None: no wish.
    """
    count = _distinct(gpus)
    return 1 if count < 2 or wanted == 1 or is_cuda_started() else count


def _distinct(gpus: Sequence[CudaDevice]) -> int:
    return len({gpu.index for gpu in gpus})


def processes_for(
    devices: Sequence[Device],
    wanted: int | None,
    *,
    shared: Sequence[object] = (),
    tallies: Sequence[Tally] = (),
) -> Processes:
    """Return the processes of workers in the order of their devices, equally many for each.

    Each process for a GPU runs on the cores near it.

    Parameters
    ----------
    devices
        All are CPUs, or all GPUs.
    wanted
        On CPUs the number of processes, None for 1; on GPUs see `gpu_processes`.
    shared, tallies
        See `Processes`.
    """
    gpus = gpus_of(devices)
    count = gpu_processes(gpus, wanted) if gpus else wanted or 1
    return Processes(count, shared, tallies, [partial(bind_near, gpu) for gpu in gpus])


def opened_workers(
    gpus: Sequence[CudaDevice],
    open_worker: Callable[[CudaDevice], Callable[[_In], _Out]],
    processes: int,
) -> list[Callable[[_In], _Out]]:
    """Return a worker for each entry of a list of GPUs.

    Parameters
    ----------
    gpus
        The GPUs, each as often as it gets workers.
    open_worker
        Opens a worker on a GPU.
    processes
        Result of `gpu_processes`. If it is above 1, a worker is opened with its first batch, in
        the process that gets it; otherwise now, side by side.
    """
    if processes == 1:
        return side_by_side(open_worker, gpus)
    return [_OpenedLater(open_worker, gpu) for gpu in gpus]


class _OpenedLater(Generic[_In, _Out]):
    """Worker that is opened in the process that uses it, by the first thread that does."""

    def __init__(
        self, open_worker: Callable[[CudaDevice], Callable[[_In], _Out]], gpu: CudaDevice
    ) -> None:
        self._open = open_worker
        self._gpu = gpu
        self._lock = Lock()
        self._worker: Callable[[_In], _Out] | None = None

    def __call__(self, batch: _In) -> _Out:
        with self._lock:
            if self._worker is None:
                self._worker = self._open(self._gpu)
        return self._worker(batch)


def input_memory(processes: int) -> Callable[[int], NDArray[np.uint8]]:
    """Return the function that allocates memory, uint8, for the input of workers on GPUs.

    Parameters
    ----------
    processes
        Result of `gpu_processes`: for 1 the memory is pinned, otherwise it is shared.
    """
    if processes == 1:
        from hapgpu.runtime.gpu.context import pinned_array  # noqa: PLC0415  (imports CuPy)

        return partial(pinned_array, dtype=np.uint8)
    return shared_blocks().allocate


def release_input_memory(processes: int) -> None:
    """Release unused memory of `input_memory`, which was called with the same number."""
    if processes == 1:
        imported_cupy().get_default_pinned_memory_pool().free_all_blocks()
    elif blocks := known_blocks():
        blocks.release()
