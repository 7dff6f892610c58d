"""Signals, at a random moment of each command and in the middle of work.

`signal_run` tries more moments.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from tests.faults.checks import contents
from tests.faults.commands import COMMANDS, Command, each_format
from tests.faults.good_outputs import GoodOutputs
from tests.faults.signals import SIGNALS, faults, interrupt

_SECONDS = 1.2  # the duration of most runs


@pytest.mark.parametrize("command", each_format())
def test_nothing_is_left(directory: Path, good_outputs: GoodOutputs, command: Command) -> None:
    number = COMMANDS.index(command)
    sent = SIGNALS[number % len(SIGNALS)]
    expected = good_outputs.files(command)
    moment = Random(number).uniform(0, _SECONDS)  # noqa: S311  (a moment, not a secret)
    outcome = interrupt(command, directory, sent, moment)
    assert not faults(outcome, 128 + sent, expected, directory), outcome


@pytest.mark.parametrize(
    ("sent", "output", "threads"),
    [
        (signal.SIGINT, "out.sam", "1"),
        (signal.SIGINT, "out.sam", "2"),
        (signal.SIGINT, "out.bam", "1"),
        (signal.SIGINT, "out.bam", "2"),
        (signal.SIGINT, "out.paf", "2"),
        (signal.SIGTERM, "out.bam", "2"),
        (signal.SIGHUP, "out.bam", "2"),
        (signal.SIGINT, "aligned.bam", "2"),
        (signal.SIGTERM, "aligned.paf", "1"),
    ],
)
def test_a_partial_output(
    directory: Path,
    tmp_path_factory: pytest.TempPathFactory,
    sent: signal.Signals,
    output: str,
    threads: str,
) -> None:
    """While it waits for reads, with a partial output; PAF and aligned reads are those of chain."""
    before = contents(directory)
    temporary = tmp_path_factory.mktemp("temporary")
    command = [sys.executable, "-c", "from hapgpu.cli.app import main; main()"]
    subcommand = "map" if output in {"out.sam", "out.bam"} else "chain"
    words = [subcommand, "reference.fa", "-", "-o", output, "-q", "--device", "cpu", "-t", threads]
    words += ["-c"] * output.startswith("aligned")
    with subprocess.Popen(
        [*command, *words],
        cwd=directory,
        env=os.environ | {"TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while process.poll() is None and not any(directory.glob(f".{output}.*.tmp")):
            time.sleep(0.01)
        assert process.poll() is None
        process.send_signal(sent)
        assert process.wait() == 128 + sent
        assert process.stderr
        printed = process.stderr.read()
    assert printed == (
        "" if sent == signal.SIGINT else f"hapgpu {subcommand}: stopped by {sent.name}\n"
    )
    assert contents(directory) == before
    assert not [*temporary.iterdir()]
