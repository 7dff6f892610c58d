"""By what a file is known to be the same as before."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from hapgpu.errors import InputError


@dataclass(frozen=True, slots=True)
class FileState:
    """Which file there is at a path, how large it is and when it was written."""

    device: int
    inode: int
    size: int
    written: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """Look at a file.

        Raises
        ------
        InputError
            It is not there any more.
        """
        try:
            found = path.stat()
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
