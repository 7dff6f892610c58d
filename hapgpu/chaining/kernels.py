"""Declaration of the CUDA kernels of chaining."""

from __future__ import annotations

from typing import Final

from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar

_SHARED_PERCENT: Final = 60
"""A multiprocessor runs kernels of several blocks of reads at a time only if they agree on it."""


def chaining_kernel(source: str, expression: str, parameters: tuple[Array | Scalar, ...]) -> Kernel:
    """Declare a kernel of `cuda/chaining`; `source` is its path there."""
    return Kernel(f"chaining/{source}", expression, parameters, _SHARED_PERCENT)
