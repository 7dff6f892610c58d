"""Copies of the inputs, for tests that change them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

Signature = tuple[int, int, int, int]


class Copies:
    """A directory of copies; to restore it takes a tenth of the time of a new one.

    Parameters
    ----------
    source
        Directory of files, without directories in it.
    """

    def __init__(self, source: Path, directory: Path) -> None:
        self.directory = directory
        self._source = source
        shutil.copytree(source, directory)
        self._signatures = self._found()

    def restore(self) -> None:
        """Restore changed files, and remove new ones."""
        self.directory.chmod(0o755)
        found = self._found()
        for name in found.keys() | self._signatures.keys():
            if found.get(name) == self._signatures.get(name):
                continue
            path = self.directory / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            if name in self._signatures:
                shutil.copy2(self._source / name, path)
                self._signatures[name] = _signature(os.lstat(path))

    def _found(self) -> dict[str, Signature]:
        with os.scandir(self.directory) as entries:
            return {entry.name: _signature(entry.stat(follow_symlinks=False)) for entry in entries}


def _signature(status: os.stat_result) -> Signature:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode
