"""Names of files: their extensions, and whether text in them is compressed."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

_BGZF_SUFFIXES: Final = (".gz", ".bgz")


def is_bgzf_name(path: str | PurePath) -> bool:
    """Tell whether text in a file of this name is BGZF."""
    return PurePath(path).suffix.lower() in _BGZF_SUFFIXES


def extension_of(path: str | PurePath) -> str:
    """Return the extension in lower case, without the dot and without .gz or .bgz after it."""
    name = PurePath(path)
    return (PurePath(name.stem) if is_bgzf_name(name) else name).suffix.lstrip(".").lower()
