"""Index files of a reference: stored beside its FASTA file, and checked against it."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from hapgpu.errors import InputError
from hapgpu.io.files.array_file import ArrayFormat, Arrays, Header
from hapgpu.io.files.reread import is_pipe
from hapgpu.runtime.devices import usable_cpus
from hapgpu.runtime.pool import Pool
from hapgpu.runtime.progress import Progress
from hapgpu.runtime.run_context import RunContext

logger = logging.getLogger(__name__)

_DIGEST_BYTES: Final = 1 << 24
_READ_BYTES: Final = 1 << 20


class ReferenceIndex(Protocol):
    """Index, with the size and the SHA-256 of the FASTA file that it was built from."""

    @property
    def fasta_bytes(self) -> int:
        """Size of the FASTA file on disk."""

    @property
    def fasta_digest(self) -> bytes:
        """Digest of the FASTA file, see `digest_fasta`."""


_Index = TypeVar("_Index", bound=ReferenceIndex)


@dataclass(frozen=True, slots=True)
class IndexFile(Generic[_Index]):
    """Kind of index file.

    Attributes
    ----------
    format
        Magic number, version and arrays of the file.
    header_of, arrays_of
        Return the header and the arrays of an index.
    index_of
        Makes an index from these; raises KeyError if an array is missing, and ValueError if the
        header is malformed.
    is_sound
        Tells whether no use of the index can leave the bounds of an array.
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

    def build_and_save(
        self, run: RunContext, path: Path, build: Callable[[Progress], _Index]
    ) -> _Index:
        """Build an index and save it, with times and progress; return it.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        with run.showing("bases") as progress:
            index = run.statistics.timed("build", build)(progress)
            progress.phase("writing", 1.0)
            run.statistics.timed("write", self.save)(index, path)
        return index

    def load(self, path: str | Path) -> _Index:
        """Map an index into memory, read-only; verify every byte of its arrays, and their values.

        Raises
        ------
        InputError
            The file is missing, not an index, of another version, truncated or damaged, or its
            arrays are inconsistent.
        """
        return self.format.load(path, self.index_of, self.is_sound)

    def is_index(self, path: Path) -> bool:
        """Tell whether a file is an index of this kind, damaged or not."""
        return path.is_file() and self.format.is_format_of(path)  # a pipe must not be read

    def load_for(self, fasta: Path, path: Path, command: str) -> _Index:
        """Load an index, and make sure that it was built from the current content of a FASTA file.

        Parameters
        ----------
        fasta
            The reference.
        path
            Its index.
        command
            Command that builds the index anew, for messages.

        Raises
        ------
        InputError
            As in `load`; or the index does not match the FASTA file, or that cannot be read.
        """
        index = self.load(path)
        check_digest(fasta, (index.fasta_bytes, index.fasta_digest), path, command)
        return index

    def load_or_build(
        self, fasta: Path, path: Path, command: str, build: Callable[[], _Index]
    ) -> _Index:
        """Load the index of a FASTA file if it exists; otherwise build one for this run.

        Parameters
        ----------
        fasta, path, command
            As in `load_for`; `path` may not exist.
        build
            Builds the index.

        Raises
        ------
        InputError
            As in `load_for` and `build`.
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
        The index.
    suffix
        Suffix of such files. A file with another suffix may have been given by mistake, so the
        command does not replace it.
    command
        The command, without its output.
    """
    may_be_replaced = path.suffix == suffix or not path.exists()
    return command + (f" -o {path}" if may_be_replaced else "")


def digest_fasta(path: str | Path, pool: Pool) -> tuple[int, bytes]:
    """Return the size of a file on disk in bytes, and its digest.

    The digest is the SHA-256 of the SHA-256 of each piece of 16 MiB: one thread digests a human
    genome in 3.6 seconds, and several threads digest several pieces at a time.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    try:
        size = Path(path).stat().st_size
        starts = range(0, size, _DIGEST_BYTES)
        digests: list[bytes] = pool.results(
            [pool.submit(_digest_piece, path, start) for start in starts]
        )
        return size, hashlib.sha256(b"".join(digests)).digest()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def _digest_piece(path: str | Path, start: int) -> bytes:
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123  (opened for each piece)
        file.seek(start)
        left = _DIGEST_BYTES
        while left and (part := file.read(min(left, _READ_BYTES))):
            digest.update(part)
            left -= len(part)
    return digest.digest()


def check_digest(
    path: str | Path, expected: tuple[int, bytes], index_path: str | Path, command: str
) -> None:
    """Make sure that an index was made from the current content of a FASTA file.

    Parameters
    ----------
    path
        The FASTA file.
    expected
        The digest that is stored in the index.
    index_path
        The index file.
    command
        Command that makes the index anew.

    Raises
    ------
    InputError
        The digest differs, or the FASTA file cannot be read.
    """
    with Pool(usable_cpus()) as pool:
        found = digest_fasta(path, pool)
    if found != expected:
        raise InputError(
            f"{index_path}: does not match {path} (another file, or changed since); run: {command}"
        )
