"""Names of FM index files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

SUFFIX: Final = ".hgx"


def default_index_path(fasta: str | Path) -> Path:
    """Return the default path of the index of a FASTA file, beside it."""
    return Path(f"{fasta}{SUFFIX}")


def index_command(fasta: str | Path, path: Path) -> str:
    """Return the command that builds the index of a FASTA file at `path`."""
    target = "" if path == default_index_path(fasta) else f" -o {path}"
    return f"hapgpu index {fasta}{target}"
