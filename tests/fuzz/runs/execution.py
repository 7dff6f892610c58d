"""One execution: an input made of a seed, run through its target, and its fault, if any."""

from __future__ import annotations

import resource
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Final
from unittest.mock import patch

from hapgpu.cli.terminal.messages import explain
from hapgpu.errors import HapgpuError
from hapgpu.io.alignments import samtools_convert
from hapgpu.io.files import array_file
from hapgpu.runtime.compiled import side_by_side
from tests.fuzz.inputs.corpus import Corpus
from tests.fuzz.inputs.fields import Document
from tests.fuzz.inputs.mutation import any_of, damaged, mutate
from tests.fuzz.sandbox import Sandbox
from tests.fuzz.stand_ins import ForkedScript, SerialExecutor
from tests.fuzz.targets import TARGETS, Target, documents

ROOM_BYTES: Final = 2 << 30
"""Address space that an execution may add to the space used before it."""
RESIDENT_KILOBYTES: Final = 512 << 10
"""Memory in use that it may add to the largest amount so far."""

_PAGE_BYTES: Final = resource.getpagesize()


@dataclass(frozen=True, slots=True)
class Fault:
    """Fault of hapgpu found by an execution.

    Attributes
    ----------
    kind
        The same for executions that fail in the same line.
    text
        Everything known about it.
    """

    kind: str
    text: str


class Bench:
    """Makes and executes inputs of one target.

    Parameters
    ----------
    name
        Of the target.
    corpus
        Its valid files.
    sandbox
        Where it runs.
    """

    def __init__(self, name: str, corpus: Corpus, sandbox: Sandbox | None) -> None:
        self.name = name
        self._target: Target = TARGETS[name]
        self._seeds = corpus.seeds[self._target.seeds]
        self._sandbox = sandbox

    @cached_property
    def _documents(self) -> list[Document]:
        return documents(self._target, self._seeds)

    def make(self, seed: int) -> bytes:
        """Return the input of a seed."""
        random = Random(f"{self.name}:{seed}")
        base, other = (any_of(self._documents, random) for _ in range(2))
        changed = mutate(base, other, random)
        if change_several := getattr(self._target.format, "change_several", None):
            change_several(changed, random)
        return damaged(self._target.format.join(changed, random), random)

    def warm_up(self) -> None:
        """Run the target with the valid files; it has to accept the first."""
        self._run(self._seeds[0])
        for seed in self._seeds[1:]:
            with suppress(HapgpuError):
                self._run(seed)

    def execute(self, data: bytes) -> tuple[bool, Fault | None]:
        """Run the target; return whether it accepts the input, and its fault."""
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with _limited_memory():
            try:
                self._run(data)
                accepted, fault = True, None
            except HapgpuError as error:
                accepted, fault = False, _fault_of_message(error)
            except Exception as error:  # noqa: BLE001  (whatever it is, it is found)
                accepted, fault = False, _fault_of(error)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        if fault is None and grown > RESIDENT_KILOBYTES:
            fault = Fault("memory", f"{grown >> 10} MiB more than ever before are in use")
        return accepted, fault

    def _run(self, data: bytes) -> None:
        assert self._sandbox is not None
        before = set(threading.enumerate())
        with (
            warnings.catch_warnings(),
            patch.object(samtools_convert.subprocess, "Popen", ForkedScript),
            patch.object(side_by_side, "compile_ahead"),  # in processes: an execution has none
            patch.object(array_file, "ThreadPoolExecutor", SerialExecutor, create=True),
        ):
            warnings.simplefilter("error", RuntimeWarning)
            self._target.run(self._sandbox, data)
        left = [thread.name for thread in set(threading.enumerate()) - before]
        assert not left, f"threads are left: {left}"


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Let allocations above the bounds fail."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * _PAGE_BYTES
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _fault_of_message(error: HapgpuError) -> Fault | None:
    """Check that the message for the user is one line."""
    _, message = explain(error)
    if len(message.splitlines()) == 1:
        return None
    return Fault("message that is no line", repr(message))


def _fault_of(error: Exception) -> Fault:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/hapgpu/" in frame.filename or "/fuzz/" in frame.filename]
    last = own[-1] if own else frames[-1]
    line = f"{Path(last.filename).name}:{last.lineno} {last.name}"
    return Fault(f"{type(error).__name__} in {line}", "".join(traceback.format_exception(error)))
