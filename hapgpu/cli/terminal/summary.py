"""The first line of a run on standard error, its warnings, and its closing summary."""

from __future__ import annotations

import logging
import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hapgpu.cli.terminal import live_line
from hapgpu.cli.terminal.messages import printable
from hapgpu.cli.terminal.work import short_number
from hapgpu.runtime.statistics import COMPILE, RunStatistics, busy_fractions, working_seconds

logger = logging.getLogger(__name__)

_MAX_STAGES: Final = 3
_MIN_SECONDS: Final = 0.001
_WORTH_SAYING: Final = 0.1
_SINGULARS: Final = {"batches": "batch"}


def announce(command: str, device: str, *, compiled: int) -> None:
    """Name the devices of a run on standard error.

    `compiled` is the number of functions and kernels that it compiles first.
    """
    sys.stderr.write(f"hapgpu {command}: {device}\n")
    if compiled:
        what = f"compiling {compiled} functions for this machine"
        sys.stderr.write(f"hapgpu {command}: {what}; later runs find them\n")


def warn(counts: Mapping[str, int], warnings: Mapping[str, str]) -> None:
    """Log warnings for some counts that are not 0: the number, and the words after it."""
    for name, words in warnings.items():
        if number := counts.get(name):
            logger.warning("%d %s", number, words)


def is_watched(*, shows_output: bool) -> bool:
    """Tell whether somebody watches the run: a terminal, and no pipe that takes the output.

    Parameters
    ----------
    shows_output
        Whether the output goes to standard output.
    """
    if not sys.stderr.isatty():
        return False
    try:
        return not (shows_output and stat.S_ISFIFO(os.fstat(1).st_mode))
    except OSError:
        return True


def summarize(
    command: str,
    statistics: RunStatistics,
    shown: Sequence[str],
    *,
    output: str,
) -> None:
    """Write the closing summary of a run to standard error: counts, rate, where it went.

    Parameters
    ----------
    command
        The subcommand.
    statistics
        The statistics of the run.
    shown
        Names of counts, the one whose rate is shown first.
    output
        The file that was written; `-` is standard output.
    """
    with live_line.erased():
        for line in summary_lines(statistics.as_dict(), shown, output):
            sys.stderr.write(f"hapgpu {command}: {printable(line)}\n")


def summary_lines(
    statistics: Mapping[str, Any], shown: Sequence[str], output: str
) -> Iterator[str]:
    """Yield the three lines of a summary; `statistics` are as `--json` writes them."""
    counts = statistics["counts"]
    number, first = counts.get(shown[0], 0), shown[0].replace("_", " ")
    numbers = [_counted(name, counts[name]) for name in shown if counts.get(name)]
    yield ", ".join(numbers) or f"no {first}"
    compiling = statistics["seconds"].get(COMPILE, 0.0)
    seconds = max(working_seconds(statistics), _MIN_SECONDS)
    compiled = f" after {compiling:.1f} s of compiling" if compiling >= _WORTH_SAYING else ""
    yield f"{short_number(number / seconds)} {first}/s, {seconds:.2f} s{compiled}"
    longest = sorted(busy_fractions(statistics).items(), key=lambda stage: -stage[1])[:_MAX_STAGES]
    stages = ", ".join(f"{stage} {100 * fraction:.0f} %" for stage, fraction in longest)
    where = "standard output" if output == "-" else output
    yield f"written to {where}" + (f"; busy: {stages}" if stages else "")


def _counted(name: str, number: int) -> str:
    """Return a count in words, such as `1 no call`."""
    one = _SINGULARS.get(name, name.removesuffix("s"))
    return f"{number:,} {(one if number == 1 else name).replace('_', ' ')}"
