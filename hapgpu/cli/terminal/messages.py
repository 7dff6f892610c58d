"""What a command says on standard error, and how its faults become an exit status."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

import typer

from hapgpu.cli.terminal.signals import wait_if_ending
from hapgpu.errors import DeviceError, HapgpuError, OutputError, UsageError
from hapgpu.runtime import leftovers

if TYPE_CHECKING:
    import logging

INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
_UsageFault: Final = cast("type[Exception]", typer.BadParameter.__base__)
_DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


def set_up_messages(command: str, *, quiet: bool, verbose: bool, debug: bool) -> None:
    """Send the messages of the package's loggers to standard error.

    Warnings are shown, with `quiet` only errors, with `verbose` what is being done, with `debug`
    everything.
    """
    import logging  # noqa: PLC0415  (help, which needs none, is to come at once)

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(f"hapgpu {command}: %(message)s"))
    handler.addFilter(_make_printable)
    logger = logging.getLogger("hapgpu")
    logger.handlers = [handler]
    logger.propagate = False
    chosen = [logging.DEBUG] * debug + [logging.INFO] * verbose + [logging.ERROR] * quiet
    logger.setLevel(chosen[0] if chosen else logging.WARNING)
    if not debug and sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _leave_out_cuda


def _leave_out_cuda(unraisable: sys.UnraisableHookArgs) -> None:
    """Pass over what a lost GPU makes CuPy's objects say at their end: it is told by an error."""
    if unraisable.exc_value is None or not _is_of_cuda(unraisable.exc_value):
        sys.__unraisablehook__(unraisable)


def _make_printable(record: logging.LogRecord) -> bool:
    record.msg, record.args = _printable(record.getMessage()), ()
    return True


def _printable(text: str) -> str:
    """Return one line: names come from inputs, and a terminal obeys some characters."""
    characters = " ".join(text.split())
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in characters
    )


@contextmanager
def faults_explained(program: str, *, debug: bool) -> Iterator[None]:
    """Turn every error within into one line and the exit status of its kind.

    Parameters
    ----------
    program
        What the line begins with, such as `hapgpu realign`.
    debug
        Whether to show where an error came from.
    """
    try:
        with _written_out():
            yield
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        _leave(program, end.__context__, debug=debug)  # rich makes a status of its own of it
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (told to the user)
        _leave(program, error, debug=debug)


@contextmanager
def _written_out() -> Iterator[None]:
    """Write out standard output at the end, which Typer's options may bring about."""
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
        import traceback  # noqa: PLC0415  (as above)

        traceback.print_exception(error)
    status, message = explain(error)
    if message:
        sys.stderr.write(f"{program}: error: {message}\n")
    with suppress(Exception):  # the first error is the one that counts
        sys.stdout.flush()
    sys.stderr.flush()
    # Nothing that the interpreter does at its end could help any more, and much could fail: text
    # waits for a closed pipe, a thread for standard input, a GPU was lost.
    with leftovers.steady():
        leftovers.clear_up()
        os._exit(status)


def explain(error: BaseException) -> tuple[int, str]:
    """Return the exit status for an error, and the line that tells it; empty for none."""
    status, message = _explain(error)
    return status, _printable(message)


def _explain(error: BaseException) -> tuple[int, str]:
    match error:
        case HapgpuError():
            explained = error.exit_code, str(error)
        case KeyboardInterrupt():
            explained = INTERRUPTED, ""
        case BrokenPipeError():
            explained = BROKEN_PIPE, ""
        case _ if _is_of_cuda(error):
            explained = DeviceError.exit_code, f"the GPU failed: {error}"
        case MemoryError():
            explained = 1, "not enough memory; fewer threads (-t) need less"
        case OSError():
            place = f"{error.filename}: " if error.filename else _lost_folder()
            status = OutputError.exit_code if error.errno in _DISK_FULL else 1
            explained = status, f"{place}{error.strerror or error}"
        case _UsageFault():
            explained = UsageError.exit_code, _usage(error)
        case _:
            what = f"unexpected {type(error).__name__}: {error}"
            explained = 1, f"{what} (please run it again with --debug and report what it prints)"
    return explained


def _lost_folder() -> str:
    """Return the words for a working folder that was removed, where it was."""
    try:
        os.getcwd()  # noqa: PTH109  (no object is needed)
    except OSError:
        return "the working folder is gone; change to another one: "
    return ""


def _is_of_cuda(error: BaseException) -> bool:
    """Whether CuPy raised an error, which is not imported here for that."""
    return type(error).__module__.partition(".")[0] in {"cupy", "cupy_backends"}


def _usage(error: Any) -> str:
    """Return what Typer says of a command line, and where its options are listed."""
    command = error.ctx.command_path if error.ctx else "hapgpu"
    return f"{error.format_message().rstrip('.')}; run: {command} --help"
