"""Compilation of functions in processes and of kernels in threads, at the same time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import count
from typing import TYPE_CHECKING, Final

from hapgpu.errors import DeviceError
from hapgpu.runtime.compiled.ahead import compile_ahead
from hapgpu.runtime.compiled.kernels import compiling
from hapgpu.runtime.compiled.signatures import Version
from hapgpu.runtime.devices import usable_cpus
from hapgpu.runtime.progress import Progress

if TYPE_CHECKING:
    from hapgpu.runtime.gpu.kernel import Kernel

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
