"""Types of arguments as text, and the functions and kernels that each command calls.

Their list, `signatures.json`, is written by `tests/record_signatures.py`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, reduce
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numba import types as numba_types
from numba.np.numpy_support import as_dtype, from_dtype

types: Any = numba_types
PATH: Final = Path(__file__).with_name("signatures.json")


@dataclass(frozen=True, slots=True)
class Version:
    """A compiled function, by module and qualified name, and the types of its arguments as JSON."""

    module: str
    name: str
    arguments: str

    def compile(self) -> None:
        """Compile the function for these types, unless the cache has it."""
        function: Any = reduce(getattr, self.name.split("."), import_module(self.module))
        function.compile(tuple(type_of(text) for text in json.loads(self.arguments)))


@cache
def _read() -> dict[str, dict[str, list[list[str]]]]:
    content: dict[str, dict[str, list[list[str]]]] = json.loads(PATH.read_text(encoding="utf-8"))
    return content


@cache
def read_groups() -> dict[str, list[Version]]:
    """Return the functions of each group, such as `map cpu`, the largest first."""
    return {
        group: [Version(*version) for version in versions]
        for group, versions in _read()["functions"].items()
    }


@cache
def read_kernels() -> dict[str, list[tuple[str, str]]]:
    """Return the CUDA kernels of each group: source and expression."""
    return {
        group: [(source, expression) for source, expression in kernels]
        for group, kernels in _read()["kernels"].items()
    }


def all_versions() -> list[Version]:
    """Return the functions of all groups, each once."""
    return list(dict.fromkeys(version for group in read_groups().values() for version in group))


def text_of(kind: Any) -> Any:
    """Return a type of Numba as text and lists, for `type_of`.

    Raises
    ------
    TypeError
        No function of hapgpu takes this type.
    """
    if isinstance(kind, types.Array) and kind.aligned != isinstance(kind.dtype, types.Record):
        return ["array", text_of(kind.dtype), kind.ndim, kind.layout, not kind.mutable]
    if isinstance(kind, types.Record):
        dtype = as_dtype(kind)
        return ["record", *([name, dtype[name].str] for name in dtype.names or ())]
    if isinstance(kind, types.BaseTuple):
        return _text_of_tuple(kind)
    if isinstance(kind, types.NumberClass):
        return ["class", text_of(kind.instance_type)]
    if kind == types.boolean:
        return "boolean"  # its name is not the one in `types`
    if getattr(types, kind.name, None) == kind:
        return kind.name
    message = f"{kind!r}: no text for this type"
    raise TypeError(message)


def _text_of_tuple(kind: Any) -> list[Any]:
    fields = map(text_of, kind.types)
    if isinstance(kind, types.BaseNamedTuple):
        owner = kind.instance_class
        return ["named", owner.__module__, owner.__qualname__, *fields]
    return ["tuple", *fields]


def type_of(text: Any) -> Any:
    """Return the type of Numba that `text_of` was given."""
    if isinstance(text, str):
        return getattr(types, text)
    kind, *parts = text
    if kind == "array":
        dtype, ndim, layout, readonly = parts
        item = type_of(dtype)
        is_aligned = not isinstance(item, types.Record)  # of packed fields
        return types.Array(item, ndim, layout, readonly=readonly, aligned=is_aligned)
    if kind == "named":
        module, name, *fields = parts
        owner = reduce(getattr, name.split("."), import_module(module))
        return types.BaseTuple.from_types([type_of(field) for field in fields], owner)
    if kind == "record":
        return from_dtype(np.dtype([(name, form) for name, form in parts]))
    if kind == "tuple":
        return types.BaseTuple.from_types([type_of(field) for field in parts])
    return types.NumberClass(type_of(parts[0]))
