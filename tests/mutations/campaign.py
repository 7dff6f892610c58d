"""Runs of many mutants, with a line of a log for each.

Comparisons, and constants that functions load by name, are compiled once, as switches. Other
constants are changed one by one, first interpreted, then compiled.
"""

from __future__ import annotations

import json
import os
import time
import traceback
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from tests.mutations.interpreted import Interpreted, measure
from tests.mutations.mutants import COMMANDS, CONSTANT, ROOT, Mutant
from tests.mutations.processes import failure, run_tests, start_server
from tests.mutations.switched import NO_SWITCH, Numbers, Switched, compile_tree, read_recorded
from tests.mutations.trees import Imports, changed, compiled_without, copy_project

KILLED, SURVIVED = "killed", "survived"
INTERPRETED, COMPILED, SWITCHED = "interpreted", "compiled", "switched"
_COLUMNS: Final = ("mutant", "line", "outcome", "level", "test", "seconds")
_OF_TEST: Final = 600.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run.

    Attributes
    ----------
    directory
        For temporary files.
    log
        Gets a line for each mutant; the times of tests are stored beside it.
    end
        By `time.monotonic`.
    levels
        Of constants: `INTERPRETED`, or also `COMPILED`.
    limit
        Seconds of a compiled run of tests, at most.
    """

    directory: Path
    log: Path
    end: float
    levels: tuple[str, ...]
    limit: float

    @property
    def has_ended(self) -> bool:
        """Whether no other mutant starts."""
        return time.monotonic() > self.end


def outcomes(log: Path) -> dict[str, tuple[str, str]]:
    """Return the outcome of each mutant of a log, and the level that it comes from."""
    return {row[0]: (row[2], row[3]) for row in _rows(log)}


def _rows(log: Path) -> list[list[str]]:
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [line.split("\t") for line in lines[1:]]


def run(mutants: Sequence[Mutant], plan: Plan, jobs: int) -> None:
    """Run the mutants that the log lacks, or that survived a lower level only."""
    if not plan.log.exists():
        plan.log.write_text("\t".join(_COLUMNS) + "\n", encoding="utf-8")
    known = outcomes(plan.log)
    left = [mutant for mutant in mutants if mutant.key not in known]
    if left and not plan.has_ended:
        _run_switched(plan, left, jobs)
    were_switches = {row[0] for row in _rows(plan.log) if row[2:4] == [SURVIVED, SWITCHED]}
    for method in COMMANDS:
        own = [m for m in mutants if m.method == method and m.kind == CONSTANT]
        for level in plan.levels:
            known = outcomes(plan.log)
            # Tests that read a constant, but load it in no function, may notice it.
            before = {(NO_SWITCH, SWITCHED), (SURVIVED, SWITCHED)}
            if level == COMPILED:
                before = {(SURVIVED, INTERPRETED)}
                own = [mutant for mutant in own if mutant.key not in were_switches]
            todo = [mutant for mutant in own if known.get(mutant.key) in before]
            if todo and not plan.has_ended:
                _in_jobs(plan, method, level, [todo[k::jobs] for k in range(jobs)])


def _run_switched(plan: Plan, mutants: Sequence[Mutant], jobs: int) -> None:
    """Run mutants that are switches, compiled at once, with the tests that can notice each."""
    tree, numbers = plan.directory / "switched" / "tree", Numbers()
    copy_project(tree)
    numbers.write_tree(ROOT, tree)
    compile_tree(tree, plan.directory / "switched" / "cache", plan.directory / "mutants")
    imports = Imports(ROOT)
    for method in dict.fromkeys(mutant.method for mutant in mutants):
        modules = imports.independent_of(f"hapgpu.{method}")
        own = {numbers.of[mutant.key]: mutant for mutant in mutants if mutant.method == method}
        work = _SwitchedJobs(plan, tree, method, modules, jobs)
        _wait([_forked(partial(work.record, k)) for k in range(jobs)])
        _wait([_forked(partial(work.run, k, own)) for k in range(jobs)])


class _SwitchedJobs:
    """Processes that share the tests, then the mutants, of a method."""

    def __init__(
        self, plan: Plan, tree: Path, method: str, modules: Sequence[str], jobs: int
    ) -> None:
        self._plan = plan
        self._server = partial(Switched, tree, method, modules)
        self._jobs = jobs
        self._recorded = plan.log.with_name(f"{plan.log.stem}-{method}.recorded")
        self._since = self._recorded.stat().st_mtime if self._recorded.exists() else 0.0

    def record(self, number: int) -> None:
        """Run tests that are newer than what is recorded of them, without a mutant."""

        def is_chosen(file: str) -> bool:
            is_own = zlib.crc32(file.encode()) % self._jobs == number
            return is_own and (ROOT / file).stat().st_mtime > self._since

        self._start(number).record(is_chosen, self._recorded)

    def run(self, number: int, mutants: Mapping[int, Mutant]) -> None:
        """Run a share of the mutants."""
        self._start(number).run(
            dict(list(mutants.items())[number :: self._jobs]),
            read_recorded(self._recorded),
            partial(write_row, self._plan.log, SWITCHED),
            partial(getattr, self._plan, "has_ended"),
        )

    def _start(self, number: int) -> Switched:
        directory = self._plan.directory / f"switched-{number}"
        directory.mkdir(exist_ok=True)
        return self._server(directory)


def _in_jobs(plan: Plan, method: str, level: str, shares: list[list[Mutant]]) -> None:
    baseline = _baseline(plan, method) if level == INTERPRETED else {}

    def start(number: int) -> None:
        job = _Job(plan, number, method)
        if level == INTERPRETED:
            job.interpreted(shares[number], baseline)
        else:
            job.compiled(shares[number])

    _wait([_forked(lambda k=k: start(k)) for k in range(len(shares))])  # type: ignore[misc]


def _forked(work: Callable[[], object]) -> int:
    """Call a function in a copy of this process; return its number."""
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:  # noqa: BLE001  (the copy must not go on)
            traceback.print_exc()
        finally:
            os._exit(0)
    return child


def _wait(children: list[int]) -> None:
    for child in children:
        os.waitpid(child, 0)


def _baseline(plan: Plan, method: str) -> dict[str, float]:
    """Return the seconds of each interpreted test of a method that passes without a mutant.

    They are stored; those of files that are newer are measured again.
    """
    stored = plan.log.with_name(f"{plan.log.stem}-{method}.json")
    seconds: dict[str, float] = json.loads(stored.read_text()) if stored.exists() else {}
    since = stored.stat().st_mtime if stored.exists() else 0.0

    def is_new(file: str) -> bool:
        return (ROOT / file).stat().st_mtime > since

    def measured() -> None:
        kept = {test: spent for test, spent in seconds.items() if not is_new(test.split("::")[0])}
        kept |= _Job(plan, 0, method).measured(is_new)
        stored.write_text(json.dumps(kept), encoding="utf-8")

    if any(is_new(str(path)) for path in (ROOT / "tests" / method).rglob("test_*.py")):
        _wait([_forked(measured)])
    found: dict[str, float] = json.loads(stored.read_text(encoding="utf-8"))
    return found


class _Job:
    """A process that runs mutants of a method, one after another, in its copy of the project."""

    def __init__(self, plan: Plan, number: int, method: str) -> None:
        self._plan = plan
        self._method = method
        self._directory = plan.directory / f"job-{number}"
        self._tree = self._directory / "tree"
        if not self._tree.exists():
            copy_project(self._tree)
        self._imports = Imports(ROOT)

    def measured(self, is_chosen: Callable[[str], bool]) -> dict[str, float]:
        """Return the seconds of interpreted tests of files that pass without a mutant."""
        self._start(interpreted=True)
        return measure(f"tests/{self._method}", self._directory, is_chosen)

    def interpreted(self, mutants: list[Mutant], baseline: dict[str, float]) -> None:
        """Run interpreted tests: those of the stage, then the fastest of the method."""
        left = self._directory / "left"

        def in_memory() -> None:
            others = self._interpreter(baseline).in_memory(
                mutants, partial(write_row, self._plan.log, INTERPRETED)
            )
            left.write_text("\n".join(mutant.key for mutant in others))

        def imported() -> None:
            runs, keys = self._interpreter(baseline), set(left.read_text().split("\n"))
            for mutant in mutants:
                if mutant.key in keys and not self._plan.has_ended:
                    with changed(self._tree, mutant):
                        runs.imported(mutant, partial(write_row, self._plan.log, INTERPRETED))

        _wait([_forked(in_memory)])
        _wait([_forked(imported)])

    def compiled(self, mutants: list[Mutant]) -> None:
        """Run all compiled tests: those of the stage, of the method, and of its command line."""
        cache, links = self._directory / "cache", self._directory / "links"
        _fill(cache)
        os.environ["NUMBA_CACHE_DIR"] = str(links)
        self._start(interpreted=False)
        for mutant in mutants:
            if self._plan.has_ended:
                return
            modules = self._imports.importers(mutant.module)
            with changed(self._tree, mutant), compiled_without(modules, cache, links):
                start = time.monotonic()
                test = self._compiled_killer(mutant)
            write_row(self._plan.log, COMPILED, mutant, test, time.monotonic() - start)

    def _compiled_killer(self, mutant: Mutant) -> str | None:
        paths = (mutant.stage, self._method, f"cli/{COMMANDS[self._method]}")
        for path in dict.fromkeys(f"tests/{path}" for path in paths):
            if (self._tree / path).is_dir():
                status, ran = run_tests(path, self._directory, self._plan.limit, _OF_TEST)
                if status:
                    return failure(ran)
        return None

    def _interpreter(self, baseline: dict[str, float]) -> Interpreted:
        self._start(interpreted=True)
        has_ended = partial(getattr, self._plan, "has_ended")
        return Interpreted(f"tests/{self._method}", self._directory, baseline, has_ended)

    def _start(self, *, interpreted: bool) -> None:
        package = f"hapgpu.{self._method}"
        modules = self._imports.independent_of(package)
        start_server(self._tree, modules, package if interpreted else None)


def write_row(
    log: Path, level: str, mutant: Mutant, test: str | None, seconds: float, remark: str = ""
) -> None:
    """Add the outcome of a mutant to a log: the test that kills it, or a remark."""
    survived = NO_SWITCH if remark == NO_SWITCH else SURVIVED
    outcome = KILLED if test else survived
    row = (mutant.key, str(mutant.line), outcome, level, test or remark, f"{seconds:.1f}")
    with log.open("a", encoding="utf-8") as file:
        file.write("\t".join(row) + "\n")


def _fill(cache: Path) -> None:
    """Copy the compiled functions that the environment names, once."""
    if cache.exists():
        return
    cache.mkdir()
    if own := os.environ.get("NUMBA_CACHE_DIR"):
        for path in Path(own).glob("*.compiled"):
            (cache / path.name).write_bytes(path.read_bytes())
