"""Mutants: a source file with one number or one comparison changed."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
COMMANDS: Final = {
    "calling": "call",
    "longread": "chain",
    "genotyping": "genotype",
    "shortread": "map",
    "pairhmm": "pairhmm",
    "realign": "realign",
}
"""Each method and its command."""

SWITCHES: Final = "HAPGPU_TEST_MUTANTS"
"""The environment variable with the name of the file of `switches`."""
SWITCHES_BYTES: Final = 1 << 16

CONSTANT: Final = "constant"
COMPARISON: Final = "comparison"

_SWAPPED: Final = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}
_OTHERS: Final = {"Field", "TypeVar", "arange", "compile", "dtype", "empty", "text_of", "zeros"}
"""Calls whose numbers are no constants of a method, but shapes and texts."""

_FACTOR: Final = 1.01


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of one piece of text in a source file.

    Attributes
    ----------
    method, module
        The method, and the dotted name of the module.
    kind
        `CONSTANT` or `COMPARISON`.
    name
        What is changed: a constant or function, with the number of the change in it.
    start, end
        The changed part of the file, in characters.
    before, after
        Its text.
    line
        Its line, from 1.
    """

    method: str
    module: str
    kind: str
    name: str
    start: int
    end: int
    before: str
    after: str
    line: int

    @property
    def key(self) -> str:
        """The same in each run, also if other lines of the file change."""
        return f"{self.module}:{self.name}:{self.before}:{self.after}"

    @property
    def path(self) -> Path:
        """The file, below the root of the project."""
        return Path(*self.module.split(".")).with_suffix(".py")

    @property
    def stage(self) -> str:
        """The directory of the file below `hapgpu/`."""
        return str(Path(*self.module.split(".")[1:-1]))

    def applied(self, source: str) -> str:
        """Return the source of the mutant."""
        return source[: self.start] + self.after + source[self.end :]


def mutants_of(method: str) -> list[Mutant]:
    """Return all mutants of the CPU modules of a method, in the order of its files."""
    paths = sorted((ROOT / "hapgpu" / method).rglob("*.py"))
    return [mutant for path in paths if _is_hot(path) for mutant in _in_file(method, path)]


def _is_hot(path: Path) -> bool:
    """Tell whether a module computes on the CPU."""
    name = str(path.relative_to(ROOT))
    is_of_gpu = "cuda" in name or "/launch/" in name or path.name == "kernels.py"
    return not is_of_gpu and path.name != "reference.py"


def _in_file(method: str, path: Path) -> Iterator[Mutant]:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return mutants_in(method, module, path.read_text(encoding="utf-8"))


def mutants_in(method: str, module: str, source: str) -> Iterator[Mutant]:
    """Yield the mutants of a source: its constants, then its comparisons."""
    text = Text(source)
    tree = ast.parse(source)
    changes = [
        *((CONSTANT, *change) for change in _constants(tree.body, text)),
        *((COMPARISON, *change) for change in _comparisons(tree, text, "")),
    ]
    counts: Counter[tuple[str, str]] = Counter()
    for kind, name, start, end, after in changes:
        counts[kind, name] += 1
        yield Mutant(
            method=method,
            module=module,
            kind=kind,
            name=f"{name}#{counts[kind, name]}",
            start=start,
            end=end,
            before=source[start:end],
            after=after,
            line=source.count("\n", 0, start) + 1,
        )


class Text:
    """Positions of nodes in characters."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._position(node.lineno, node.col_offset),
            self._position(node.end_lineno, node.end_col_offset),
        )

    def _position(self, line: int, column: int) -> int:
        text = self._lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(text)


_Change = tuple[str, int, int, str]


def _constants(body: list[ast.stmt], text: Text) -> Iterator[_Change]:
    """Yield the numbers of a module's constants, and of the defaults of its classes."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            for name, *change in _constants(node.body, text):
                yield f"{node.name}.{name}", *change
        elif isinstance(node, ast.AnnAssign | ast.Assign) and node.value is not None:
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            name = ast.unparse(targets[0])
            if not (isinstance(targets[0], ast.Tuple) and _is_range(node.value)):
                for start, end, after in _numbers(node.value, text):
                    yield name, start, end, after


def _is_range(node: ast.expr) -> bool:
    """Tell whether a value enumerates names: any other length fails at once."""
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "range"


def _numbers(node: ast.expr, text: Text) -> Iterator[tuple[int, int, str]]:
    """Yield each number of an expression with its change; a sum or product is one number."""
    if isinstance(node, ast.Constant) and type(node.value) in {int, float}:
        yield *text.span(node), _changed(node.value)
    elif isinstance(node, ast.BinOp | ast.UnaryOp) and _is_scalar(node):
        start, end = text.span(node)
        values = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
        if values:
            change = f"* {_FACTOR}" if any(isinstance(v, float) for v in values) else "+ 1"
            yield start, end, f"({text.source[start:end]}) {change}"
    elif not (isinstance(node, ast.Call) and _name_of(node.func) in _OTHERS):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from _numbers(child, text)
            elif isinstance(child, ast.keyword):
                yield from _numbers(child.value, text)


def _changed(value: float) -> str:
    if isinstance(value, int):
        return str(value + 1)
    return repr(value * _FACTOR if value else 0.01)


def _is_scalar(node: ast.expr) -> bool:
    allowed = (ast.BinOp, ast.UnaryOp, ast.Name, ast.operator, ast.unaryop, ast.expr_context)
    return all(
        isinstance(part, allowed)
        or (isinstance(part, ast.Constant) and type(part.value) in {int, float})
        for part in ast.walk(node)
    )


def _name_of(function: ast.expr) -> str:
    return ast.unparse(function).rpartition(".")[2]


def _comparisons(node: ast.AST, text: Text, name: str) -> Iterator[_Change]:
    """Yield each comparison by size or equality, with the function that it is in."""
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inner = f"{name}.{child.name}".lstrip(".")
        yield from _comparisons(child, text, inner)
    if isinstance(node, ast.Compare):
        for change in swaps(node, text):
            if change is not None:
                yield name, *change


def swaps(node: ast.Compare, text: Text) -> Iterator[tuple[int, int, str] | None]:
    """Yield start, end and change of each operator; None for others than size and equality."""
    lefts = [node.left, *node.comparators]
    for left, operator, right in zip(lefts, node.ops, node.comparators, strict=False):
        if type(operator) in _SWAPPED:
            before, after = _SWAPPED[type(operator)]
            start = text.source.index(before, text.span(left)[1], text.span(right)[0])
            yield start, start + len(before), after
        else:
            yield None
