#!/usr/bin/env python3
"""Write the tables of options into the pages of `docs/commands/`, from the commands themselves.

A page holds them between `<!-- options: begin COMMAND -->` and `<!-- options: end -->`; the name of
the command may have two words (`bench map`). Run `python docs/generate.py` after a change of an
option; `--check` only fails if a page would change.
"""

from __future__ import annotations

import argparse
import html
import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Final, get_args

from typer.models import ArgumentInfo, OptionInfo

from hapgpu.cli.command_line import command_module
from hapgpu.cli.options.groups import one_parameter_per_option

PAGES: Final = Path(__file__).resolve().parent / "commands"
_MARKED: Final = re.compile(
    r"(<!-- options: begin (?P<command>[\w ]+) -->\n).*?(<!-- options: end -->)", re.DOTALL
)
_ARGUMENTS: Final = "Arguments"
_OPTIONS: Final = "Options"
_TYPES: Final = {int: "INT", float: "FLOAT", str: "TEXT", Path: "FILE"}
_LONG: Final = 10_000  # numbers of more digits have commas


def generated(page: str) -> str:
    """Return the text of a page with the tables of options that its commands have now."""
    return _MARKED.sub(lambda found: found[1] + tables(*found["command"].split()) + found[3], page)


def tables(*command: str) -> str:
    """Return the options of a command: a title and a table per panel of its help.

    Parameters
    ----------
    command
        Its name, as `map` or as `bench`, `map`.
    """
    function = one_parameter_per_option(getattr(command_module(*command), command[-1]))
    rows: dict[str, list[str]] = {_ARGUMENTS: [], _OPTIONS: []}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if not get_args(parameter.annotation):  # no option: the context of the command
            continue
        kind, info = get_args(parameter.annotation)[:2]
        panel = _ARGUMENTS if isinstance(info, ArgumentInfo) else info.rich_help_panel or _OPTIONS
        cells = (_names(parameter, info, kind), _default(parameter, info), _meaning(info))
        rows.setdefault(panel, []).append(f"| {' | '.join(cells)} |")
    return (
        "".join(
            "\n".join(
                [
                    "",
                    f"**{panel}**",
                    "",
                    "| name | default | meaning |",
                    "|---|---|---|",
                    *lines,
                    "",
                ]
            )
            for panel, lines in rows.items()
            if lines
        )
        + "\n"
    )


def _names(parameter: inspect.Parameter, info: ArgumentInfo | OptionInfo, kind: Any) -> str:
    value = _value(info, kind)
    if isinstance(info, ArgumentInfo):
        return _code(value or parameter.name.upper())
    # Within `Annotated`, the first name is passed in place of a default.
    names = [name for name in (info.default, *(info.param_decls or ())) if isinstance(name, str)]
    return ", ".join(map(_code, names)) + (f" {_code(value)}" if value else "")


def _value(info: ArgumentInfo | OptionInfo, kind: Any) -> str:
    """Return how the value of an option is named; nothing for a flag."""
    if info.metavar:
        return str(info.metavar)
    options = [option for option in get_args(kind) or (kind,) if option is not type(None)]
    if options == [bool]:
        return ""
    if isinstance(options[0], type) and issubclass(options[0], Enum):
        return "|".join(choice.value for choice in options[0])
    return _TYPES[options[0]]


def _default(parameter: inspect.Parameter, info: ArgumentInfo | OptionInfo) -> str:
    if isinstance(info.show_default, str):
        return info.show_default
    value = parameter.default
    if value is inspect.Parameter.empty:
        return "required"
    if value is None or value is False or value in ([], "") or not info.show_default:
        return ""
    return _code(str(value.value if isinstance(value, Enum) else value))


def _meaning(info: ArgumentInfo | OptionInfo) -> str:
    return f"{_text(info.help or '')}{_range(info.min, info.max)}"


def _range(low: float | None, high: float | None) -> str:
    bounds = [
        f"{bound:,}" if abs(bound) >= _LONG else str(bound)
        for bound in (low, high)
        if bound is not None
    ]
    if low is None or high is None:
        return "".join(f" At {'least' if high is None else 'most'} {bound}." for bound in bounds)
    return f" {bounds[0]} to {bounds[1]}."


def _code(text: str) -> str:
    # A bar would end the cell, and how it is escaped differs between GitHub and other renderers.
    return (
        f"<code>{html.escape(text).replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"
    )


def _text(text: str) -> str:
    return re.sub(r"([*_`|])", r"\\\1", html.escape(text, quote=False))


def _changed() -> Iterator[tuple[Path, str]]:
    """Yield each page that is not up to date, with its new text."""
    for path in sorted(PAGES.glob("*.md")):
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
