#!/usr/bin/env python3
"""Write the tables of options into `docs/options.md` and `docs/commands/`, from the commands.

A page holds them between `<!-- options: begin COMMAND -->` and `<!-- options: end -->`; the name of
the command may have two words (`bench map`), or be that of several commands (`bench`), which stands
for the options that all of them have. Run `python docs/generate.py` after a change of an
option; `--check` only fails if a page would change.
"""

from __future__ import annotations

import argparse
import html
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from hapgpu.cli.catalogue import COMMANDS, command_module, description_of
from hapgpu.cli.gatk.arguments import Argument, Effect
from hapgpu.cli.gatk.table import OWN_OPTIONS, TOPICS
from hapgpu.cli.parameters import HELP, Description, Parameter

DOCS: Final = Path(__file__).resolve().parent
PAGES: Final = (DOCS / "options.md", *sorted((DOCS / "commands").glob("*.md")))
_MARKED: Final = re.compile(
    r"(<!-- options: begin (?P<command>[\w ]+) -->\n).*?(<!-- options: end -->)", re.DOTALL
)
_FILES: Final = re.compile("(<!-- files: begin -->\n).*?(<!-- files: end -->)", re.DOTALL)
_SHARED: Final = re.compile("(<!-- shared: begin -->\n).*?(<!-- shared: end -->)", re.DOTALL)
_GATK: Final = re.compile("(<!-- gatk: begin -->\n).*?(<!-- gatk: end -->)", re.DOTALL)
_COMPARED: Final = [name for name in COMMANDS if name not in {"bench", "doctor", "completion"}]
"""The commands with files as arguments."""
_ARGUMENTS: Final = "Arguments"
_AS_NUMBERS: Final = {ord(letter): f"&#{ord(letter)};" for letter in "|[]"}
_HEADER: Final = ("| name | default | meaning |", "|---|---|---|")


def generated(page: str) -> str:
    """Return the text of a page with the tables of options that its commands have now."""
    page = _MARKED.sub(lambda found: found[1] + tables(*found["command"].split()) + found[3], page)
    page = _FILES.sub(lambda found: found[1] + files_of_commands() + found[2], page)
    page = _GATK.sub(lambda found: found[1] + arguments_of_gatk() + found[2], page)
    return _SHARED.sub(lambda found: found[1] + shared_options() + found[2], page)


def files_of_commands() -> str:
    """Return a table with the arguments of each command, where it writes, and what beside it."""
    lines = ["| command | arguments | `-` is | output without `-o` |", "|---|---|---|---|"]
    for name in _COMPARED:
        files = command_module(name).FILES
        described = _described((name,))
        arguments = " ".join(one.usage for one in described.arguments)
        streams = [read.parameter.replace("_", "-") for read in files.reads if read.standard]
        default = "beside the reference" if name == "index" else "standard output"
        lines.append(f"| `{name}` | {_code(arguments)} | {', '.join(streams)} | {default} |")
    return "\n" + "\n".join(lines) + "\n\n"


def shared_options() -> str:
    """Return a table of the options that several commands have."""
    rows: dict[str, dict[str, str]] = {}
    for name in _COMPARED:
        described = _described((name,))
        for option in described.options:
            shown = " ".join(map(_code, option.names))
            rows.setdefault(option.names[-1], {})[name] = shown
    rows = {name: cells for name, cells in rows.items() if len(cells) > 1}
    lines = [
        "| option | " + " | ".join(f"`{name}`" for name in _COMPARED) + " |",
        "|---" * (len(_COMPARED) + 1) + "|",
    ]
    for cells in rows.values():
        usual = max(cells.values(), key=[*cells.values()].count)
        marks = [
            "" if command not in cells else "yes" if cells[command] == usual else cells[command]
            for command in _COMPARED
        ]
        lines.append(f"| {usual} | {' | '.join(marks)} |")
    return "\n" + "\n".join(lines) + "\n\n"


