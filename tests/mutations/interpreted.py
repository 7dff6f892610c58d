"""Interpreted runs: one collection of tests, and a copy of the process for each mutant.

The functions of the method are Python, all others are compiled. So nothing is compiled, and the
tests of a stage end in seconds.
"""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.mutations.mutants import CONSTANT, Mutant
from tests.mutations.patching import CannotPatchError, patch
from tests.mutations.processes import OPTIONS, Collector, Note, Watcher, failure, in_copy
from tests.mutations.trees import Imports

QUICK_TEST: Final = 2.0
"""Seconds of an interpreted test, at most."""
_OTHERS: Final = 3.0
"""Seconds of all interpreted tests of other stages than the mutant's: the fastest."""
_OF_BASELINE: Final = 300.0
_SLOWER: Final = 5
"""A mutant's tests may take so many times as long as without it: others hang."""
_OF_MUTANT: Final = _SLOWER * QUICK_TEST
_TOO_MANY: Final = 8
"""Slow or failing tests of a file without a mutant, after which the others are left out."""
_START: Final = 60.0
_CANNOT_PATCH: Final = 3

Outcome = Callable[[Mutant, str | None, float], object]
"""Called with each mutant, the test that kills it or None, and the seconds."""


def order_of(mutant: Mutant, baseline: dict[str, float]) -> list[str]:
    """Return the tests of a mutant: of constants, named as its module, of its stage, others."""
    stage, name = f"tests/{mutant.stage}/", f"/test_{mutant.path.stem}.py::"

    def place(test: str) -> tuple[bool, bool, bool, float]:
        is_first = mutant.kind == CONSTANT and "/test_constants.py::" in test
        is_own = test.startswith(stage)
        return not is_first, not is_own, name not in test, baseline[test]

    tests = sorted(baseline, key=place)
    sums = itertools.accumulate(0.0 if test.startswith(stage) else baseline[test] for test in tests)
    return [test for test, sum_ in zip(tests, sums, strict=True) if sum_ < _OTHERS]


class Loop:
    """Plugin of pytest that runs collected tests in copies of the process."""

    def __init__(self, directory: Path, run: Callable[[Loop], None]) -> None:
        self._directory = directory
        self._run = run
        self.items: dict[str, pytest.Item] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self._run(self)
        return True

    def run_items(
        self,
        names: Sequence[str],
        note: Note,
        limit: float,
        max_failures: int = 1,
        plugins: Sequence[object] = (),
    ) -> int:
        """Run tests in this process, up to some failures; return 1 if a test has failed."""
        watcher = Watcher(limit, note)
        items = [self.items[name] for name in names]
        for plugin in (watcher, *plugins):
            items[0].config.pluginmanager.register(plugin)
        for item, following in itertools.zip_longest(items, items[1:]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if watcher.failures >= max_failures:
                break
        return int(watcher.failures > 0)


def run_session(tests: Sequence[str], directory: Path, run: Callable[[Loop], None]) -> None:
    """Collect the tests of some directories, and call a function with them."""
    options = [*OPTIONS, f"--basetemp={directory / 'files'}", *tests]
    pytest.main(options, plugins=[Collector(), Loop(directory, run)])


def measure(tests: str, directory: Path, is_chosen: Callable[[str], bool]) -> dict[str, float]:
    """Return the seconds of each test of chosen files that passes in a short time."""
    passed: dict[str, float] = {}

    def run(loop: Loop) -> None:
        groups: defaultdict[str, list[str]] = defaultdict(list)
        for name in loop.items:
            file = name.partition("::")[0]
            if is_chosen(file):
                groups[file].append(name)
        for names in groups.values():
            work = partial(loop.run_items, names, limit=QUICK_TEST, max_failures=_TOO_MANY)
            _, ran = in_copy(work, directory, _OF_BASELINE)
            failed = {name for name, has_passed, _ in ran if not has_passed}
            passed.update({name: seconds for name, _, seconds in ran if name not in failed})

    run_session([tests], directory, run)
    return passed


class Interpreted:
    """Runs of the mutants of a method, from a process that imports its modules.

    Parameters
    ----------
    tests
        The directory of its tests, below the current directory, which is the project.
    directory
        For other files.
    baseline
        The seconds of each test without a mutant.
    has_ended
        Tells whether no other mutant starts.
    """

    def __init__(
        self,
        tests: str,
        directory: Path,
        baseline: dict[str, float],
        has_ended: Callable[[], bool],
    ) -> None:
        self._tests = tests
        self._directory = directory
        self._baseline = baseline
        self._has_ended = has_ended
        self._root = Path.cwd()

    def in_memory(self, mutants: Sequence[Mutant], note: Outcome) -> list[Mutant]:
        """Run mutants by changing what is imported; return those that this cannot make."""
        imports = Imports(self._root)
        others = []

        def run(loop: Loop) -> None:
            for mutant in mutants:
                if self._has_ended():
                    return
                before = partial(patch, mutant, imports, self._root)
                if not self._noted(mutant, partial(self._patched, loop, mutant, before), note):
                    others.append(mutant)

        run_session([self._tests], self._directory, run)
        return others

    def imported(self, mutant: Mutant, note: Outcome) -> None:
        """Run a mutant whose file is changed already, in a process that imports it."""

        def work(note_test: Note) -> int:
            status = [1]

            def run(loop: Loop) -> None:
                status[0] = loop.run_items(self._names(mutant, loop), note_test, _OF_MUTANT)

            run_session([self._tests], self._directory, run)
            return status[0]

        self._noted(mutant, work, note)

    def _patched(self, loop: Loop, mutant: Mutant, before: Callable[[], None], note: Note) -> int:
        try:
            before()
        except CannotPatchError:
            return _CANNOT_PATCH
        return loop.run_items(self._names(mutant, loop), note, _OF_MUTANT)

    def _names(self, mutant: Mutant, loop: Loop) -> list[str]:
        return [name for name in order_of(mutant, self._baseline) if name in loop.items]

    def _noted(self, mutant: Mutant, work: Callable[[Note], int], note: Outcome) -> bool:
        """Run in a copy of this process; tell whether there is an outcome."""
        start = time.monotonic()
        limit = _START + _SLOWER * sum(self._baseline[t] for t in order_of(mutant, self._baseline))
        status, ran = in_copy(work, self._directory, limit)
        if status != _CANNOT_PATCH:
            note(mutant, failure(ran) if status else None, time.monotonic() - start)
        return status != _CANNOT_PATCH
