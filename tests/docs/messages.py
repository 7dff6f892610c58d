"""Messages of the page on troubleshooting, and of the code."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import Final

from tests.docs.pages import ROOT, read_page

PAGE: Final = "docs/troubleshooting.md"
ANY: Final = "…"
_MALFORMED: Final = ("MalformedError", "MalformedIntervalError", "OutsideReferenceError")
_ERRORS: Final = ("InputError", "UsageError", "DeviceError", "OutputError", *_MALFORMED)
_CALLS: Final = (*_ERRORS, "TooLittleMemoryError", "BadParameter", "warning", "warn")


@cache
def explained() -> tuple[str, ...]:
    """Return the messages that the page explains; `…` stands for any text."""
    rows = re.findall(r"^\| (.+?) \|", read_page(PAGE), re.MULTILINE)
    return tuple(
        message
        for row in rows
        for message in re.findall(r"`` ?(.+?) ?``|`(.+?)`", row)
        for message in message
        if message
    )


def is_explained(message: str) -> bool:
    """Return whether a row of the page has this message, or one like it."""
    return any(re.search(".*".join(map(re.escape, row.split(ANY))), message) for row in explained())


@cache
def code_texts() -> tuple[str, ...]:
    """Return all texts of the code, with `…` for values that are put into them."""
    return tuple(
        text
        for path in sorted((ROOT / "hapgpu").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (text := _text(node))
    )


@cache
def raised() -> tuple[str, ...]:
    """Return the messages of errors and warnings that the code writes as one text."""
    found = []
    for path in sorted((ROOT / "hapgpu").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                function = node.func
                name = getattr(function, "id", getattr(function, "attr", ""))
                text = _text(node.args[0])
                # A text whose fault is a value is made of other texts of the code.
                if name in _CALLS and len(re.findall(r"\w{2,}", text.partition(";")[0])) > 1:
                    found.append(re.sub("%[sd]", ANY, text))
    return tuple(found)


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(parts):
            return "".join(_text(part) if isinstance(part, ast.Constant) else ANY for part in parts)
    return ""
