"""Constants as switches: each load of a number in a function may give that of a mutant.

Only numbers of a module, by their names. Numbers in tuples, tables and defaults of classes, and
numbers that only other constants load, change in other ways.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tests.mutations.mutants import Mutant

FUNCTION: Final = "_switch_constant"
ATTEMPT: Final = "_switch_attempt"

Places = Mapping[str, Sequence[int]]
"""The numbers of the mutants of each name of a module."""


def value_of(number: int) -> str:
    """Return the name of the changed value of a mutant."""
    return f"_switch_value_{number}"


def assignments(source: str, mutants: Mapping[int, Mutant]) -> Iterator[tuple[str, int, str, int]]:
    """Yield name, mutant, changed expression and line of each constant that is one value.

    Parameters
    ----------
    source
        The source of a module.
    mutants
        Its mutants of constants, by their numbers.
    """
    for node in ast.parse(source).body:
        if not isinstance(node, ast.AnnAssign | ast.Assign) or node.value is None:
            continue
        own = [n for n, m in mutants.items() if node.lineno <= m.line <= (node.end_lineno or 0)]
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        for number in own:
            changed = ast.parse(mutants[number].applied(source)).body
            other = next(n for n in changed if n.lineno == node.lineno)
            assert isinstance(other, ast.AnnAssign | ast.Assign)
            if isinstance(target, ast.Name):
                yield target.id, number, _text(other.value), node.end_lineno or 0
            elif isinstance(target, ast.Tuple) and isinstance(other.value, ast.Tuple):
                assert isinstance(node.value, ast.Tuple)
                for name, before, after in zip(
                    target.elts, node.value.elts, other.value.elts, strict=True
                ):
                    if ast.dump(before) != ast.dump(after):
                        yield ast.unparse(name), number, ast.unparse(after), node.end_lineno or 0


def _text(value: ast.expr | None) -> str:
    assert value is not None
    return ast.unparse(value)


def imported(tree: ast.Module, exported: Mapping[str, Places]) -> dict[str, tuple[int, ...]]:
    """Return the mutants of the names that a module imports, by its own names for them."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module in exported:
            for alias in node.names:
                if numbers := exported[node.module].get(alias.name):
                    found[alias.asname or alias.name] = tuple(numbers)
    return found


def all_names(
    sources: Mapping[str, str], own: Mapping[str, Places]
) -> dict[str, dict[str, tuple[int, ...]]]:
    """Return the mutants of each name of each module, its own and those that it imports."""
    found = {
        module: {name: tuple(numbers) for name, numbers in own.get(module, {}).items()}
        for module in sources
    }
    trees = {module: ast.parse(source) for module, source in sources.items()}
    count = -1
    while (now := sum(map(len, found.values()))) != count:
        count = now
        for module, tree in trees.items():
            found[module] |= imported(tree, found)
    return found


class Loads(ast.NodeTransformer):
    """Turn the loads of constants in functions into calls, and define the changed values.

    Parameters
    ----------
    places
        The mutants of each name of the module.
    values
        Of each constant of the module: name, mutant, changed expression and last line.
    """

    def __init__(
        self,
        places: Places,
        values: Sequence[tuple[str, int, str, int]] = (),
    ) -> None:
        self._places = places
        self._values = values
        self._depth = 0

    def visit_Module(self, node: ast.Module) -> ast.Module:
        body = []
        for statement in node.body:
            body.append(self.visit(statement))
            for name, number, text, line in self._values:
                if statement.end_lineno == line and isinstance(
                    statement, ast.AnnAssign | ast.Assign
                ):
                    code = f"{value_of(number)} = {ATTEMPT}(lambda: {text}, {name})"
                    body.extend(ast.parse(code).body)
        node.body = body
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        if not self._depth:
            for alias in list(node.names):
                numbers = self._places.get(alias.asname or alias.name, ())
                node.names += [ast.alias(value_of(number)) for number in numbers]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self._depth += 1
        node.body = [self.visit(statement) for statement in node.body]
        self._depth -= 1
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        if self._depth and node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not (self._depth and isinstance(node.ctx, ast.Load) and node.id in self._places):
            return node
        value: ast.expr = node
        for number in self._places[node.id]:
            changed = ast.Name(value_of(number), ast.Load())
            value = ast.Call(
                ast.Name(FUNCTION, ast.Load()), [ast.Constant(number), value, changed], []
            )
        return value
