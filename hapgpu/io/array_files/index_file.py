"""Files of the indexes of a reference: kept beside its FASTA file, and checked against it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from hapgpu.io.array_files.array_file import ArrayFormat, Arrays
from hapgpu.io.array_files.header import Header
from hapgpu.io.files.reread import is_pipe
from hapgpu.io.genome.fasta_digest import check_digest

logger = logging.getLogger(__name__)


class ReferenceIndex(Protocol):
    """An index, with the size and the SHA-256 of the FASTA file that it was built from."""

    @property
    def fasta_bytes(self) -> int:
        """Size of the FASTA file on disk."""

    @property
    def fasta_sha256(self) -> bytes:
        """Its SHA-256."""


_Index = TypeVar("_Index", bound=ReferenceIndex)


@dataclass(frozen=True, slots=True)
class IndexFile(Generic[_Index]):
    """One kind of index file.

    Attributes
    ----------
    format
        Magic number, version and arrays of the file.
    header_of, arrays_of
        Return the two parts of an index that are written.
    index_of
        Makes an index of these; raises KeyError where an array is missing, and ValueError where
        the header does not hold what it should.
    is_sound
        Tells whether an index can be used without leaving an array, whatever its arrays hold.
    """

    format: ArrayFormat
    header_of: Callable[[_Index], Header]
    arrays_of: Callable[[_Index], Arrays]
    index_of: Callable[[Header, Arrays], _Index]
    is_sound: Callable[[_Index], bool]

    def save(self, index: _Index, path: str | Path) -> None:
        """Write an index, whole or not at all.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        self.format.save(path, self.header_of(index), self.arrays_of(index))

    def load(self, path: str | Path) -> _Index:
        """Map an index into memory, read-only; verify every byte of its arrays, and their values.

        Raises
        ------
        InputError
            The file is missing, is no index, is of another version, cut short or damaged, or its
            arrays are not those of an index, whoever wrote them.
        """
        return self.format.load(path, self.index_of, self.is_sound)

    def is_index(self, path: Path) -> bool:
        """Tell whether a file is an index of this kind, damaged or not."""
        return path.is_file() and self.format.is_format_of(path)  # a pipe is left unread

    def load_for(self, fasta: Path, path: Path, command: str) -> _Index:
        """Load an index, and make sure that it was built from a FASTA file as it is now.

        Parameters
        ----------
        fasta
            The reference.
        path
            Its index.
        command
            Builds the index anew, for messages.

        Raises
        ------
        InputError
            As `load`; or the index was built from another FASTA file, or this cannot be read.
        """
        index = self.load(path)
        check_digest(fasta, (index.fasta_bytes, index.fasta_sha256), path, command)
        return index

    def load_or_build(
        self, fasta: Path, path: Path, command: str, build: Callable[[], _Index]
    ) -> _Index:
        """Load the index that is kept for a FASTA file, or build one for this run only.

        Parameters
        ----------
        fasta, path, command
            As in `load_for`; there may be no file at `path`.
        build
            Builds the index.

        Raises
        ------
        InputError
            As `load_for`, and what `build` raises.
        """
        if path.exists():
            return self.load_for(fasta, path, command)
        remedy = "" if is_pipe(str(fasta)) else f"; to keep it, run: {command}"
        logger.warning("no index for %s: building one for this run%s", fasta, remedy)
        return build()


def rebuild_command(path: Path, suffix: str, command: str) -> str:
    """Return the command that builds an index of unknown origin anew.

    Parameters
    ----------
    path
        Of the index.
    suffix
        Of such files. A file with another one may have been given by mistake: no command
        replaces it.
    command
        Without its output.
    """
    may_be_replaced = path.suffix == suffix or not path.exists()
    return command + (f" -o {path}" if may_be_replaced else "")
