"""Type of arrays in the memory of a GPU."""

from __future__ import annotations

from typing import Any, TypeAlias

GpuArray: TypeAlias = Any
"""`cupy.ndarray`, which has no types that mypy could read; importable without CuPy."""
