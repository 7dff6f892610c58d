"""The help of commands: plain text, 80 columns wide, made of their descriptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Final

from hapgpu.cli.catalogue import commands_of, description_of, summary_of
from hapgpu.cli.gatk.tool import TOOL
from hapgpu.cli.parameters import Description, Parameter

_WIDTH: Final = 80
_COLUMN: Final = 26
"""Where the meanings of options start; a longer name has its meaning below it."""


def help_text(*words: str) -> str:
    """Return the help of a command or group; no words: of `hapgpu`."""
    names = commands_of(*words)
    lines = _of_group(words, names) if names else _of_command(description_of(*words))
    return "\n".join(lines) + "\n"


def _of_group(words: tuple[str, ...], names: Mapping[str, str]) -> Iterator[str]:
    program = " ".join(["hapgpu", *words])
    yield f"Usage: {program} COMMAND [OPTIONS]"
    yield from ("", f"  {summary_of(*words)}", "", "Commands:")
    column = max(map(len, names)) + 4
    for name, summary in names.items():
        yield from _entry(name, summary, column)
    if not words:
        yield from ("", f"hapgpu {TOOL}: command lines of GATK, run by call.")
    yield from ("", f"{' '.join(['hapgpu help', *words])} COMMAND: the options of a command.")


def _of_command(command: Description) -> Iterator[str]:
    yield from _wrapped(f"Usage: {command.usage}", "", "    ")
    for paragraph in command.text.split("\n\n"):
        yield from ("", *_wrapped(paragraph, "  ", "  "))
    panels: dict[str, list[Parameter]] = {"Arguments": [*command.arguments], "Options": []}
    for option in command.options:
        panels.setdefault(option.panel, []).append(option)
    for panel, parameters in panels.items():
        if parameters:
            yield from ("", f"{panel}:")
        for parameter in parameters:
            yield from _entry(_names(parameter), _meaning(parameter), _COLUMN)
    yield from ("", "Examples:", *(f"  {line}".rstrip() for line in command.examples.splitlines()))


def _names(parameter: Parameter) -> str:
    """Return the names of a parameter, a letter before its long name, and its placeholder."""
    names = ", ".join(sorted(parameter.names, key=lambda name: name.startswith("--")))
    return f"{names} {parameter.value}".strip()


def _meaning(parameter: Parameter) -> str:
    return parameter.meaning + (f" [{parameter.default}]" if parameter.default else "")


def _entry(names: str, meaning: str, column: int) -> Iterator[str]:
    """Yield a name and its meaning, side by side or one below the other."""
    indent = " " * column
    lines = _wrapped(meaning, indent, indent)
    shown = f"  {names}"
    if len(shown) + 2 > column:
        yield shown
        yield from lines
    else:
        yield shown + lines[0][len(shown) :]
        yield from lines[1:]


def _wrapped(text: str, first: str, others: str) -> list[str]:
    """Return the lines of a text, each after an indent; no option is broken at a hyphen."""
    words = " ".join(text.split())
    return wrap(
        words, _WIDTH, initial_indent=first, subsequent_indent=others, break_on_hyphens=False
    )
