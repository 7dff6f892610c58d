"""Excerpts of inputs for messages."""

from __future__ import annotations

from typing import Final

_SHOWN_CHARACTERS: Final = 40


def excerpt(text: str) -> str:
    """Return at most 40 characters of a text, with unprintable ones escaped."""
    cut = text[:_SHOWN_CHARACTERS]
    return repr(cut if cut == text else f"{cut}...")[1:-1]
