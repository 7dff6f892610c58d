"""Positions of a run in its inputs, by which its progress is measured.

Files are opened and read far below the code that shows progress. So there is one table for the
process, as in `leftovers`: the code that opens an input notes its size, the code that reads it
notes its position. Reading never depends on the table.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path

_sizes: dict[str, int] = {}
_positions: dict[str, int] = {}


def expect_file(name: str, path: str | Path | None = None) -> None:
    """Note that an input will be read from start to end.

    Parameters
    ----------
    name
        Name of the input, as in messages.
    path
        Its path, if it is not the name. Only the size of a regular file is known.
    """
    try:
        found = Path(path or name).stat()
        size = found.st_size if stat.S_ISREG(found.st_mode) else 0
    except OSError:  # the code that opens the file reports the error
        size = 0
    expect(name, size)


def expect(name: str, size: int) -> None:
    """Note how many bytes of an input will be read from now on; 0 if that is unknown."""
    _positions[name] = 0
    _sizes[name] = size


def note_position(name: str, position: int) -> None:
    """Note how many of these bytes have been read."""
    _positions[name] = position


def fraction_read(names: Iterable[str]) -> float | None:
    """Return the fraction of some inputs that has been read; None if a size is unknown."""
    sizes = {name: _sizes.get(name, 0) for name in names}
    if not sizes or not all(sizes.values()):
        return None
    read = sum(min(_positions[name], size) for name, size in sizes.items())
    return read / sum(sizes.values())
