"""Signals at random moments of every command: no file or process may remain.

`python -m tests.faults.signal_run --moments 300` prints a line per fault and a table of the exit
statuses, and ends with 1 if there was a fault.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.faults.commands import COMMANDS, Command
from tests.faults.made.inputs import make_inputs
from tests.faults.signals import SIGNALS, faults, interrupt, seconds_of, whole_outputs


@dataclass(frozen=True)
class Whole:
    """Outputs and duration of an uninterrupted run of a command."""

    outputs: dict[str, bytes]
    seconds: float


def main(moments: int, seed: int) -> int:
    """Interrupt so many runs; return the number of runs with a fault."""
    random = Random(seed)  # noqa: S311  (moments, not secrets)
    statuses: Counter[tuple[str, int]] = Counter()
    bad = 0
    with tempfile.TemporaryDirectory() as root:
        inputs = Path(root, "inputs")
        inputs.mkdir()
        make_inputs(inputs, Path(root, "example"))
        whole = {command.name: _whole(command, inputs) for command in COMMANDS}
        for number in range(moments):
            command = COMMANDS[number % len(COMMANDS)]
            sent = SIGNALS[number // len(COMMANDS) % len(SIGNALS)]
            moment = _moment(random, whole[command.name].seconds)
            directory = _copy(inputs)
            outcome = interrupt(command, directory, sent, moment)
            found = faults(outcome, 128 + sent, whole[command.name].outputs, directory)
            statuses[sent.name, outcome.status] += 1
            bad += bool(found)
            if found:
                print(f"{command.name} {sent.name} {moment:.2f} s: {'; '.join(found)}", flush=True)
    for (name, status), count in sorted(statuses.items()):
        print(f"{name}\tstatus {status}\t{count}")
    print(f"{moments} moments, {bad} with a fault")
    return bad


def _whole(command: Command, inputs: Path) -> Whole:
    directory = _copy(inputs)
    return Whole(whole_outputs(command, directory), seconds_of(command, directory))


def _copy(inputs: Path) -> Path:
    """Return a directory with fresh copies of all inputs."""
    directory = inputs.with_name("work")
    shutil.rmtree(directory, ignore_errors=True)
    return shutil.copytree(inputs, directory)


def _moment(random: Random, seconds: float) -> float:
    """Draw a moment, half of them from the last part: most of the time goes into imports."""
    if random.random() < 0.5:
        return random.uniform(0, seconds)
    return random.uniform(0.6 * seconds, seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    sys.exit(bool(main(chosen.moments, chosen.seed)))
