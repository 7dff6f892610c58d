"""HTML of sections: escaped text, a row of facts, plain tables.

Text from files is escaped in HTML and in scripts, so that no name becomes markup or code.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

_IN_SCRIPTS: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def text(value: object) -> str:
    """Escape a value for HTML, between tags or in a quoted attribute."""
    return html.escape(str(value), quote=True)


def script_json(value: object) -> str:
    """Return a value as JSON that may stand in a `<script>`, whatever text it holds.

    Raises
    ------
    ValueError
        A number is not finite: JSON has no such numbers.
    """
    # ASCII: U+2028 and lone surrogates are escaped, too.
    return json.dumps(value, separators=(",", ":"), allow_nan=False).translate(_IN_SCRIPTS)


def script_source(source: str) -> str:
    """Return JavaScript that may stand in a `<script>`.

    HTML ends a script at `</script`, and after `<!--` it waits for another end. Both occur only in
    strings and expressions of a program, where a backslash before the character changes nothing.
    """
    return source.replace("</script", "<\\/script").replace("<!--", "<\\!--")


_NUMBER: Final = re.compile(r"-|[-+]?[0-9][0-9,]*(\.[0-9]+)?(e[-+][0-9]+)?")


def facts(values: Mapping[str, object]) -> str:
    """Return named values beside each other, as HTML; names and values are plain text."""
    items = (
        f"<div><dt>{text(name)}</dt><dd>{text(_shown(value))}</dd></div>"
        for name, value in values.items()
    )
    return f'<dl class="facts-list">{"".join(items)}</dl>\n'


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as HTML; numbers stand on the right, text is escaped."""
    lines = [[str(_shown(value)) for value in row] for row in rows]
    is_number = [
        bool(lines) and all(_NUMBER.fullmatch(row[k]) for row in lines) for k in range(len(header))
    ]
    kinds = [' class="number"' if number else "" for number in is_number]
    head = "".join(f"<th{kind}>{text(name)}</th>" for kind, name in zip(kinds, header, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f"<td{kind}>{text(value)}</td>" for kind, value in zip(kinds, row, strict=True))
        + "</tr>"
        for row in lines
    )
    return (
        f'<div class="scrolled"><table class="facts"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>\n"
    )


def percent(part: float, whole: float) -> str:
    """Return a fraction in percent; a dash of nothing."""
    return f"{100 * part / whole:.2f}%" if whole else "-"


def _shown(value: object) -> object:
    return f"{value:,}" if isinstance(value, int) else value
