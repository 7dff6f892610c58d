"""Text from files in HTML and in scripts: escaped, so that no name becomes markup or code."""

from __future__ import annotations

import html
import json
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
