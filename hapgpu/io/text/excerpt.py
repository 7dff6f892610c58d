"""Text of an input as messages show it."""

from __future__ import annotations

from typing import Final

_SHOWN_CHARACTERS: Final = 40


def shown(text: str) -> str:
    """Cut a text, which may be long, and escape what is not printable."""
    cut = text[:_SHOWN_CHARACTERS]
    return repr(cut if cut == text else f"{cut}...")[1:-1]
