"""Processes of their own for GPUs: the same results, errors and ends; on one GPU, too."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.devices.gpu_runs import GPU, RUNS, Run, content_of, make_inputs, names_in, status_of
from tests.faults.processes.worker_processes import wait_for_workers, workers_of

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).resolve().parents[3]
TIMEOUT = 120
NAMES = [
    name for name in RUNS if name not in {"call", "index", "anchors"}
]  # these use one process for all GPUs


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = make_inputs(tmp_path_factory.mktemp("gpu") / "inputs")
    assert status_of(RUNS["index"], directory, directory / "reference.fa.hgx", GPU) == 0
    return directory


@pytest.fixture(scope="module")
def expected(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the results of threads."""
    directory = tmp_path_factory.mktemp("expected")
    found = {}
    for name in NAMES:
        run = RUNS[name]
        assert status_of(run, inputs, run.output(directory), GPU) == 0
        found[name] = content_of(run.output(directory))
    return found


def started(
    run: Run, inputs: Path, output: Path, processes: int, *options: str
) -> subprocess.Popen[str]:
    forced = [sys.executable, "-m", "tests.cli.devices.forced_processes", str(processes)]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [*forced, run.command, *run.arguments(inputs, output), "--device", GPU, *options],
        env={**os.environ, "PYTHONPATH": path},
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a run; return its status and messages, and check that its processes ended."""
    _, printed = process.communicate(timeout=TIMEOUT)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    return process.returncode, printed


@pytest.mark.parametrize("processes", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_same_results(
    name: str, processes: int, inputs: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    run = RUNS[name]
    assert ended(started(run, inputs, run.output(tmp_path), processes)) == (0, "")
    assert content_of(run.output(tmp_path)) == expected[name]


def test_one_process_if_wanted(inputs: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    run = RUNS["chain"]
    process = started(run, inputs, run.output(tmp_path), 2, "--processes", "1")
    assert ended(process) == (0, "")
    assert content_of(run.output(tmp_path)) == expected["chain"]


@pytest.mark.parametrize("name", NAMES)
def test_little_memory(name: str, inputs: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    """The same result; or one line, where an index does not fit."""
    run = RUNS[name]
    process = started(run, inputs, run.output(tmp_path), 2, "--gpu-mem", "100M")
    assert ended(process) == (0, "")
    assert content_of(run.output(tmp_path)) == expected[name]


def damaged(content: bytes) -> Sequence[bytes]:
    """Return a file without its end, and one with other bytes in the middle."""
    middle = len(content) // 2
    return content[:-200], content[:middle] + bytes(100) + content[middle + 100 :]


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_same_errors(
    name: str, kind: int, inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RUNS[name]
    (tmp_path / "inputs").mkdir()
    for path in inputs.iterdir():
        (tmp_path / "inputs" / path.name).symlink_to(path)
    reads = next((word for word in run.files if "fastq" in word or word == "hmm.in"), "reads.bam")
    path = tmp_path / "inputs" / reads
    content = path.read_bytes()
    if "fastq" in reads:  # the size of blocks decides which fault of a compressed file is first
        content = gzip.decompress(content)
    path.unlink()
    path.write_bytes(damaged(content)[kind])
    os.utime(path, ns=(0, 0))  # older than its index
    (tmp_path / "out").mkdir()
    output = run.output(tmp_path / "out")
    status = status_of(run, tmp_path / "inputs", output, GPU)
    wanted = capsys.readouterr().err
    output.unlink(missing_ok=True)
    assert ended(started(run, tmp_path / "inputs", output, 2)) == (status, wanted)
    assert not status or not names_in(tmp_path / "out")


@pytest.fixture(scope="module")
def long_run(inputs: Path) -> Run:
    reads = (inputs / "reads.fastq.gz").read_bytes()
    (inputs / "many.fastq.gz").write_bytes(reads * 300)
    return Run("many", "map", ("reference.fa.hgx", "many.fastq.gz"), ".sam", ("--no-PG",))


@pytest.mark.parametrize("seconds", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(
    number: signal.Signals, seconds: float, inputs: Path, long_run: Run, tmp_path: Path
) -> None:
    """Of a terminal, which reach all processes, and the scout."""
    process = started(long_run, inputs, long_run.output(tmp_path), 2)
    if seconds:
        wait_for_workers(process)
        time.sleep(seconds)
    os.killpg(process.pid, number)
    status, printed = ended(process)
    assert "Traceback" not in printed
    assert status in {0, 128 + number, -number}  # the last before there are handlers
    assert not status or not names_in(tmp_path)


@pytest.mark.parametrize("seconds", [0.0, 0.5])
def test_a_process_that_is_killed(
    seconds: float, inputs: Path, long_run: Run, tmp_path: Path
) -> None:
    process = started(long_run, inputs, long_run.output(tmp_path), 2)
    wait_for_workers(process)
    time.sleep(seconds)
    for worker in workers_of(process.pid)[-1:]:
        os.kill(worker, signal.SIGKILL)
    status, printed = ended(process)
    if status:
        assert "was killed, perhaps because memory ran out" in printed
        assert len(printed.splitlines()) == 1
        assert not names_in(tmp_path)
