"""The program `hapgpu`: its streams and signals first, then its command line."""

from __future__ import annotations

import signal

# Ctrl-C ends the process without a word from here on, until its handlers are there.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import atexit
import gc
import sys
from typing import Final, NoReturn

from hapgpu.cli.terminal.signals import end_on_signals
from hapgpu.cli.terminal.streams import secure_standard_streams

_OBJECTS_BETWEEN_COLLECTIONS: Final = 100_000


def main() -> NoReturn:
    """Run the command line of this process and end with its status."""
    secure_standard_streams()
    end_on_signals(" ".join(["hapgpu", *(name for name in sys.argv[1:2] if name.isalpha())]))
    _keep_objects()
    # Imports Typer: a signal cannot wait for that.
    from hapgpu.cli.command_line import run  # noqa: PLC0415

    run(sys.argv[1:])


def _keep_objects() -> None:
    """Let the collector be.

    The compiler's many objects live as long as the process: to look through them again and again
    while it loads, and once more at the end, would take a third of a second.
    """
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)
