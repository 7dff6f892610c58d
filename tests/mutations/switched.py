"""Runs of mutants that are switches: all compiled at once, each chosen in a copy of the process.

A first run of all tests of a method notes in which of them a comparison has another result than
that of its mutant, or a constant is used. Only these run with the mutant, until one fails.
"""

from __future__ import annotations

import ast
import itertools
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from tests.mutations.interpreted import Loop, run_session
from tests.mutations.loads import Loads, all_names, changes_in, places_of
from tests.mutations.mutants import (
    COMMANDS,
    COMPARISON,
    CONSTANT,
    SWITCHES,
    SWITCHES_BYTES,
    Mutant,
    Text,
    mutants_of,
    swaps,
)
from tests.mutations.processes import failure, in_copy, start_server

NO_SWITCH: Final = "no switch"
"""Remark on a constant that no function loads in a test."""
_MODULE: Final = "tests.mutations.switches"
_OPERATORS: Final = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
_SLOW_TEST: Final = 60.0
"""Seconds of a test without a mutant, at most; slower ones are left out."""
_ALL_TESTS: Final = 10.0
"""Seconds of the tests of a mutant, without it: the fastest ones of its stage come first."""
_SLOWER: Final = 3
_START: Final = 8.0
_OF_FILE: Final = 300.0


@dataclass(slots=True)
class Recorded:
    """What a test did without a mutant.

    Attributes
    ----------
    seconds
        Its CPU time.
    setup, call
        Numbers of the mutants whose comparisons would have had another result, or whose constants
        were used.
    """

    seconds: float = 0.0
    setup: list[int] = field(default_factory=list)
    call: list[int] = field(default_factory=list)


class Numbers:
    """The number of each mutant, in all methods."""

    def __init__(self) -> None:
        self.mutants = [mutant for method in COMMANDS for mutant in mutants_of(method)]
        self.of = {mutant.key: number for number, mutant in enumerate(self.mutants)}

    def write_tree(self, root: Path, tree: Path) -> None:
        """Write the modules with switches into a copy of the project."""
        comparisons: defaultdict[str, dict[int, int]] = defaultdict(dict)
        constants: defaultdict[str, dict[int, Mutant]] = defaultdict(dict)
        for number, mutant in enumerate(self.mutants):
            if mutant.kind == COMPARISON:
                comparisons[mutant.module][mutant.start] = number
            else:
                constants[mutant.module][number] = mutant
        sources = {
            ".".join(path.relative_to(root).with_suffix("").parts): path.read_text("utf-8")
            for path in (root / "hapgpu").rglob("*.py")
        }
        changes = {
            module: list(changes_in(sources[module], own)) for module, own in constants.items()
        }
        names = all_names(sources, {module: places_of(own) for module, own in changes.items()})
        for module, source in sources.items():
            if comparisons[module] or names[module]:
                path = Path(*module.split(".")).with_suffix(".py")
                loads = Loads(names[module], changes.get(module, ()))
                (tree / path).write_text(
                    with_switches(source, comparisons[module], loads), encoding="utf-8"
                )


def with_switches(source: str, numbers: Mapping[int, int], loads: Loads) -> str:
    """Return the source of a module with calls for comparisons and for loads of constants.

    Parameters
    ----------
    source
        The source.
    numbers
        The number of each mutant of a comparison, by the position of its operator.
    loads
        Changes the loads of constants.
    """
    tree = loads.visit(_Switches(source, numbers).visit(ast.parse(source)))
    after = sum(isinstance(node, ast.Expr) for node in tree.body[:1])
    after += sum(isinstance(n, ast.ImportFrom) and n.module == "__future__" for n in tree.body)
    functions = ("attempt", "constant", *_OPERATORS.values())
    names = ", ".join(f"{name} as _switch_{name}" for name in functions)
    tree.body.insert(after, *ast.parse(f"from {_MODULE} import {names}").body)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


class _Switches(ast.NodeTransformer):
    def __init__(self, source: str, numbers: Mapping[int, int]) -> None:
        self._text = Text(source)
        self._numbers = numbers

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        changes = list(swaps(node, self._text))
        operands = [self.visit(operand) for operand in (node.left, *node.comparators)]
        parts = []
        for at, (operator, change) in enumerate(zip(node.ops, changes, strict=True)):
            left, right = operands[at : at + 2]
            number = self._numbers.get(change[0]) if change else None
            if number is None:
                parts.append(ast.Compare(left, [operator], [right]))
            else:
                function = ast.Name(f"_switch_{_OPERATORS[type(operator)]}", ast.Load())
                parts.append(ast.Call(function, [ast.Constant(number), left, right], []))
        return parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)


class _Recorder:
    """Plugin of pytest: notes which mutants the setup and the call of each test could notice."""

    def __init__(self, noted: Callable[[], list[int]], file: Path) -> None:
        self._noted = noted
        self._file = file
        self._now = Recorded()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._now.seconds += report.duration
        if report.when == "teardown":
            self._noted()
            self._now = Recorded()
        elif report.passed:
            setattr(self._now, report.when, self._noted())
            if report.when == "call":
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([report.nodeid, *vars_of(self._now)]) + "\n")


