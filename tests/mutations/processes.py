"""Processes that run tests: a server with the imports, and a copy of it for each mutant."""

from __future__ import annotations

import importlib
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

from tests.mutations.mutants import ROOT

Note = Callable[[str, bool, float], object]
"""Called with the name of each test, whether it has passed, and its seconds."""
Ran = list[tuple[str, bool, float]]
"""The arguments of these calls."""

OPTIONS: Final = (
    *("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header"),
    *("-p", "no:hypothesispytest"),  # its statistics fail where a test is interrupted
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # imported by the server
)
_MEMORY: Final = 12 << 30
_POLL: Final = 0.02
_EXAMPLES: Final = 40


def start_server(tree: Path, modules: Sequence[str], interpreted: str | None) -> None:
    """Import what all mutants of a method share; this process then imports from `tree`.

    Its output goes to a file beside `tree`.

    Parameters
    ----------
    tree
        A copy of the project.
    modules
        Modules that do not depend on the mutants.
    interpreted
        The package whose functions are not compiled; None compiles all.
    """
    os.chdir(tree)
    _redirect(tree.with_name("server"))
    sys.path[:] = [str(tree), *(path for path in sys.path if path not in {"", str(ROOT)})]
    os.environ["PYTHONPATH"] = str(tree)
    for name in [name for name in sys.modules if name.split(".")[0] in {"hapgpu", "tests"}]:
        del sys.modules[name]
    for name in ("numpy", "numba", "hypothesis", "pysam"):
        importlib.import_module(name)
    if interpreted is not None:
        _interpret(interpreted)
    for name in modules:
        with suppress(ImportError):  # CUDA modules
            importlib.import_module(name)


def _interpret(package: str) -> None:
    """Compile no function of a package."""
    jit = importlib.import_module("hapgpu.runtime.jit")
    compiled = jit._compiled

    def chosen(function: Callable[..., Any], **options: Any) -> Any:
        is_python = function.__module__.startswith(f"{package}.")
        return function if is_python else compiled(function, **options)

    vars(jit)["_compiled"] = chosen


class Collector:
    """Plugin of pytest: leaves out slow tests, and most examples of property tests."""

    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings  # noqa: PLC0415  (after the server's imports)

        own = settings(
            settings.get_profile("hapgpu"),
            phases=(Phase.explicit, Phase.generate),
            database=None,
            derandomize=True,
        )
        settings.register_profile("mutations", own)
        settings.load_profile("mutations")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        skipped = ("gpu", "exhaustive")
        items[:] = [item for item in items if not any(map(item.get_closest_marker, skipped))]
        for item in items:
            _try_few_examples(getattr(item, "obj", None))


class Watcher:
    """Plugin of pytest: limits the time of tests, and notes what happened.

    Parameters
    ----------
    limit
        Seconds of CPU time that a test may take, at most.
    note
        Called for each test that has passed or failed.
    """

    def __init__(self, limit: float, note: Note) -> None:
        self._limit = limit
        self._note = note
        self._spent: dict[str, float] = {}
        self.failures = 0
        signal.signal(signal.SIGPROF, _interrupt)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Any:
        with self._timed(item):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        with self._timed(item):
            return (yield)

    @contextmanager
    def _timed(self, item: pytest.Item) -> Iterator[None]:
        signal.setitimer(signal.ITIMER_PROF, self._limit)
        start = time.process_time()
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            spent = time.process_time() - start
            self._spent[item.nodeid] = self._spent.get(item.nodeid, 0.0) + spent

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._end(f"import of {report.nodeid}", has_passed=False)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            print(report.longreprtext)  # the copy of the process ends before pytest prints it
        if report.failed or (report.when == "call" and report.passed):
            self._end(report.nodeid, has_passed=report.passed)

    def _end(self, name: str, *, has_passed: bool) -> None:
        self.failures += not has_passed
        self._note(name, has_passed, self._spent.get(name, 0.0))


def _try_few_examples(test: Any) -> None:
    """Reduce the examples of a property test."""
    name = "_hypothesis_internal_use_settings"
    function = getattr(test, "__func__", test)
    if given := getattr(function, name, None):
        from hypothesis import settings  # noqa: PLC0415  (as above)

        few = min(given.max_examples, _EXAMPLES)
        setattr(function, name, settings(given, max_examples=few))


def failure(ran: Ran) -> str:
    """Return the test that has failed; of a process that has ended or hung, none is noted."""
    failed = [name for name, has_passed, _ in ran if not has_passed]
    return failed[0] if failed else "ended by a signal or the time limit"


class _TimeIsOver(BaseException):  # Hypothesis would repeat a test after an Exception
    pass


def _interrupt(*_: object) -> None:
    raise _TimeIsOver


def run_tests(path: str, directory: Path, limit: float, of_test: float) -> tuple[int, Ran]:
    """Run the tests of a directory or file in a copy of this process, up to the first failure.

    Parameters
    ----------
    path
        Of the tests.
    directory
        For the files of the tests.
    limit, of_test
        Seconds of the run, and of each test, at most.

    Returns
    -------
    0 if all have passed, and the tests that have run.
    """

    def work(note: Note) -> int:
        options = [*OPTIONS, "-x", f"--basetemp={directory / 'files'}", path]
        status = pytest.main(options, plugins=[Collector(), Watcher(of_test, note)])
        return int(status not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED})

    return in_copy(work, directory, limit)


def in_copy(work: Callable[[Note], int], directory: Path, limit: float) -> tuple[int, Ran]:
    """Call a function in a copy of this process, in a session of its own.

    Parameters
    ----------
    work
        Gets a function to call for each test; returns the status.
    directory
        For the output.
    limit
        Seconds, at most.
    """
    notes = directory / "notes"
    notes.write_text("")
    child = os.fork()
    if not child:
        status = 1
        try:
            _detach(directory / "output")
            with notes.open("w", buffering=1) as file:
                status = work(
                    lambda name, has_passed, seconds: _write(file, name, has_passed, seconds)
                )
        except BaseException:  # noqa: BLE001  (the copy must not go on as the server)
            traceback.print_exc()
        finally:
            os._exit(status)
    status = _wait(child, limit)
    rows = [line.split("\t") for line in notes.read_text().splitlines()]
    return status, [(name, passed == "1", float(seconds)) for name, passed, seconds in rows]


def _write(file: Any, name: str, has_passed: bool, seconds: float) -> None:
    file.write(f"{name}\t{int(has_passed)}\t{seconds:.3f}\n")


def _detach(output: Path) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _redirect(output)


def _redirect(output: Path) -> None:
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)


def _wait(child: int, limit: float) -> int:
    """Return the exit status of a process, -1 for a signal; end it after a time, with its own."""
    end = time.monotonic() + limit
    done, status = 0, 0
    while not done and time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if not done:
            time.sleep(_POLL)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if not done:
        _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else -1
