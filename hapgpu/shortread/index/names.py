"""Names of FM index files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

SUFFIX: Final = ".hgx"


def default_index_path(fasta: str | Path) -> Path:
    """Return the default path of the index of a FASTA file, beside it."""
    return Path(f"{fasta}{SUFFIX}")
