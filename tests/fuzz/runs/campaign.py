"""Supervision of several workers; a worker that crashes or hangs is replaced."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tests.fuzz.inputs.corpus import make_corpus, save_corpus
from tests.fuzz.runs.execution import Bench, Fault
from tests.fuzz.runs.findings import Findings
from tests.fuzz.runs.schedule import Schedule
from tests.fuzz.runs.state import FAULTY, State

_HANG_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.2
_GRACE_SECONDS: Final = 5.0
_LOG_BYTES: Final = 4000
_ALONE: Final = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "REF_PATH": "/nonexistent/%s",  # or htslib would look for the references of CRAM in the network
    "REF_CACHE": "/nonexistent/%s",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """Extent of a campaign.

    Attributes
    ----------
    targets
        Their names.
    seed
        The first.
    workers
        Processes.
    executions
        Maximum of all workers together.
    seconds
        Maximum duration.
    """

    targets: tuple[str, ...]
    seed: int
    workers: int
    executions: int
    seconds: float


class _Watched:
    """A worker's process and the next one, if that has ended before its time."""

    def __init__(
        self,
        number: int,
        plan: Plan,
        directory: Path,
        findings: Path,
        environment: Mapping[str, str],
    ) -> None:
        self.schedule = Schedule(plan.targets, plan.seed, number, plan.workers)
        self._job = asdict(self.schedule) | {
            "executions": -(-plan.executions // plan.workers),
            "directory": str(directory),
            "corpus": str(directory / "corpus"),
            "findings": str(findings),
            "state": str(directory / f"state{number}"),
        }
        self._log = directory / f"log{number}"
        self._environment = dict(environment)
        self.state = State(Path(self._job["state"]), len(plan.targets), is_new=True)
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.fuzz.runs.worker", json.dumps(self._job)]
        with self._log.open("wb") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stderr=log,
                env=self._environment,
                start_new_session=True,
            )

    @property
    def is_done(self) -> bool:
        return self._process.poll() == 0

    def check(self) -> Fault | None:
        """Restart the process if it crashed or hangs; return the fault then."""
        fault = None
        if self.state.running_seconds() > _HANG_SECONDS:
            self._process.send_signal(signal.SIGABRT)  # faulthandler reports where it is
            fault = f"hangs for {_HANG_SECONDS:.0f} s"
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE_SECONDS)
        elif self._process.poll():
            fault = f"ended with status {self._process.returncode}"
        if fault is None:
            return None
        self.end()
        text = self._log.read_text(errors="replace")[-_LOG_BYTES:]
        if not self.state.interrupted():
            message = f"a worker {fault} outside of an execution:\n{text}"
            raise RuntimeError(message)
        self._process = self._start()
        return Fault(f"{fault} in {_first_frame(text)}", text)

    def end(self) -> None:
        """Kill the process and its children."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _first_frame(text: str) -> str:
    """Return where in hapgpu a process was, by the report of faulthandler."""
    frames = [line for line in text.splitlines() if "/hapgpu/" in line]
    return frames[0].strip().rpartition("/")[2] if frames else "an unknown line"


def run(
    plan: Plan, directory: Path, findings: Path, environment: Mapping[str, str]
) -> tuple[NDArray[np.int64], float]:
    """Run a plan to its end.

    Parameters
    ----------
    plan
        Extent of the campaign.
    directory
        Empty, in memory if possible.
    findings
        Directory for findings.
    environment
        Of the workers.

    Returns
    -------
    tuple
        int64[t, 5] of the targets, see `tests.fuzz.runs.state`, and seconds.
    """
    (directory / "corpus").mkdir()
    corpus = make_corpus(directory / "corpus")
    save_corpus(corpus)
    kept = Findings(findings)
    started = time.monotonic()
    workers = [
        _Watched(number, plan, directory, findings, dict(environment) | _ALONE)
        for number in range(plan.workers)
    ]
    try:
        while not all(worker.is_done for worker in workers):
            if time.monotonic() - started > plan.seconds:
                break
            for worker in workers:
                if fault := worker.check():
                    target, seed = worker.schedule.at(worker.state.number - 1)
                    name = plan.targets[target]
                    kept.add(name, seed, Bench(name, corpus, None).make(seed), fault)
                    worker.state.counts[target, FAULTY] += 1
            time.sleep(_POLL_SECONDS)
    finally:
        for worker in workers:
            worker.end()
    return np.sum([worker.state.counts for worker in workers], axis=0), time.monotonic() - started
