#!/usr/bin/env python3
"""Write the man pages, one for each command, out of the help of the commands.

`python packaging/man/make_pages.py DIRECTORY` writes them to a directory. `build_hook.py` runs it
when a wheel is built.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from hapgpu.cli.catalogue import description_of
from hapgpu.cli.parameters import Description, Parameter
from hapgpu.version import __version__

_CITATION: Final = Path(__file__).resolve().parents[2] / "CITATION.cff"

_STATUSES: Final = {
    "0": "Success.",
    "1": "Bad input.",
    "2": "Wrong usage.",
    "3": "A device cannot be used.",
    "4": "The output cannot be written.",
    "129, 130, 143": "Ended by SIGHUP, SIGINT, SIGTERM.",
    "141": "The reader of the output has closed the pipe.",
}
_VARIABLES: Final = {
    "HAPGPU_CACHE_DIR": "Directory of compiled functions and kernels; ~/.cache/hapgpu if not set.",
    "CUDA_VISIBLE_DEVICES": "GPUs that hapgpu may use, as for every CUDA program.",
}


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    root = description_of()
    return {f"{_name(command)}.1": page(command, root) for command in root.walk()}


def page(command: Description, root: Description) -> str:
    """Return the page of a command.

    Parameters
    ----------
    command
        The command, a group of commands, or hapgpu itself.
    root
        hapgpu itself, with all commands.
    """
    title = _name(command).upper()
    summary = command.summary.removesuffix(".")
    lines = [
        f'.TH {_escaped(title)} 1 {_release_date()} "hapgpu {__version__}" "hapgpu"',
        ".SH NAME",
        f"{_escaped(_name(command))} \\- {_escaped(summary)}",
        ".SH SYNOPSIS",
        *_synopsis(command),
        ".SH DESCRIPTION",
        *_paragraphs(command.text),
        *_commands(command),
        *_options(command),
        *(_examples(command.examples) if command.examples else []),
        ".SH EXIT STATUS",
        *_definitions(_STATUSES.items()),
        ".SH ENVIRONMENT",
        *_definitions(_VARIABLES.items()),
        ".SH SEE ALSO",
        *_see_also(command, root),
    ]
    return "\n".join(lines) + "\n"


def _release_date() -> str:
    found = re.search(
        r"^date-released: (\S+)$", _CITATION.read_text(encoding="utf-8"), re.MULTILINE
    )
    if found is None:
        raise ValueError(f"{_CITATION}: has no date-released")
    return found[1]


def _name(command: Description) -> str:
    return "-".join(["hapgpu", *command.words])


def _synopsis(command: Description) -> Iterator[str]:
    words = " ".join(["hapgpu", *command.words])
    if command.commands:
        yield f".B {words}\n.I COMMAND\n.RI [ OPTIONS ]"
        return
    yield f".B {words}\n.RI [ OPTIONS ]"
    for argument in command.arguments:
        name = _escaped(argument.placeholder)
        dots = " ..." if argument.repeatable else ""
        yield f".I {name}{dots}" if argument.required else f".RI [ {name}{dots.strip()} ]"


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ".PP"
        yield _escaped(" ".join(paragraph.split()))


def _commands(group: Description) -> Iterator[str]:
    if group.commands:
        yield ".SH COMMANDS"
        yield from _definitions((one.words[-1], one.summary) for one in group.commands)


def _options(command: Description) -> Iterator[str]:
    """Yield the arguments, and the options by their groups, in the order of the help."""
    if command.arguments:
        yield ".SH ARGUMENTS"
        yield from _definitions((one.placeholder, _meaning(one)) for one in command.arguments)
    panels = list(dict.fromkeys(option.panel for option in command.options))
    options = sorted(command.options, key=lambda option: panels.index(option.panel))
    for panel, group in groupby(options, key=lambda option: option.panel):
        yield f".SH {_escaped(panel.upper())}"
        for option in group:
            names = ", ".join(rf"\fB{_escaped(name)}\fR" for name in option.names)
            value = rf" \fI{_escaped(option.placeholder)}\fR" if option.placeholder else ""
            yield f".TP\n{names}{value}\n{_escaped(_meaning(option))}"


def _meaning(parameter: Parameter) -> str:
    """Return the help of a parameter, with its limits and its default."""
    default = f" Default: {parameter.default}." if parameter.default else ""
    return parameter.meaning + default


def _examples(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.split("\n\n")):
        yield ".PP" if number else ".SH EXAMPLES"
        lines = paragraph.splitlines()
        if lines[0].endswith(":"):
            yield f"{_escaped(lines.pop(0))}\n.PP"
        yield from (".RS 4", ".nf", *map(_escaped, lines), ".fi", ".RE")


def _see_also(command: Description, root: Description) -> Iterator[str]:
    others = [one for one in root.walk() if len(one.words) < 2 or one in command.commands]
    names = [_escaped(_name(one)) for one in others if one.words != command.words]
    for number, name in enumerate(names, start=1):
        yield f".BR {name} (1){',' if number < len(names) else ''}"


def _definitions(items: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, meaning in items:
        yield f".TP\n.B {_escaped(term)}\n{_escaped(meaning)}"


def _escaped(text: str) -> str:
    """Return a text in which troff sees no request, and no hyphen in place of a minus."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def main() -> None:
    """Write the pages to the directory of the command line."""
    directory = Path(sys.argv[1])
    directory.mkdir(exist_ok=True)
    for name, text in pages().items():
        (directory / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