def vars_of(recorded: Recorded) -> tuple[float, list[int], list[int]]:
    """Return the attributes in their order."""
    return recorded.seconds, recorded.setup, recorded.call


def compile_tree(tree: Path, cache: Path, file: Path) -> None:
    """Compile all functions of a copy of the project; this process then uses them."""
    file.write_bytes(bytes(SWITCHES_BYTES))
    os.environ.pop("NUMBA_CACHE_DIR", None)  # not named by what is compiled
    os.environ |= {"HAPGPU_CACHE_DIR": str(cache), SWITCHES: str(file)}
    code = "from hapgpu.cli.compilation import compile_all; compile_all(())"
    subprocess.run(
        [sys.executable, "-c", code],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        check=True,
    )


class Switched:
    """Runs of the mutants of a method from a process that has collected its tests.

    Parameters
    ----------
    tree
        The copy of the project with switches; it becomes the current directory.
    method
        The method.
    modules
        Modules that the method imports, but are not of it.
    directory
        For other files.
    """

    def __init__(self, tree: Path, method: str, modules: Sequence[str], directory: Path) -> None:
        file = directory / "mutants"
        file.write_bytes(bytes(SWITCHES_BYTES))
        os.environ[SWITCHES] = str(file)
        start_server(tree, modules, None)
        paths = (f"tests/{method}", f"tests/cli/{COMMANDS[method]}")
        self._paths = [path for path in paths if (tree / path).is_dir()]
        self._directory = directory

    def record(self, is_chosen: Callable[[str], bool], file: Path) -> None:
        """Run the tests of chosen files, and add what each did to a file."""

        def run(loop: Loop) -> None:
            switches = import_module(_MODULE)
            switches.choose(switches.NO_MUTANT)
            groups: defaultdict[str, list[str]] = defaultdict(list)
            for name in loop.items:
                groups[name.partition("::")[0]].append(name)
            for path, names in groups.items():
                if is_chosen(path):
                    recorder = _Recorder(switches.noted, file)
                    in_copy(
                        partial(
                            loop.run_items,
                            names,
                            limit=_SLOW_TEST,
                            max_failures=len(names),
                            plugins=[recorder],
                        ),
                        self._directory,
                        _OF_FILE,
                    )
                    switches.noted()

        run_session(self._paths, self._directory, run)

    def run(
        self,
        mutants: Mapping[int, Mutant],
        recorded: Mapping[str, Recorded],
        note: Callable[..., object],
        has_ended: Callable[[], bool],
    ) -> None:
        """Run mutants, each in a copy of this process."""

        def run(loop: Loop) -> None:
            switches = import_module(_MODULE)
            known = {name: recorded[name] for name in loop.items if name in recorded}
            for number, mutant in mutants.items():
                if has_ended():
                    return
                names = tests_of(number, mutant, known)
                if not names and mutant.kind == CONSTANT:
                    note(mutant, None, 0.0, NO_SWITCH)
                    continue
                start = time.monotonic()
                switches.choose(number)
                test = self._killer(loop, names, known) if names else None
                switches.choose(switches.NO_MUTANT)
                remark = f"{len(names)} tests" if names else "no test has another result"
                note(mutant, test, time.monotonic() - start, remark)

        run_session(self._paths, self._directory, run)

    def _killer(
        self, loop: Loop, names: Sequence[str], recorded: Mapping[str, Recorded]
    ) -> str | None:
        seconds = [recorded[name].seconds for name in names]
        work = partial(loop.run_items, names, limit=_START + _SLOWER * max(seconds))
        status, ran = in_copy(work, self._directory, _START + _SLOWER * sum(seconds))
        return failure(ran) if status else None


def tests_of(number: int, mutant: Mutant, recorded: Mapping[str, Recorded]) -> list[str]:
    """Return the tests that may notice a mutant: of its stage, then others, the fastest first.

    What the setup of a test makes may be shared by all tests of its file.
    """
    files = {name.partition("::")[0] for name, test in recorded.items() if number in test.setup}
    stage, module = f"tests/{mutant.stage}/", f"/test_{mutant.path.stem}.py::"

    def place(name: str) -> tuple[bool, bool, float]:
        return module not in name, not name.startswith(stage), recorded[name].seconds

    names = sorted(
        (
            name
            for name, test in recorded.items()
            if number in test.call or name.partition("::")[0] in files
        ),
        key=place,
    )
    ends = itertools.accumulate(recorded[name].seconds for name in names)
    return [
        name
        for name, end in zip(names, ends, strict=True)
        if end - recorded[name].seconds < _ALL_TESTS
    ]


def read_recorded(file: Path) -> dict[str, Recorded]:
    """Return what `Switched.record` has written."""
    rows = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {name: Recorded(*values) for name, *values in map(json.loads, rows)}
