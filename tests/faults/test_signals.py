"""A signal at a random moment of each command; `signal_run` tries more of them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.faults.commands import COMMANDS, Command
from tests.faults.signals import SIGNALS, faults, interrupt, whole_outputs

_SECONDS = 1.2  # that most runs take


@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=lambda n: COMMANDS[n].name)
def test_nothing_is_left(folder: Path, number: int) -> None:
    command: Command = COMMANDS[number]
    sent = SIGNALS[number % len(SIGNALS)]
    expected = whole_outputs(command, folder)
    moment = Random(number).uniform(0, _SECONDS)  # noqa: S311  (a moment, not a secret)
    outcome = interrupt(command, folder, sent, moment)
    assert not faults(outcome, sent, expected, folder), outcome
