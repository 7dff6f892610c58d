"""What an index knows its FASTA file by."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hapgpu.errors import InputError


def digest_fasta(path: str | Path) -> tuple[int, bytes]:
    """Return the size of a file in bytes, as it lies on disk, and its SHA-256.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            return file.tell(), digest.digest()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def check_digest(
    path: str | Path, expected: tuple[int, bytes], index_path: str | Path, command: str
) -> None:
    """Make sure that an index was made of a FASTA file as it is now.

    Parameters
    ----------
    path
        The FASTA file.
    expected
        What `digest_fasta` gave when the index was made.
    index_path
        Where the index lies.
    command
        Makes it anew.

    Raises
    ------
    InputError
        The digest is another one, or the FASTA file cannot be read.
    """
    if digest_fasta(path) != expected:
        raise InputError(
            f"{index_path}: made of another FASTA file than {path} (or that has changed since);"
            f" run: {command}"
        )
