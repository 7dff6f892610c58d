"""Completion for fish."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hapgpu.cli.options.described import Description, Parameter

_HEAD: Final = """\
# Completion of hapgpu for fish, made by: hapgpu completion fish
function __hapgpu_begins # whether the words after hapgpu begin with these
    set -l words (commandline -opc)
    set -e words[1]
    string match -q -- "$argv *" "$words "
end
function __hapgpu_in_group # whether the words after hapgpu are these: a command follows
    set -l words (commandline -opc)
    set -e words[1]
    test "$words" = "$argv"
end
"""


def script(root: Description) -> str:
    """Return the script that completes command lines of hapgpu."""
    return _HEAD + "".join(f"complete -c hapgpu {line}\n" for line in _lines(root))


def _lines(root: Description) -> Iterator[str]:
    for command in root.walk():
        words = " ".join(command.words)
        condition = f"__hapgpu_{'in_group' if command.commands else 'begins'} {words}".rstrip()
        for one in command.commands:
            yield f"-n {_quoted(condition)} -f -a {one.words[-1]} -d {_quoted(one.summary)}"
        for argument in command.arguments:
            if argument.choices:
                listed = " ".join(argument.choices)
                yield f"-n {_quoted(condition)} -f -a {_quoted(listed)}"
        for option in command.options:
            yield f"-n {_quoted(condition)} {_option(option)}"


def _option(option: Parameter) -> str:
    names = " ".join(
        f"-l {name.removeprefix('--')}" if name.startswith("--") else f"-s {name[1:]}"
        for name in option.names
    )
    if option.choices:
        names += f" -x -a {_quoted(' '.join(option.choices))}"
    elif option.placeholder:
        names += " -r -F"
    return f"{names} -d {_quoted(option.text)}"


def _quoted(text: str) -> str:
    """Return a text in single quotes, in which fish replaces only backslashes and quotes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
