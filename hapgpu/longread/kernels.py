"""Declaration of the CUDA kernels of chaining."""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar

_SHARED_PERCENT: Final = 60
"""A multiprocessor runs kernels of several blocks of reads at a time only if they agree on it."""

X: Final = Array("x", np.uint64, "anchors")
Y: Final = Array("y", np.uint64, "anchors")
"""Columns of `Anchors` and `Chains`."""
OFFSETS: Final = Array("offsets", np.int64, "reads", 1)
LENGTHS: Final = Array("lengths", np.int32, "reads")
READS: Final = Scalar("reads", np.int32)


def sizes(*names: str) -> tuple[Scalar, ...]:
    """Declare numbers of 32 bits."""
    return tuple(Scalar(name, np.int32) for name in names)


def chaining_kernel(source: str, expression: str, parameters: tuple[Array | Scalar, ...]) -> Kernel:
    """Declare a kernel of `cuda/longread`; `source` is its path there."""
    return Kernel(f"longread/{source}", expression, parameters, _SHARED_PERCENT)
