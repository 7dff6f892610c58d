"""Messages on standard error, and the exit status and message of each error."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NoReturn

import typer

from hapgpu.cli.terminal.live_line import MessageStream
from hapgpu.cli.terminal.process import wait_if_ending
from hapgpu.errors import DeviceError, HapgpuError, OutputError
from hapgpu.runtime import leftovers

if TYPE_CHECKING:
    import logging

INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
_DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


def set_up_messages(command: str, *, quiet: bool, verbose: bool, debug: bool) -> None:
    """Send the messages of the package's loggers to standard error.

    Warnings are shown; `quiet` shows errors only, `verbose` also information, `debug` everything.
    """
    import logging  # noqa: PLC0415  (the help does not need it)

    handler = logging.StreamHandler(MessageStream())
    handler.setFormatter(logging.Formatter(f"hapgpu {command}: %(message)s"))
    handler.addFilter(_make_printable)
    logger = logging.getLogger("hapgpu")
    logger.handlers = [handler]
    logger.propagate = False
    chosen = [logging.DEBUG] * debug + [logging.INFO] * verbose + [logging.ERROR] * quiet
    logger.setLevel(chosen[0] if chosen else logging.WARNING)
    if not debug and sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _drop_cuda_errors


def _drop_cuda_errors(unraisable: sys.UnraisableHookArgs) -> None:
    """Drop errors of CuPy's destructors after the loss of a GPU, which is reported as an error."""
    if unraisable.exc_value is None or not _is_of_cuda(unraisable.exc_value):
        sys.__unraisablehook__(unraisable)


def _make_printable(record: logging.LogRecord) -> bool:
    record.msg, record.args = printable(record.getMessage()), ()
    return True


def printable(text: str) -> str:
    """Return text as one printable line: names come from inputs and may hold control characters."""
    characters = " ".join(text.split())
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in characters
    )


@contextmanager
def faults_explained(program: str, *, debug: bool) -> Iterator[None]:
    """Turn every error inside into one line and the exit status of its kind.

    Parameters
    ----------
    program
        The start of the line, such as `hapgpu realign`.
    debug
        Whether to print tracebacks.
    """
    try:
        with _flushed_output():
            yield
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        _leave(program, end.__context__, debug=debug)  # rich exits with another status
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (reported to the user)
        _leave(program, error, debug=debug)


@contextmanager
def _flushed_output() -> Iterator[None]:
    """Flush standard output at the end, which options such as --help may cause."""
    status = 0
    try:
        yield
    except typer.Exit as end:
        status = end.exit_code
    sys.stdout.flush()
    if status:
        raise SystemExit(status)


def _leave(program: str, error: BaseException, *, debug: bool) -> NoReturn:
    wait_if_ending()
    if debug:
        import traceback  # noqa: PLC0415  (only with --debug)

        traceback.print_exception(error)
    status, message = explain(error)
    if message:
        sys.stderr.write(f"{program}: error: {message}\n")
    with suppress(Exception):  # only the first error is reported
        sys.stdout.flush()
    sys.stderr.flush()
    # The interpreter's own exit is not needed, and may fail or hang: text waits for a closed pipe,
    # a thread waits for standard input, a GPU is lost.
    with leftovers.steady():
        leftovers.clear_up()
        os._exit(status)


def explain(error: BaseException) -> tuple[int, str]:
    """Return the exit status of an error, and its message, which may be empty."""
    status, message = _explain(error)
    return status, printable(message)


def _explain(error: BaseException) -> tuple[int, str]:
    match error:
        case HapgpuError():
            explained = error.exit_code, str(error)
        case KeyboardInterrupt():
            explained = INTERRUPTED, ""
        case BrokenPipeError():
            explained = BROKEN_PIPE, ""
        case _ if _is_of_cuda(error):
            explained = DeviceError.exit_code, f"GPU: failed ({error})"
        case MemoryError():
            explained = 1, "out of memory; use fewer threads (-t)"
        case OSError():
            status = OutputError.exit_code if error.errno in _DISK_FULL else 1
            explained = status, _of_system(error)
        case _:
            what = f"unexpected {type(error).__name__}: {error}"
            explained = 1, f"{what}; run it again with --debug and report the output"
    return explained


def _of_system(error: OSError) -> str:
    """Return the message of an error of the system; without a file, the directory may be lost."""
    fault = error.strerror or str(error)
    if error.filename:
        return f"{error.filename}: {fault}"
    try:
        os.getcwd()  # noqa: PTH109  (no object is needed)
    except OSError:
        return "working directory: was removed; change to another one"
    return fault


def _is_of_cuda(error: BaseException) -> bool:
    """Whether CuPy raised an error; found without importing CuPy."""
    return type(error).__module__.partition(".")[0] in {"cupy", "cupy_backends"}
