"""Mutants in memory: the functions and values of imported modules become those of the mutant.

Only for functions that are not compiled. Names of functions and classes stay bound to the same
objects, whose code and defaults change; so nothing is imported or collected again.
"""

from __future__ import annotations

import ast
import functools
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from tests.mutations.mutants import Mutant
from tests.mutations.trees import Imports

_NO_VALUES: Final = frozenset(
    {"__builtins__", "__cached__", "__dict__", "__loader__", "__spec__", "__weakref__"}
)


class CannotPatchError(Exception):
    """A value of the mutant is an object of a class that the mutant defines anew."""


def patch(mutant: Mutant, imports: Imports, root: Path) -> None:
    """Change the imported modules of this process to those of a mutant.

    Raises
    ------
    CannotPatchError
        The modules have to be imported instead.
    """
    for name in imports.in_order(imports.importers(mutant.module)):
        if module := sys.modules.get(name):
            is_mutant = name == mutant.module
            path = root / mutant.path
            code = _mutated(path, mutant) if is_mutant else _code(name)
            namespace = {"__name__": name, "__file__": module.__file__}
            exec(code, namespace)  # noqa: S102  (source of the project)
            _update_names(module, namespace)
    for name, module in list(sys.modules.items()):
        if name.startswith("tests.") and getattr(module, "__file__", None):
            _update_imports(module)


def _mutated(path: Path, mutant: Mutant) -> CodeType:
    return compile(mutant.applied(path.read_text(encoding="utf-8")), str(path), "exec")


@functools.cache
def _code(name: str) -> CodeType:
    spec = sys.modules[name].__spec__
    assert spec is not None
    code: CodeType = spec.loader.get_code(name)  # type: ignore[union-attr]
    return code


def _update_names(module: ModuleType, new: dict[str, Any]) -> None:
    own = vars(module)
    for name, value in new.items():
        if name not in _NO_VALUES and name in own:
            _update(own[name], value, functools.partial(own.__setitem__, name), module.__name__)


def _update(old: Any, new: Any, bind: Callable[[Any], object], module: str) -> None:
    """Give an object the code or attributes of the new one, or bind its name to the new value."""
    if old is new or isinstance(old, ModuleType):
        return
    inner = _function_of(old)
    if inner is not None:
        _update_function(inner, _function_of(new))
        if hasattr(old, "cache_clear"):
            old.cache_clear()
    elif isinstance(old, property) and old.fget:
        _update_function(old.fget, new.fget)
    elif isinstance(old, type):
        if old.__module__ == module:
            _update_class(old, new, module)
    elif _differ(old, new):
        if type(new) is not type(old):
            raise CannotPatchError
        bind(new)


def _function_of(value: Any) -> FunctionType | None:
    while not isinstance(value, FunctionType):
        value = getattr(value, "__wrapped__", None) or getattr(value, "__func__", None)
        if value is None:
            return None
    return value


def _update_function(old: FunctionType, new: Any) -> None:
    if old is not new and len(old.__code__.co_freevars) == len(new.__code__.co_freevars):
        old.__code__ = new.__code__
        old.__defaults__ = new.__defaults__
        old.__kwdefaults__ = new.__kwdefaults__


def _update_class(old: type, new: type, module: str) -> None:
    for name, value in list(vars(new).items()):
        if name in _NO_VALUES or name not in vars(old) or name.startswith("__dataclass"):
            continue
        _update(vars(old)[name], value, functools.partial(setattr, old, name), module)


def _differ(old: Any, new: Any) -> bool:
    try:
        return pickle.dumps(old) != pickle.dumps(new)
    except Exception:  # noqa: BLE001  (locks, loggers and the like have no values)
        return False


def _update_imports(module: ModuleType) -> None:
    """Bind the names that a module of tests imports again."""
    for source, name, own in _imported_names(str(module.__file__)):
        if source in sys.modules and own in vars(module):
            value = vars(sys.modules[source]).get(name)
            if isinstance(value, int | float | tuple) or hasattr(value, "dtype"):
                vars(module)[own] = value


@functools.cache
def _imported_names(path: str) -> tuple[tuple[str, str, str], ...]:
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    return tuple(
        (node.module, alias.name, alias.asname or alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hapgpu")
        for alias in node.names
    )
