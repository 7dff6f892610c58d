"""Functions take few parameters, except where Numba or Typer needs them as parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_PARAMETERS = 8
MAX_POSITIONAL = 6

COMMANDS = ("hapgpu/cli/commands/", "hapgpu/cli/bench/")
"""Typer makes an option of each parameter."""

API = "/api.py"
"""Public functions have an option for each choice of a caller, given by its name."""

ALLOWED: set[str] = {
    "hapgpu/longread/mappings/mappings.py: chained_mappings",
    "hapgpu/longread/mappings/mappings.py: make_mappings",
    "hapgpu/longread/cuda/mappings.py: chained_mappings",
    "hapgpu/longread/cuda/mappings.py: make_mappings",
    "hapgpu/longread/mappings/seed_counts.py: count_seeds",
    "hapgpu/genotyping/reads/cuda/read_buffer.py: __init__",
    "hapgpu/haplotypes/sites/haplotypes.py: haplotypes_of",
    "hapgpu/io/alignments/cuda.py: open_device_reads",
    "hapgpu/io/alignments/reader.py: open_reads",
}
"""Functions whose parameters are one batch each; this list only gets shorter."""


def is_compiled(function: ast.FunctionDef) -> bool:
    """Tell whether Numba compiles a function: it has no parameters that are only named."""
    return any("njit" in ast.unparse(part) for part in function.decorator_list)


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions of the package with their files, methods without `self`."""
    for path in sorted((ROOT / "hapgpu").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and not is_compiled(node):
                yield name, node


def has_many(path: str, function: ast.FunctionDef) -> bool:
    given = function.args
    names = [part.arg for part in (*given.posonlyargs, *given.args)]
    positional = len(names) - (names[:1] in (["self"], ["cls"]))
    is_public = path.endswith(API) and not function.name.startswith("_")
    named = 0 if is_public else len(given.kwonlyargs)
    return positional > MAX_POSITIONAL or positional + named > MAX_PARAMETERS


def test_functions_have_few_parameters() -> None:
    found = {
        f"{path}: {function.name}"
        for path, function in functions()
        if has_many(path, function) and not path.startswith(COMMANDS)
    }
    assert found == ALLOWED
