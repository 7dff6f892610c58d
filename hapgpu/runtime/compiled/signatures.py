"""Types of arguments as text, and the functions and kernels that each command calls.

Their list, `signatures.json`, is written by `tests/record_signatures.py`. It has each type of
arrays and tuples once, in `types`, and each function once, in `versions`; others refer to them by
number.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, reduce
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypedDict

import numpy as np
from numba import types as numba_types
from numba.np.numpy_support import as_dtype, from_dtype

types: Any = numba_types
PATH: Final = Path(__file__).with_name("signatures.json")


@dataclass(frozen=True, slots=True)
class Version:
    """A compiled function, by module and qualified name, and the types of its arguments.

    `arguments` has the text of a number, and the place of another type in the list of types.
    """

    module: str
    name: str
    arguments: tuple[str | int, ...]

    def compile(self) -> None:
        """Compile the function for these types, unless the cache has it."""
        function: Any = reduce(getattr, self.name.split("."), import_module(self.module))
        function.compile(tuple(map(type_of, self.arguments)))


class _Content(TypedDict):
    types: list[list[Any]]
    versions: list[tuple[str, str, list[str | int]]]
    functions: dict[str, list[int]]
    kernels: dict[str, list[tuple[str, str]]]


@cache
def _read() -> _Content:
    content: _Content = json.loads(PATH.read_text(encoding="utf-8"))
    return content


@cache
def read_groups() -> dict[str, list[Version]]:
    """Return the functions of each group, such as `map cpu`, the largest first."""
    content = _read()
    versions = [
        Version(module, name, tuple(arguments)) for module, name, arguments in content["versions"]
    ]
    return {
        group: [versions[number] for number in numbers]
        for group, numbers in content["functions"].items()
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
    if isinstance(kind, types.Array) and kind.aligned == _is_aligned(kind.dtype):
        return ["array", text_of(kind.dtype), kind.ndim, kind.layout, not kind.mutable]
    if isinstance(kind, types.Record):
        dtype = as_dtype(kind)
        form = "aligned record" if kind.aligned else "record"
        return [form, *([name, dtype[name].str] for name in dtype.names or ())]
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


def _is_aligned(item: Any) -> bool:
    """Return whether arrays of a type are aligned: the fields of most records are packed."""
    return not isinstance(item, types.Record) or bool(item.aligned)


def _text_of_tuple(kind: Any) -> list[Any]:
    fields = map(text_of, kind.types)
    if isinstance(kind, types.BaseNamedTuple):
        owner = kind.instance_class
        return ["named", owner.__module__, owner.__qualname__, *fields]
    return ["tuple", *fields]


@cache
def _listed_type(number: int) -> Any:
    return type_of(_read()["types"][number])


def type_of(text: Any) -> Any:
    """Return the type of Numba that `text_of` was given; a number is a place in the list."""
    if isinstance(text, str | int):
        return getattr(types, text) if isinstance(text, str) else _listed_type(text)
    kind, *parts = text
    if kind == "array":
        dtype, ndim, layout, readonly = parts
        item = type_of(dtype)
        return types.Array(item, ndim, layout, readonly=readonly, aligned=_is_aligned(item))
    if kind == "named":
        module, name, *fields = parts
        owner = reduce(getattr, name.split("."), import_module(module))
        return types.BaseTuple.from_types([type_of(field) for field in fields], owner)
    if kind in {"record", "aligned record"}:
        fields = [(name, form) for name, form in parts]
        return from_dtype(np.dtype(fields, align=kind == "aligned record"))
    if kind == "tuple":
        return types.BaseTuple.from_types([type_of(field) for field in parts])
    return types.NumberClass(type_of(parts[0]))
