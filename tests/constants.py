"""Constants of the project by name, for tests that state their values with their sources."""

from __future__ import annotations

import importlib
import inspect

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
