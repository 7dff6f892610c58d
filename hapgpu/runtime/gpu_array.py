"""CuPy where it may be missing: the type of its arrays, and its import at the first use."""

from __future__ import annotations

from types import ModuleType
from typing import Any, TypeAlias

GpuArray: TypeAlias = Any
"""`cupy.ndarray`, which has no types that mypy could read; importable without CuPy."""


def imported_cupy() -> ModuleType:
    """Import CuPy, where a GPU is used."""
    import cupy  # noqa: PLC0415  (slow, and not installed everywhere)

    module: ModuleType = cupy
    return module
