"""Runs of the command line in this process."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from hapgpu.cli.app import main


@contextmanager
def _messages_as_before() -> Iterator[None]:
    """Undo what a command does to the logger of the package."""
    logger = logging.getLogger("hapgpu")
    before = logger.handlers, logger.propagate, logger.level
    try:
        yield
    finally:
        logger.handlers, logger.propagate, logger.level = before


def status_of_command(command: str, *arguments: str | Path) -> int:
    """Run a subcommand; return its exit status."""
    with (
        _messages_as_before(),
        patch.object(sys, "argv", ["hapgpu", command, *map(str, arguments)]),
        # The command leaves at once where a thread still waits for input; not so these tests.
        patch.object(os, "_exit", sys.exit),
    ):
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
    return 0
