"""The early start of the driver: for which command lines, on which GPUs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hapgpu.runtime import driver, scout


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("realign a.bam b.fa", []),
        ("realign a.bam b.fa --device cuda", []),
        ("map --device cuda:2,5 a.fa --processes 1", [2, 5]),
        ("call --device cuda:2,5 a.bam", [2, 5]),
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
    monkeypatch.setattr(driver, "_gpu_files", lambda: 1)
    monkeypatch.setattr(scout, "Scout", lambda _: pytest.fail("not several GPUs"))
    monkeypatch.setattr(driver, "_start", started.append)
    before = driver.Thread

    def run_at_once(**options: object) -> driver.Thread:
        thread = before(**options)
        monkeypatch.setattr(thread, "start", thread.run)
        return thread

    monkeypatch.setattr(driver, "Thread", run_at_once)
    driver.start_driver(line.split())
    assert started == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("line", "files", "visible", "expected"),
    [
        ("map --device cuda:2,5 a.fa", 0, None, [2, 5]),
        ("map --device cuda:5,5 a.fa", 4, None, None),
        ("realign a.bam b.fa", 2, None, []),
        ("chain a.fa b.fq --device=cuda --processes 4", 2, "0,1", []),
        ("chain a.fa b.fq --device=cuda --processes=1", 2, "0,1", None),
        ("genotype a.bam", 2, "1", None),
        ("genotype a.bam", 1, "0,1", None),
        ("pairhmm a.bam b.fa", 2, "", None),
        ("call a.bam", 2, None, None),
    ],
)
def test_where_a_scout_looks(
    line: str,
    files: int,
    visible: str | None,
    expected: list[int] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(files):
        (tmp_path / f"nvidia{number}").touch()
    for name in ("nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()
    monkeypatch.setattr(driver, "_DEVICE_FILES", tmp_path)
    monkeypatch.setattr(driver, "_are_small", lambda _: False)
    monkeypatch.setattr(driver, "_start", lambda _: None)
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    sent: list[list[int]] = []
    monkeypatch.setattr(scout, "Scout", sent.append)
    monkeypatch.setattr(driver, "_scouts", [])
    driver.start_driver(line.split())
    assert sent == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("realign half half", None),
        ("realign half half --processes 2", []),
        ("realign half more", []),
        ("realign - half", []),
        ("realign pipe half", []),
        ("realign half half -o /dev/null", None),
        ("realign absent half", None),
    ],
)
def test_small_files_need_no_scout(
    line: str, expected: list[int] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half").write_bytes(bytes(50))
    (tmp_path / "more").write_bytes(bytes(51))
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(driver, "_SMALL_BYTES", 100)
    monkeypatch.setattr(driver, "_are_several", lambda _: True)
    monkeypatch.setattr(driver, "_start", lambda _: None)
    sent: list[list[int]] = []
    monkeypatch.setattr(scout, "Scout", sent.append)
    monkeypatch.setattr(driver, "_scouts", [])
    driver.start_driver(line.split())
    assert sent == ([] if expected is None else [expected])


def test_a_machine_without_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_LIBRARY", "libnothing.so.1")
    driver._start([])
