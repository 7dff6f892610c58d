"""What a command says on standard error, and how its faults become an exit status."""

from __future__ import annotations

import errno
import functools
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

import typer

from hapgpu.errors import HapgpuError, OutputError

_Return = TypeVar("_Return")

INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
_DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


def set_up_messages(command: str, *, quiet: bool, verbose: bool, debug: bool) -> None:
    """Send the messages of the package's loggers to standard error.

    Warnings are shown, with `quiet` only errors, with `verbose` what is being done, with `debug`
    everything.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(f"hapgpu {command}: %(message)s"))
    logger = logging.getLogger("hapgpu")
    logger.handlers = [handler]
    logger.propagate = False
    chosen = [logging.DEBUG] * debug + [logging.INFO] * verbose + [logging.ERROR] * quiet
    logger.setLevel(chosen[0] if chosen else logging.WARNING)


def guarded(program: str, run: Callable[..., _Return], *, debug: bool) -> Callable[..., _Return]:
    """Return `run`, with every error turned into one line and the exit status of its kind.

    Parameters
    ----------
    program
        What the line begins with, such as `hapgpu realign`.
    run
        The function of a subcommand, whose signature is kept.
    debug
        Whether to show where an error came from.
    """

    @functools.wraps(run)
    def guarded_run(*args: object, **kwargs: object) -> _Return:
        try:
            result = run(*args, **kwargs)
            sys.stdout.flush()
        except (typer.Exit, typer.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (told to the user)
            if debug:
                traceback.print_exc()
            _leave(program, error)
        return result

    return guarded_run


def _leave(program: str, error: BaseException) -> NoReturn:
    status, message = explain(error)
    if message:
        sys.stderr.write(f"{program}: error: {message}\n")
        sys.stderr.flush()
    if status == BROKEN_PIPE or any(thread.daemon for thread in threading.enumerate()):
        # Text that waits for a closed pipe, or a reader that waits for standard input, would
        # make the interpreter's own end fail.
        os._exit(status)
    raise SystemExit(status)


def explain(error: BaseException) -> tuple[int, str]:
    """Return the exit status for an error, and the line that tells it; empty for none."""
    match error:
        case HapgpuError():
            return error.exit_code, _one_line(str(error))
        case KeyboardInterrupt():
            return INTERRUPTED, ""
        case BrokenPipeError():
            return BROKEN_PIPE, ""
        case MemoryError():
            return 1, "not enough memory; fewer threads (-t) need less"
        case OSError():
            place = f"{error.filename}: " if error.filename else ""
            status = OutputError.exit_code if error.errno in _DISK_FULL else 1
            return status, _one_line(f"{place}{error.strerror or error}")
    return 1, _one_line(
        f"unexpected {type(error).__name__}: {error}"
        " (please run it again with --debug and report what it prints)"
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
