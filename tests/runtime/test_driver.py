"""The early start of the driver: for which command lines, on which GPUs."""

from __future__ import annotations

import pytest

from hapgpu.runtime import driver


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("realign a.bam b.fa", []),
        ("realign a.bam b.fa --device cuda", []),
        ("map --device cuda:2,5 a.fa", [2, 5]),
        ("chain --device cpu --device=cuda:1", [1]),
        ("chain --device", None),
        ("map --device cpu", None),
        ("map --device gpu", None),
        ("index --minimizers a.fa", None),
        ("index a.fa", []),
        ("map --help", None),
        ("doctor", None),
        ("", None),
    ],
)
def test_which_gpus(line: str, expected: list[int] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[int]] = []
    monkeypatch.setattr(driver, "_start", started.append)
    before = driver.Thread

    def run_at_once(**options: object) -> driver.Thread:
        thread = before(**options)
        monkeypatch.setattr(thread, "start", thread.run)
        return thread

    monkeypatch.setattr(driver, "Thread", run_at_once)
    driver.start_driver(line.split())
    assert started == ([] if expected is None else [expected])


def test_a_machine_without_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_LIBRARY", "libnothing.so.1")
    driver._start([])
