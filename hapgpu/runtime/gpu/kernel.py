"""CUDA kernels declared: source, name, parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Array:
    """A pointer parameter: an array of `dtype`, C-contiguous.

    It needs at least `width` elements (4 of float32 for a float4) for each of `length + extra`
    items; `length` names a scalar parameter of the same kernel.
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
    """One kernel: `expression`, say `align<20>`, out of the file `source` in `cuda/`.

    Compared by identity, for kernels are looked up at each launch: make each of them once.

    Attributes
    ----------
    parameters
        In the order of the source.
    shared_percent
        How much of a multiprocessor's on-chip memory it should have as shared memory; None leaves
        that to the driver. Kernels that are to run side by side have to agree.
    """

    source: str
    expression: str
    parameters: tuple[Array | Scalar, ...]
    shared_percent: int | None = None
