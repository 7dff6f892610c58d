"""Declarations of CUDA kernels: source, name, parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from hapgpu.runtime.gpu_array import GpuArray

KernelArgument: TypeAlias = GpuArray | float
"""Argument of a kernel: an array on its GPU, or a number."""


@dataclass(frozen=True, slots=True)
class Array:
    """A pointer parameter: an array of `dtype`, C-contiguous.

    It needs at least `width` elements (4 of float32 for a float4) per item, of which there are
    `length + extra`; `length` names a scalar parameter of the same kernel.
    """

    name: str
    dtype: type[np.generic]
    length: str
    extra: int = 0
    width: int = 1


@dataclass(frozen=True, slots=True)
class Scalar:
    """A parameter passed by value."""

    name: str
    dtype: type[np.generic]


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """One kernel: `expression`, such as `align<20>`, in the file `source` of `cuda/`.

    Compared by identity, because kernels are looked up at each launch: make each of them once.

    Attributes
    ----------
    parameters
        In the order of the source.
    shared_percent
        Percentage of the on-chip memory of a multiprocessor to use as shared memory; None leaves
        it to the driver. Kernels that run at the same time must agree.
    """

    source: str
    expression: str
    parameters: tuple[Array | Scalar, ...]
    shared_percent: int | None = None
