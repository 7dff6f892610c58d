"""A process that executes inputs until it is ended or crashes."""

from __future__ import annotations

import faulthandler
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.fuzz.inputs.corpus import Corpus, load_corpus
from tests.fuzz.runs.execution import Bench
from tests.fuzz.runs.findings import Findings
from tests.fuzz.runs.schedule import Schedule
from tests.fuzz.runs.state import ACCEPTED, FAULTY, REFUSED, State
from tests.fuzz.sandbox import Sandbox


class Worker:
    """Executes the inputs of a schedule."""

    def __init__(
        self, corpus: Corpus, sandbox: Sandbox, schedule: Schedule, findings: Findings
    ) -> None:
        self._corpus = corpus
        self._sandbox = sandbox
        self._schedule = schedule
        self._findings = findings
        self._benches: dict[str, Bench] = {}

    def run(self, state: State, executions: int) -> None:
        """Execute up to a number of inputs, from the state's number on."""
        while state.number < executions:
            number = state.number
            target, seed = self._schedule.at(number)
            bench = self._bench(self._schedule.targets[target])
            state.start()
            data = bench.make(seed)
            accepted, fault = bench.execute(data)
            if fault is not None:
                self._findings.add(bench.name, seed, data, fault)
            state.end(target, FAULTY if fault else ACCEPTED if accepted else REFUSED)

    def _bench(self, name: str) -> Bench:
        if name not in self._benches:
            self._benches[name] = Bench(name, self._corpus, self._sandbox)
            self._benches[name].warm_up()
        return self._benches[name]


def main(job: dict[str, Any]) -> None:
    """Execute a job from `tests.fuzz.runs.campaign`."""
    faulthandler.enable()
    schedule = Schedule(tuple(job["targets"]), job["seed"], job["worker"], job["workers"])
    state = State(Path(job["state"]), len(schedule.targets))
    with tempfile.TemporaryDirectory(dir=job["directory"]) as directory:
        corpus = load_corpus(Path(job["corpus"]))
        worker = Worker(
            corpus, Sandbox(corpus, Path(directory)), schedule, Findings(Path(job["findings"]))
        )
        worker.run(state, job["executions"])


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
