"""Runs of the command line in this process."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NoReturn
from unittest.mock import patch

import pytest

from hapgpu.cli import command_line


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


built = cache(command_line.built_command)
"""Returns a command, made once: it takes 5 ms."""


def _exit_but_here(process: int, leave: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
    """Return what replaces `os._exit`, by which a run ends at once; these tests must not end.

    Processes that the run forks do end.
    """

    def end(status: int) -> NoReturn:
        if os.getpid() != process:
            leave(status)
        sys.exit(status)

    return end


def status_of_command(command: str, *arguments: str | Path) -> int:
    """Run a subcommand; return its exit status."""
    with (
        restored_messages(),
        patch.object(sys, "argv", ["hapgpu", command, *map(str, arguments)]),
        patch.object(command_line, "built_command", built),
        patch.object(os, "_exit", _exit_but_here(os.getpid(), os._exit)),
    ):
        try:
            command_line.run(sys.argv[1:])
        except SystemExit as end:
            return int(end.code or 0)
    return 0
