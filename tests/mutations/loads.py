"""Constants as switches: each load of a number in a function may give that of a mutant.

Only numbers of a module, by their names. Numbers in tuples, tables and defaults of classes, and
numbers that only other constants load, change in other ways.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tests.mutations.mutants import Mutant

FUNCTION: Final = "_switch_constant"
ATTEMPT: Final = "_switch_attempt"

Places = Mapping[str, Sequence[int]]
"""The numbers of the mutants of each name of a module."""


def value_of(number: int) -> str:
    """Return the name of the changed value of a mutant."""
    return f"_switch_value_{number}"


class Change(NamedTuple):
    """The value of a constant in a mutant.

    Attributes
    ----------
    name
        The constant.
    mutant
        The number of the mutant.
    expression
        The changed value, as source.
    line
        The last line of the assignment.
    """

    name: str
    mutant: int
    expression: str
    line: int


def changes_in(source: str, mutants: Mapping[int, Mutant]) -> Iterator[Change]:
    """Yield the changes of constants that are one value each, by a name or in a tuple of names.

    Parameters
    ----------
    source
        The source of a module.
    mutants
        Its mutants of constants, by their numbers.
    """
    for node in ast.parse(source).body:
        if isinstance(node, ast.AnnAssign | ast.Assign) and node.end_lineno:
            for number, mutant in mutants.items():
                if node.lineno <= mutant.line <= node.end_lineno:
                    body = ast.parse(mutant.applied(source)).body
                    changed = next(other for other in body if other.lineno == node.lineno)
                    for name, expression in _differing(node, changed):
                        yield Change(name, number, expression, node.end_lineno)


def _differing(before: ast.stmt, after: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield the names of an assignment whose value differs, and their new values."""
    values = dict(_values(after))
    for name, value in _values(before):
        if values[name] != value:
            yield name, values[name]


def _values(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield each name of an assignment with its value, as source."""
    assert isinstance(node, ast.AnnAssign | ast.Assign)
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    if isinstance(target, ast.Name) and node.value is not None:
        yield target.id, ast.unparse(node.value)
    elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        yield from zip(
            map(ast.unparse, target.elts), map(ast.unparse, node.value.elts), strict=True
        )


def places_of(changes: Sequence[Change]) -> Places:
    """Return the mutants of each name."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for change in changes:
        places[change.name].append(change.mutant)
    return places


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
    changes
        The changes of the module's own constants.
    """

    def __init__(self, places: Places, changes: Sequence[Change] = ()) -> None:
        self._places = places
        self._changes = changes
        self._depth = 0

    def visit_Module(self, node: ast.Module) -> ast.Module:
        body = []
        for statement in node.body:
            body.append(self.visit(statement))
            for change in self._changes:
                if statement.end_lineno == change.line:
                    value = f"{ATTEMPT}(lambda: {change.expression}, {change.name})"
                    body.extend(ast.parse(f"{value_of(change.mutant)} = {value}").body)
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
