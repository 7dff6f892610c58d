"""Completion for zsh."""

from __future__ import annotations

import re
from collections.abc import Iterator
from shlex import quote
from typing import Final

from hapgpu.cli.options.described import Description, Parameter

_SPECIAL: Final = re.compile(r"([][:\\])")
_SCRIPT: Final = """\
#compdef hapgpu
# Completion of hapgpu for zsh, made by: hapgpu completion zsh
@FUNCTIONS@
if [[ $funcstack[1] == _hapgpu ]]; then
    _hapgpu "$@"
else
    compdef _hapgpu hapgpu
fi
"""


def script(root: Description) -> str:
    """Return the script that completes command lines of hapgpu: one function for each command."""
    functions = (_group(one) if one.commands else _command(one) for one in root.walk())
    return _SCRIPT.replace("@FUNCTIONS@", "\n".join(functions))


def _function(command: Description) -> str:
    return "_".join(["_hapgpu", *command.words])


def _group(group: Description) -> str:
    """Return a function that completes a name of a command, or calls the command's function."""
    commands = "\n".join(
        f"                {quote(_escaped(one.words[-1]) + ':' + _escaped(one.summary))}"
        for one in group.commands
    )
    calls = "\n".join(
        f"                {one.words[-1]}) {_function(one)} ;;" for one in group.commands
    )
    options = " ".join(spec for option in group.options for spec in _specs(option))
    return f"""\
{_function(group)}() {{
    local state line commands
    _arguments -C {options} '1: :->command' '*:: :->arguments'
    case $state in
        command)
            commands=(
{commands}
            )
            _describe command commands
            ;;
        arguments)
            case $words[1] in
{calls}
            esac
            ;;
    esac
}}"""


def _command(command: Description) -> str:
    """Return a function that completes the options and arguments of a command."""
    specs = [spec for option in command.options for spec in _specs(option)]
    choices = [choice for argument in command.arguments for choice in argument.choices]
    specs.append(quote(f"*: :{_values(choices)}"))
    lines = " \\\n".join(f"        {spec}" for spec in specs)
    return f"{_function(command)}() {{\n    _arguments -s -S \\\n{lines}\n}}"


def _specs(option: Parameter) -> Iterator[str]:
    """Yield the option for `_arguments` under each of its names, each of which excludes all."""
    excluded = f"({' '.join(option.names)})"
    text = f"[{_escaped(option.text)}]"
    for name in option.names:
        if not option.placeholder:
            yield quote(f"{excluded}{name}{text}")
        else:
            joined = "=" if name.startswith("--") else "+"
            value = f":{_escaped(option.placeholder)}:{_values(option.choices)}"
            yield quote(f"{excluded}{name}{joined}{text}{value}")


def _values(choices: tuple[str, ...] | list[str]) -> str:
    return f"({' '.join(map(_escaped, choices))})" if choices else "_files"


def _escaped(text: str) -> str:
    """Return a text in which no character has a meaning for `_arguments`."""
    return _SPECIAL.sub(r"\\\1", text)
