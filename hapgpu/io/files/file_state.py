"""State of a file: what is known of it holds while the state stays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from hapgpu.errors import InputError


@dataclass(frozen=True, slots=True)
class FileState:
    """Identity, size and time of modification (ns) of the file at a path."""

    device: int
    inode: int
    size: int
    written: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """Return the state of a file.

        Raises
        ------
        InputError
            The file is missing.
        """
        try:
            found = path.stat()
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
