"""Declarations of CUDA kernels: source, name, parameters."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from hapgpu.runtime.gpu_array import GpuArray

KernelArgument: TypeAlias = GpuArray | float | tuple[Any, ...]
"""Argument of a kernel: an array on its GPU, a number, or a tuple of the fields of a struct."""


@dataclass(frozen=True, slots=True)
class Array:
    """A pointer parameter: an array of `dtype`, C-contiguous.

    It needs at least `width` elements (4 of float32 for a float4) per item, of which there are
    `length + extra`. `length` names a number of the same struct, or else of the struct around it,
    or else of the kernel: `count`, or `reads.count` in the struct `reads`.
    """

    name: str
    dtype: type[np.generic]
    length: str
    extra: int = 0
    width: int = 1


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number passed by value."""

    name: str
    dtype: type[np.generic]


@dataclass(frozen=True, slots=True)
class Length:
    """An integer that a launch takes as a length of arrays, and does not pass to the kernel."""

    name: str


Field: TypeAlias = Array | Scalar | Length


@dataclass(frozen=True, slots=True)
class Struct:
    """A C struct passed by value: pointers, numbers and structs, in the order of the source.

    A launch takes a tuple of the fields for it.
    """

    name: str
    fields: tuple[Array | Scalar | Length | Struct, ...]


Parameter: TypeAlias = Field | Struct


def named_fields(parameters: tuple[Parameter, ...], prefix: str = "") -> dict[str, Field]:
    """Return parameters by name, in order, with the fields of a struct (`struct.field`) for it."""
    fields: dict[str, Field] = {}
    for parameter in parameters:
        name = f"{prefix}{parameter.name}"
        if isinstance(parameter, Struct):
            fields |= named_fields(parameter.fields, f"{name}.")
        else:
            fields[name] = parameter
    return fields


def length_name(name: str, array: Array, fields: Collection[str]) -> str:
    """Return the name in `named_fields` of the length of an array, which has `name` there."""
    struct, _, _ = name.rpartition(".")
    while struct and f"{struct}.{array.length}" not in fields:
        struct, _, _ = struct.rpartition(".")
    return f"{struct}.{array.length}" if struct else array.length


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """One kernel: `expression`, such as `align<20>`, in the file `source` of `cuda/`.

    Compared by identity, because kernels are looked up at each launch: make each of them once.

    Attributes
    ----------
    parameters
        In the order of the source, which lacks each `Length`.
    shared_percent
        Percentage of the on-chip memory of a multiprocessor to use as shared memory; None leaves
        it to the driver. Kernels that run at the same time must agree.
    flushes_subnormals
        Whether float32 numbers below 2**-126 are treated as 0.
    """

    source: str
    expression: str
    parameters: tuple[Parameter, ...]
    shared_percent: int | None = None
    flushes_subnormals: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the compiler. Nothing is fused, so that results are as on the CPU."""
        flush = ("-ftz=true",) if self.flushes_subnormals else ()
        return ("-std=c++17", "-fmad=false", *flush)
