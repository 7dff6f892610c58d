"""Completion for bash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from shlex import quote

from hapgpu.cli.options.described import Description, Parameter

# Bash splits words at = and : too. Words that start with - are options; for other words without
# choices, nothing is replied, and bash completes names of files.
_SCRIPT = """\
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


def script(root: Description) -> str:
    """Return the script that completes command lines of hapgpu."""
    # The longest command first: a pattern matches all that starts with it.
    commands = sorted(root.walk(), key=lambda command: len(command.words), reverse=True)
    return _SCRIPT.replace("@CASES@", "\n".join(_case(command) for command in commands))


def _case(command: Description) -> str:
    """Return the case that the command line begins with a command."""
    names = _words(name for option in command.options for name in option.names)
    choices = [choice for argument in command.arguments for choice in argument.choices]
    choices += [subcommand.words[-1] for subcommand in command.commands]
    return "\n".join(
        [
            f"    {quote(' '.join([*command.words, ''])) if command.words else ''}*)",
            f"        options={names}",
            *([f"        choices={_words(choices)}"] if choices else []),
            *_values(command.options),
            "        ;;",
        ]
    )


def _values(options: Iterable[Parameter]) -> Iterator[str]:
    """Yield the lines for a word that is the value of an option."""
    names: dict[tuple[str, ...], list[str]] = {}  # by choices
    for option in options:
        if option.placeholder:
            names.setdefault(option.choices, []).extend(option.names)
    if names:
        yield "        case $previous in"
        for choices, group in names.items():
            yield f"        {' | '.join(group)}) choices={_words(choices)} options= ;;"
        yield "        esac"


def _words(words: Iterable[str]) -> str:
    return quote(" ".join(words))
