"""Arguments in another order than a command declares, where the kinds of the files tell them apart.

Mappers take the reference first, other programs the reads: users mix them up.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from hapgpu.cli.options.files import CommandFiles, Values
from hapgpu.io.files.file_kind import kind_of_file


def in_order(files: CommandFiles, values: Values, names: Sequence[str]) -> Values:
    """Return the parameters with each file at the argument that expects its kind.

    They stay as they are if they fit, if a file is missing or of unknown kind, and if there is no
    order that fits or more than one.

    Parameters
    ----------
    files
        The declarations of the command.
    values
        Its parameters, by name.
    names
        Those that are arguments, in order.
    """
    declared = {read.parameter: read.kinds(values) for read in files.reads}
    kinds_of = {name: expected.kinds for name, expected in declared.items() if expected}
    expected = {name: kinds_of[name] for name in names if name in kinds_of}
    given = {name: _paths(values[name]) for name in expected}
    paths = [path for group in given.values() for path in group]
    kinds = {path: kind_of_file(path) for path in paths}
    fits = all(kinds[path] in expected[name] for name in expected for path in given[name])
    if fits or len(paths) < len(expected) or None in kinds.values():
        return values
    several = {name for name in expected if isinstance(values[name], list)}
    found = list(_orders(expected, [(path, str(kinds[path])) for path in paths], several))
    if len(found) != 1:
        return values
    return {**values, **{name: _like(values[name], group) for name, group in found[0].items()}}


def _paths(value: Any) -> list[str]:
    return [str(path) for path in (value if isinstance(value, list) else [value]) if path]


def _like(value: Any, paths: Sequence[str]) -> Any:
    """Return paths in the type of a value: a list of texts, a text or a path."""
    return [*paths] if isinstance(value, list) else type(value)(paths[0])


def _orders(
    expected: Mapping[str, Container[str]], files: Sequence[tuple[str, str]], several: set[str]
) -> Iterator[dict[str, list[str]]]:
    """Yield the ways to give each argument files of its kinds.

    Parameters
    ----------
    expected
        The kinds of each argument.
    files
        The path and the kind of each file.
    several
        The argument that takes several files, or none.
    """
    single = [name for name in expected if name not in several]
    fitting = [
        [row for row, (_, kind) in enumerate(files) if kind in expected[name]] for name in single
    ]
    for rows in product(*fitting):
        others = [file for row, file in enumerate(files) if row not in rows]
        complete = len({*rows}) == len(rows) and bool(others) == bool(several)
        if complete and all(kind in expected[name] for name in several for _, kind in others):
            chosen = {name: [files[row][0]] for name, row in zip(single, rows, strict=True)}
            yield {**chosen, **{name: [path for path, _ in others] for name in several}}
