"""Scripts without `if __name__ == "__main__"` that run pipelines in processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

WORK = """
import os, sys, threading
from itertools import count
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.processes.forked import Processes

written = []

def run(source, workers=4, processes=3):
    def work(value):
        return value, os.getpid()

    def write(result):
        written.append(result)
        return 1

    run_pipeline(source, [work] * workers, write, processes=Processes(processes))
"""
ENDS = {
    "main": "run(range(20))",
    "thread": "thread = threading.Thread(target=run, args=(range(20),)); thread.start();"
    " thread.join()",
    "daemon": "thread = threading.Thread(target=run, args=(range(20),), daemon=True);"
    " thread.start(); thread.join()",
    "twice": "run(range(10)); run(range(10, 20))",
    "collected": "import gc; gc.set_threshold(1); run(range(20))",
}
CHECK = """
assert [value for value, _ in written] == list(range(20)), written
assert os.getpid() not in {process for _, process in written}
assert threading.active_count() == 1
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("done")
"""
ENDLESS = """
def source():
    for value in count():
        if value == 50:
            print("runs", flush=True)
        yield value

def drop(result):
    return 1

run_pipeline(source(), [lambda value: value] * 4, drop, processes=Processes(2))
"""


def started(path: Path, script: str) -> subprocess.Popen[str]:
    path.write_text(script)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(path)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("end", ENDS)
def test_results(tmp_path: Path, end: str) -> None:
    with started(tmp_path / "script.py", WORK + ENDS[end] + CHECK) as process:
        assert process.communicate() == ("done\n", "")
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_with_the_run(tmp_path: Path, number: signal.Signals) -> None:
    """They have its standard output: it ends with the last of them."""
    with started(tmp_path / "script.py", WORK + ENDLESS) as process:
        assert process.stdout
        assert process.stdout.readline() == "runs\n"
        process.send_signal(number)
        assert process.stdout.read() == ""
    assert process.returncode == -number


def test_ctrl_c(tmp_path: Path) -> None:
    """It reaches all processes of a terminal; the run ends with `KeyboardInterrupt`, once."""
    restore = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    with started(tmp_path / "script.py", restore + WORK + ENDLESS) as process:
        assert process.stdout
        assert process.stdout.readline() == "runs\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert not out
    assert err.rstrip().endswith("\nKeyboardInterrupt")
    assert err.count("Traceback") == 1
