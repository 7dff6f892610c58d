"""A few hundred executions of each target, the same ones each time, and of the fuzzer itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Event, Thread

import pytest

from hapgpu.errors import InputError
from tests.cli.in_process import restored_messages
from tests.fuzz.inputs.corpus import Corpus, make_corpus
from tests.fuzz.read_targets import Run
from tests.fuzz.runs import execution
from tests.fuzz.runs.execution import Bench, Fault
from tests.fuzz.runs.findings import Findings, summary
from tests.fuzz.runs.schedule import Schedule
from tests.fuzz.sandbox import Sandbox
from tests.fuzz.targets import TARGETS

_SLOW = {"cram", "sam"}  # these fork


@pytest.fixture(autouse=True)
def _messages() -> Iterator[None]:
    with restored_messages():
        yield


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def sandbox(corpus: Corpus, tmp_path: Path) -> Iterator[Sandbox]:
    return Sandbox(corpus, tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_hostile_input_is_accepted_or_refused_in_a_line(
    name: str, corpus: Corpus, sandbox: Sandbox
) -> None:
    bench = Bench(name, corpus, sandbox)
    bench.warm_up()
    outcomes = set()
    for seed in range(10 if name in _SLOW else 40):
        accepted, fault = bench.execute(bench.make(seed))
        assert fault is None, f"{name}, seed {seed}: {fault.text}"
        outcomes.add(accepted)
    assert outcomes == {True, False}  # mutations are neither too weak nor too strong


def test_inputs_depend_on_target_and_seed_only(corpus: Corpus) -> None:
    made = [[Bench(name, corpus, None).make(7) for name in TARGETS] for _ in range(2)]
    assert made[0] == made[1]
    bench = Bench("batches", corpus, None)
    assert len({bench.make(seed) for seed in range(50)}) > 40


@pytest.mark.parametrize("name", TARGETS)
def test_rejoined_files_are_accepted(name: str, corpus: Corpus, sandbox: Sandbox) -> None:
    form, bench = TARGETS[name].format, Bench(name, corpus, sandbox)
    seed = corpus.seeds[TARGETS[name].seeds][0]
    again = form.join(form.split(seed), _Unchanging(1))
    assert bench.execute(again) == (True, None)
    assert form.split(again) == form.split(seed)


class _Unchanging(Random):
    """Random numbers that make no format spoil a file."""

    def random(self) -> float:
        return 0.9


def _raise(_sandbox: Sandbox, _data: bytes) -> None:
    message = "two\nlines"
    raise ValueError(message)


def _say_nothing(_sandbox: Sandbox, _data: bytes) -> None:
    raise InputError(" ")


def _take_memory(_sandbox: Sandbox, _data: bytes) -> None:
    bytes(2 * execution.ROOM_BYTES)


def _take_pages(_sandbox: Sandbox, _data: bytes) -> None:
    b"x" * (3 * execution.RESIDENT_KILOBYTES << 9)


def _leave_a_thread(_sandbox: Sandbox, _data: bytes) -> None:
    _ended.clear()
    Thread(target=_ended.wait, daemon=True).start()


def _leave_a_file(sandbox: Sandbox, _data: bytes) -> None:
    sandbox.output.with_name("more").touch()
    sandbox.run("doctor")


_ended = Event()


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (_raise, "ValueError in test_fuzz.py"),
        (_say_nothing, "message that is no line"),
        (_take_memory, "MemoryError in test_fuzz.py"),
        (_take_pages, "memory"),
        (_leave_a_thread, "AssertionError in execution.py"),
        (_leave_a_file, "LeftoverError in sandbox.py"),
    ],
)
def test_faults_are_found(
    run: Run, kind: str, corpus: Corpus, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TARGETS, "bed-reads", replace(TARGETS["bed-reads"], run=run))
    # The largest amount of memory so far, which other tests may have made large, is forgotten.
    Path("/proc/self/clear_refs").write_text("5")
    _, fault = Bench("bed-reads", corpus, sandbox).execute(b"")
    _ended.set()
    assert fault is not None
    assert fault.kind.startswith(kind)


def test_a_few_of_each_kind_are_kept(tmp_path: Path) -> None:
    findings = Findings(tmp_path / "findings")
    for seed in range(9):
        findings.add("bed-reads", seed, b"x", Fault("a" if seed % 2 else "b", ""))
    assert len(list((tmp_path / "findings").glob("*.input"))) == 6
    assert len(summary(tmp_path / "findings")) == 2


def test_workers_share_the_seeds() -> None:
    schedules = [Schedule(("a", "b"), 5, worker, 3) for worker in range(3)]
    found = {schedule.at(number) for schedule in schedules for number in range(200)}
    assert found == {(target, seed) for target in range(2) for seed in range(5, 305)}
