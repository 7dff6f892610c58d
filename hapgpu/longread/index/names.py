"""Names of minimizer index files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hapgpu.longread.options import SketchOptions

SUFFIX: Final = ".hgm"


def default_index_path(fasta: str | Path, sketch: SketchOptions) -> Path:
    """Return the default path of the index of a FASTA file: beside it, with k, w and H."""
    return Path(f"{fasta}.k{sketch.k}w{sketch.w}{'H' * sketch.is_hpc}{SUFFIX}")
