"""Pages of the documentation, and their blocks of code.

A block of `sh` or `python` is run, unless the comment `<!-- not run: REASON -->` is before it. A
block of `text`, or without a language, directly after it is its output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
DOCS: Final = ROOT / "docs"
RUN: Final = ("sh", "python")
"""Languages of blocks that are run."""
_OUTPUT: Final = ("", "text")
_FENCE: Final = re.compile(r"( *)(```+)(.*)")
_NOT_RUN: Final = re.compile(r"<!-- not run: (.+) -->")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code: its first line of code on the page, counted from 1."""

    line: int
    language: str
    text: str
    reason: str = ""
    """Why the block is not run; empty if it is."""
    output: str | None = None


def pages() -> list[str]:
    """Return the pages, as paths from the root of the project."""
    found = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    return [
        str(path.relative_to(ROOT))
        for path in found
        if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
    ]


def read_page(page: str) -> str:
    """Return the text of a page."""
    return (ROOT / page).read_text(encoding="utf-8")


def without_code(text: str) -> str:
    """Return a page with each line of code blocks and each span of code emptied."""
    lines = text.split("\n")
    for block, first, end in _fenced(lines):
        lines[first - 1 : end + 1] = [""] * (len(block.text.split("\n")) + 1)
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", "\n".join(lines))


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page, in order; outputs belong to the block before them."""
    lines = text.split("\n")
    found: list[Block] = []
    last_end = -1
    for block, first, end in _fenced(lines):
        between = "".join(lines[last_end + 1 : first - 1])
        if found and found[-1].language in RUN and block.language in _OUTPUT and not between:
            found[-1] = replace(found[-1], output=block.text)
        else:
            above = next((line for line in reversed(lines[: first - 1]) if line.strip()), "")
            reason = _NOT_RUN.search(above)
            found.append(replace(block, reason=reason[1] if reason else ""))
        last_end = end
    return found


def _fenced(lines: list[str]) -> Iterator[tuple[Block, int, int]]:
    """Yield each block, the offset of its first line of code, and of its closing fence."""
    start = None
    for i, line in enumerate(lines):
        fence = _FENCE.fullmatch(line)
        if start is None:
            if fence:
                start, indent, mark, language = i + 1, *fence.groups()
        elif fence and fence[2] == mark and not fence[3]:
            code = [text.removeprefix(indent) for text in lines[start:i]]
            yield Block(start + 1, language.strip(), "\n".join([*code, ""])), start, i
            start = None
    if start is not None:
        raise ValueError(f"line {start}: block of code without an end")
