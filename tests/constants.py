"""Constants of the project by name, for tests that state their values with their sources."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType

Rows = list[tuple[str, object, str]]
"""Name, value and source of each constant."""


def constant(name: str) -> object:
    """Return a constant of a module, or the default of a field of a class, as `calling.batches.X`.

    Leading underscores of the name are left out.
    """
    path, _, last = name.rpartition(".")
    try:
        module = importlib.import_module(f"hapgpu.{path}")
    except ModuleNotFoundError:
        path, _, owner = path.rpartition(".")
        class_ = getattr(importlib.import_module(f"hapgpu.{path}"), owner)
        return inspect.signature(class_).parameters[last].default
    return vars(module)[last if last in vars(module) else f"_{last}"]


def names(rows: Rows) -> list[str]:
    """Return the names of tests of rows."""
    return [name for name, _, _ in rows]


def not_as_named(method: str) -> list[str]:
    """Return the constants of a method, such as `_31`, that are not the number of their name."""
    return [
        f"{module.__name__}.{name}"
        for module in _modules(method)
        for name, value in vars(module).items()
        if re.fullmatch("_[0-9]+", name) and value != int(name[1:])
    ]


def _modules(method: str) -> Iterator[ModuleType]:
    package = importlib.import_module(f"hapgpu.{method}")
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        with suppress(ImportError):  # CuPy is not installed
            yield importlib.import_module(found.name)
