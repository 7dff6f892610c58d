"""Compiled functions hold the arrays whose `Memory` they use.

Numba frees an array after its last use by name, and a `Memory` is none: a function that made the
array would read and write what is freed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def is_compiled(function: ast.FunctionDef) -> bool:
    return any("njit" in ast.unparse(decorator) for decorator in function.decorator_list)


def given_away(function: ast.FunctionDef) -> Iterator[str]:
    """Yield local arrays that are named for the last time where their memory is taken."""
    local = {
        name.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    uses: dict[str, list[tuple[int, int]]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            uses.setdefault(node.id, []).append((node.lineno, node.col_offset))
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("memory_of"):
            names = [argument for argument in node.args if isinstance(argument, ast.Name)]
            for name in names:
                is_last = max(uses[name.id]) <= (name.lineno, name.col_offset)
                if name.id in local and is_last:
                    yield name.id


def findings(text: str) -> list[str]:
    return [
        f"{function.name}: {name}"
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef) and is_compiled(function)
        for name in given_away(function)
    ]


def test_memory_of_own_arrays_is_held() -> None:
    found = {
        str(path.relative_to(ROOT)): names
        for path in (ROOT / "hapgpu").rglob("*.py")
        if (names := findings(path.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize("last", ["", "    array[0] = 1\n"])
def test_it_is_found(last: str) -> None:
    text = f"""
@njit
def fill(size):
    array = np.empty(size)
    memory = memory_of(array)
    for k in range(size):
        write_8(memory, k, 0)
{last}"""
    assert findings(text) == ([] if last else ["fill: array"])
