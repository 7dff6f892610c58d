"""Advice on a word of the command line that is not known."""

from __future__ import annotations

from collections.abc import Iterable


def advice(word: str, known: Iterable[str], command: str) -> str:
    """Return the end of an error on an unknown word: the word that was probably meant, and help.

    Parameters
    ----------
    word
        The word.
    known
        The words that are possible.
    command
        The program and command whose help lists them.
    """
    from difflib import get_close_matches  # noqa: PLC0415  (for errors only)

    close = get_close_matches(word, list(known), 1)
    shown = f"{command} --help"
    return f"; did you mean {close[0]}? Run: {shown}" if close else f"; run: {shown}"