def arguments_of_gatk() -> str:
    """Return a title and a table per topic of HaplotypeCaller's arguments."""
    parts = []
    for topic, arguments in TOPICS.items():
        header = ["", f"**{topic}**", "", "| argument | default | in hapgpu |", "|---|---|---|"]
        parts.append("\n".join([*header, *map(_row_of_gatk, arguments), ""]))
    own = ", ".join(map(_code, (f"--{name}" for name in OWN_OPTIONS)))
    parts.append(f"\n**Options of `call`**, by their own names: {own}.\n")
    return "".join(parts) + "\n"


def _row_of_gatk(argument: Argument) -> str:
    names = ", ".join(map(_code, argument.shown.split(", ")))
    value = f" {_code(argument.value)}" if argument.value else ""
    match argument.effect:
        case Effect.OBEYED:
            meaning = _code(argument.option) if argument.option else _OTHERWISE[argument.name]
        case Effect.DEFAULT:
            meaning = "only the default"
        case Effect.NONE:
            meaning = "no effect"
        case Effect.REFUSED:
            meaning = "refused"
    reason = f": {_text(argument.reason)}" if argument.reason else ""
    default = argument.default if argument.value or argument.default != "false" else ""
    return f"| {names}{value} | {_text(default)} | {meaning}{reason} |"


_OTHERWISE: Final = {
    "input": "reads; repeatable",
    "reference": "reference",
    "emit-ref-confidence": "`--gvcf`, `--bp-resolution`",
    "arguments_file": "words of the file come first",
}
"""Words for arguments of GATK that are no option of `call` alone."""


def tables(*command: str) -> str:
    """Return the options of a command: a title and a table per panel of its help.

    Parameters
    ----------
    command
        Its name, as `map` or as `bench`, `map`; `bench` for the options of all its methods, which
        the tables of one method leave out.
    """
    described, group = (_described(words) for words in (command, command[:-1]))
    if described.commands:
        return _tables([], _shared(described))
    shared = _shared(group) if group.words else []
    own = [option for option in described.options if option not in shared]
    return _tables(described.arguments, own)


def _described(words: tuple[str, ...]) -> Description:
    return next(one for one in _commands() if one.words == words)


def _shared(group: Description) -> list[Parameter]:
    """Return the options that all commands of a group have."""
    first, *others = [command.options for command in group.commands]
    return [option for option in first if all(option in options for options in others)]


def _tables(arguments: Sequence[Parameter], options: Sequence[Parameter]) -> str:
    rows: dict[str, list[str]] = {_ARGUMENTS: [_row(one) for one in arguments], "Options": []}
    for option in options:
        if option is not HELP:
            rows.setdefault(option.panel, []).append(_row(option))
    return (
        "".join(
            "\n".join(["", f"**{panel}**", "", *_HEADER, *lines, ""])
            for panel, lines in rows.items()
            if lines
        )
        + "\n"
    )


@cache
def _commands() -> tuple[Description, ...]:
    return tuple(description_of().walk())


def _row(parameter: Parameter) -> str:
    value = _code(parameter.value) if parameter.value else ""
    names = ", ".join(map(_code, parameter.names))
    default = "required" if parameter.required else parameter.default
    cells = f"{names} {value}".strip(), _text(default), _text(parameter.meaning)
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    # A bar would end the cell, and how it is escaped differs between GitHub and other renderers.
    # In HTML, brackets would be links.
    if "|" not in text:
        return f"`{text}`"
    return f"<code>{html.escape(text).translate(_AS_NUMBERS)}</code>"


def _text(text: str) -> str:
    return re.sub(r"([*_`|])", r"\\\1", html.escape(text, quote=False))


def _changed() -> Iterator[tuple[Path, str]]:
    """Yield each page that is not up to date, with its new text."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        if (new := generated(text)) != text:
            yield path, new


def main() -> None:
    """Write the pages that are not up to date."""
    parser = argparse.ArgumentParser(description="Write the tables of options of docs/commands.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is old")
    is_check = parser.parse_args().check
    old = list(_changed())
    for path, text in old:
        if not is_check:
            path.write_text(text, encoding="utf-8")
    if is_check and old:
        sys.exit(f"{', '.join(path.name for path, _ in old)}: old; run: python docs/generate.py")


if __name__ == "__main__":
    main()
