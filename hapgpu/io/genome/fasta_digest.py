"""Digest by which an index identifies its FASTA file."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hapgpu.errors import InputError


def digest_fasta(path: str | Path) -> tuple[int, bytes]:
    """Return the size of a file on disk in bytes, and its SHA-256.

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
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


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
    if digest_fasta(path) != expected:
        raise InputError(
            f"{index_path}: does not match {path} (another file, or changed since); run: {command}"
        )
