"""The program `hapgpu`: standard streams and signals, then the command line."""

from __future__ import annotations

import signal

# Until the handlers are set, Ctrl-C ends the process without a traceback.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import gc
import os
import sys
from contextlib import suppress
from typing import Final, NoReturn

from hapgpu.cli.gatk.tool import equivalent_command, program_of
from hapgpu.cli.terminal.process import end_on_signals, secure_standard_streams
from hapgpu.runtime.driver import start_driver

_COLLECTION_THRESHOLD: Final = 100_000


def main() -> NoReturn:
    """Run the command line of this process and exit with its status."""
    secure_standard_streams()
    end_on_signals(program_of(sys.argv[1:]))
    start_driver(equivalent_command(sys.argv[1:]))
    # What is imported lives as long as the process: see `collect_from_now_on`.
    gc.set_threshold(_COLLECTION_THRESHOLD)
    gc.disable()
    from hapgpu.cli.command_line import run  # noqa: PLC0415  (Typer is slow: signals come first)

    try:
        run(sys.argv[1:])
    except SystemExit as end:
        with suppress(OSError):
            sys.stderr.flush()
        # The interpreter's own end gives the signals back first: one that arrives then would end
        # the process with a status that denies the complete result. Nothing is left to clean up.
        os._exit(end.code if isinstance(end.code, int) else 0)
