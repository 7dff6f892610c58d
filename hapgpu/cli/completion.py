"""Scripts by which bash, fish and zsh complete command lines, made of the options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from shlex import quote
from typing import Final

from hapgpu.cli.parameters import Description, Parameter

# Bash splits words at = and : too. Words that start with - are options; for other words without
# choices, nothing is replied, and bash completes names of files.
_BASH = """\
# Completion of hapgpu for bash, made by: hapgpu completion bash
_hapgpu() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local choices= options=
    [[ $current == = ]] && current=
    [[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD - 2]}
    case "${COMP_WORDS[*]:1:COMP_CWORD - 1} " in
@CASES@
    esac
    if [[ $current != -* ]]; then
        COMPREPLY=($(compgen -W "$choices" -- "$current"))
    else
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    fi
}
complete -o bashdefault -o default -F _hapgpu hapgpu
"""


def bash_script(root: Description) -> str:
    """Return the script that completes command lines of hapgpu."""
    # The longest command first: a pattern matches all that starts with it.
    commands = sorted(root.walk(), key=lambda command: len(command.words), reverse=True)
    return _BASH.replace("@CASES@", "\n".join(_bash_case(command) for command in commands))


def _bash_case(command: Description) -> str:
    """Return the case that the command line begins with a command."""
    names = _bash_words(name for option in command.options for name in option.names)
    choices = [choice for argument in command.arguments for choice in argument.choices]
    choices += [subcommand.words[-1] for subcommand in command.commands]
    return "\n".join(
        [
            f"    {quote(' '.join([*command.words, ''])) if command.words else ''}*)",
            f"        options={names}",
            *([f"        choices={_bash_words(choices)}"] if choices else []),
            *_bash_values(command.options),
            "        ;;",
        ]
    )


def _bash_values(options: Iterable[Parameter]) -> Iterator[str]:
    """Yield the lines for a word that is the value of an option."""
    names: dict[tuple[str, ...], list[str]] = {}  # by choices
    for option in options:
        if option.placeholder:
            names.setdefault(option.choices, []).extend(option.names)
    if names:
        yield "        case $previous in"
        for choices, group in names.items():
            yield f"        {' | '.join(group)}) choices={_bash_words(choices)} options= ;;"
        yield "        esac"


def _bash_words(words: Iterable[str]) -> str:
    return quote(" ".join(words))


_FISH: Final = """\
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


def fish_script(root: Description) -> str:
    """Return the script that completes command lines of hapgpu."""
    return _FISH + "".join(f"complete -c hapgpu {line}\n" for line in _fish_lines(root))


def _fish_lines(root: Description) -> Iterator[str]:
    for command in root.walk():
        words = " ".join(command.words)
        condition = f"__hapgpu_{'in_group' if command.commands else 'begins'} {words}".rstrip()
        for one in command.commands:
            summary = _fish_quoted(one.summary)
            yield f"-n {_fish_quoted(condition)} -f -a {one.words[-1]} -d {summary}"
        for argument in command.arguments:
            if argument.choices:
                listed = " ".join(argument.choices)
                yield f"-n {_fish_quoted(condition)} -f -a {_fish_quoted(listed)}"
        for option in command.options:
            yield f"-n {_fish_quoted(condition)} {_fish_option(option)}"


def _fish_option(option: Parameter) -> str:
    names = " ".join(
        f"-l {name.removeprefix('--')}" if name.startswith("--") else f"-s {name[1:]}"
        for name in option.names
    )
    if option.choices:
        names += f" -x -a {_fish_quoted(' '.join(option.choices))}"
    elif option.placeholder:
        names += " -r -F"
    return f"{names} -d {_fish_quoted(option.text)}"


def _fish_quoted(text: str) -> str:
    """Return a text in single quotes, in which fish replaces only backslashes and quotes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_ZSH_SPECIAL: Final = re.compile(r"([][:\\])")
_ZSH: Final = """\
#compdef hapgpu
# Completion of hapgpu for zsh, made by: hapgpu completion zsh
@FUNCTIONS@
if [[ $funcstack[1] == _hapgpu ]]; then
    _hapgpu "$@"
else
    compdef _hapgpu hapgpu
fi
"""


def zsh_script(root: Description) -> str:
    """Return the script that completes command lines of hapgpu: one function for each command."""
    functions = (_zsh_group(one) if one.commands else _zsh_command(one) for one in root.walk())
    return _ZSH.replace("@FUNCTIONS@", "\n".join(functions))


def _zsh_function(command: Description) -> str:
    return "_".join(["_hapgpu", *command.words])


def _zsh_group(group: Description) -> str:
    """Return a function that completes a name of a command, or calls the command's function."""
    commands = "\n".join(
        f"                {quote(_zsh_escaped(one.words[-1]) + ':' + _zsh_escaped(one.summary))}"
        for one in group.commands
    )
    calls = "\n".join(
        f"                {one.words[-1]}) {_zsh_function(one)} ;;" for one in group.commands
    )
    options = " ".join(spec for option in group.options for spec in _zsh_specs(option))
    return f"""\
{_zsh_function(group)}() {{
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


def _zsh_command(command: Description) -> str:
    """Return a function that completes the options and arguments of a command."""
    specs = [spec for option in command.options for spec in _zsh_specs(option)]
    choices = [choice for argument in command.arguments for choice in argument.choices]
    specs.append(quote(f"*: :{_zsh_values(choices)}"))
    lines = " \\\n".join(f"        {spec}" for spec in specs)
    return f"{_zsh_function(command)}() {{\n    _arguments -s -S \\\n{lines}\n}}"


def _zsh_specs(option: Parameter) -> Iterator[str]:
    """Yield the option for `_arguments` under each of its names, each of which excludes all."""
    excluded = f"({' '.join(option.names)})"
    text = f"[{_zsh_escaped(option.text)}]"
    for name in option.names:
        if not option.placeholder:
            yield quote(f"{excluded}{name}{text}")
        else:
            joined = "=" if name.startswith("--") else "+"
            value = f":{_zsh_escaped(option.placeholder)}:{_zsh_values(option.choices)}"
            yield quote(f"{excluded}{name}{joined}{text}{value}")


def _zsh_values(choices: tuple[str, ...] | list[str]) -> str:
    return f"({' '.join(map(_zsh_escaped, choices))})" if choices else "_files"


def _zsh_escaped(text: str) -> str:
    """Return a text in which no character has a meaning for `_arguments`."""
    return _ZSH_SPECIAL.sub(r"\\\1", text)
