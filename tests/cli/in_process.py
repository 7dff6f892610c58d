"""Runs of the command line in this process."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from hapgpu.cli.command_line import run


@contextmanager
def restored_messages() -> Iterator[None]:
    """Restore the logger of the package afterwards."""
    logger = logging.getLogger("hapgpu")
    before = logger.handlers, logger.propagate, logger.level
    try:
        yield
    finally:
        logger.handlers, logger.propagate, logger.level = before


def error_of_command(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the error of a command that failed, its only output."""
    captured = capsys.readouterr()
    assert not captured.out
    return only_error(command, captured.err)


def only_error(command: str, printed: str) -> str:
    """Return the error in the messages of a run, which otherwise hold only notes on the run.

    If compiling took long, there may also be a line of progress.
    """
    notes = rf"hapgpu {command}: (device:|no index for |\S+: older than |\S+: no base in common |"
    notes += r"[0-9,]+ (of [0-9,]+ )?(reads|sites|bases), )"
    lines = [line for line in printed.splitlines() if not re.match(notes, line)]
    assert len(lines) == 1, lines
    assert lines[0].startswith(f"hapgpu {command}: error: ")
    assert "error: unexpected" not in lines[0]
    return lines[0]


def status_of_command(command: str, *arguments: str | Path) -> int:
    """Run a subcommand; return its exit status."""
    with (
        restored_messages(),
        patch.object(sys, "argv", ["hapgpu", command, *map(str, arguments)]),
        # The command exits at once, even if a thread waits for input; these tests must not.
        patch.object(os, "_exit", sys.exit),
    ):
        try:
            run(sys.argv[1:])
        except SystemExit as end:
            return int(end.code or 0)
    return 0
