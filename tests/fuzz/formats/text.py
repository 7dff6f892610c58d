"""Text: records of one or more lines, fields of words, numbers and separators."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Final

from tests.fuzz.inputs.fields import Document, Field, joined

_TOKEN: Final = re.compile(rb"[0-9]+|[A-Za-z_]+|\r?\n|[\s\S]")


def splitter(lines: int) -> Callable[[bytes], Document]:
    """Return the function that cuts a text into records of a number of lines."""

    def split(data: bytes) -> Document:
        found = data.splitlines(keepends=True)
        texts = (b"".join(found[at : at + lines]) for at in range(0, len(found), lines))
        return [[_field(token) for token in _TOKEN.findall(text)] for text in texts]

    return split


def _field(token: bytes) -> Field:
    return Field("number" if token.isdigit() else "text", token)


def join(document: Document, random: Random) -> bytes:
    """Return the text; sometimes with other line ends, or without the last one."""
    data = b"".join(map(joined, document))
    if random.random() < 0.03:
        data = data.replace(b"\n", random.choice((b"\r\n", b"\r", b"\n\n")))
    return data.rstrip(b"\n") if random.random() < 0.05 else data
