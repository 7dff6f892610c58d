"""hapgpu with a faulty kernel launch; its own arguments follow two others.

    python -m tests.cli.devices.faulty_gpu address 17 map reference.fa reads.fq --device cuda

The first argument is the fault, the second the number of the launch after which it occurs:
`address` writes to an invalid address, `trap` stops the GPU, `nothing` only counts the launches and
prints their number.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from threading import Lock
from typing import Any

import cupy
import numpy as np

from hapgpu.cli.app import main
from hapgpu.runtime.gpu.launch import LoadedKernel

FAULTS = {
    "address": 'extern "C" __global__ void fault(int* address) { *address = 1; }',
    "trap": 'extern "C" __global__ void fault(int* address) { __trap(); }',
}
NOWHERE = np.uint64(16)

_lock = Lock()
_launches = 0


def _break(kind: str, number: int) -> None:
    for name in ("launch", "launch_checked"):
        setattr(LoadedKernel, name, _failing(getattr(LoadedKernel, name), kind, number))


def _failing(launch: Callable[..., None], kind: str, number: int) -> Callable[..., None]:
    def launch_and_fail(*arguments: Any) -> None:
        global _launches  # noqa: PLW0603  (of all threads)
        launch(*arguments)
        with _lock:
            _launches += 1
            is_faulty = _launches == number and kind in FAULTS
        if is_faulty:
            cupy.RawKernel(FAULTS[kind], "fault")((1,), (1,), (NOWHERE,))

    return launch_and_fail


if __name__ == "__main__":
    fault, at, *sys.argv[1:] = sys.argv[1:]
    _break(fault, int(at))
    leave, run = os._exit, os.getpid()

    def leave_with_count(status: int) -> None:
        """Print the number of launches of a run without a fault, which runs no exit handlers."""
        if not status and os.getpid() == run:
            sys.stderr.write(f"launches: {_launches}\n")
            sys.stderr.flush()
        leave(status)

    os._exit = leave_with_count  # type: ignore[assignment]
    main()
