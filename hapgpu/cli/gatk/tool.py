"""The name of the tool, and the arguments of GATK's launcher before it; imports nothing heavy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

TOOL: Final = "HaplotypeCaller"
SUMMARY: Final = "Run command lines of GATK HaplotypeCaller, by call."
_LAUNCHER: Final = {
    "--java-options": 2,
    "--debug-port": 2,
    "--spark-runner": 2,
    "--spark-submit-command": 2,
    "--debug-suspend": 1,
    "--dry-run": 1,
}
"""Arguments that the script `gatk` takes away before the tool gets its own: words of each."""


def tool_arguments(arguments: Sequence[str]) -> list[str] | None:
    """Return the arguments of HaplotypeCaller, those of the launcher included; None for others.

    Parameters
    ----------
    arguments
        The command line after the name of the program: `--java-options -Xmx4g HaplotypeCaller -R
        ref.fa`, for a link named `gatk`.
    """
    at = 0
    while at < len(arguments) and arguments[at] in _LAUNCHER:
        at += _LAUNCHER[arguments[at]]
    if at < len(arguments) and arguments[at] == TOOL:
        return [*arguments[:at], *arguments[at + 1 :]]
    return None


def equivalent_command(arguments: Sequence[str]) -> list[str]:
    """Return a command line whose first word is the command of hapgpu that it runs."""
    own = tool_arguments(arguments)
    return [*arguments] if own is None else ["call", *own]


def program_of(arguments: Sequence[str]) -> str:
    """Return the start of the messages of a command line, such as `hapgpu map`."""
    if tool_arguments(arguments) is not None:
        return f"hapgpu {TOOL}"
    return " ".join(["hapgpu", *(name for name in arguments[:1] if name.isalpha())])
