"""Names of minimizer index files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hapgpu.longread.options import SketchOptions

SUFFIX: Final = ".hgm"


def default_index_path(fasta: str | Path, sketch: SketchOptions) -> Path:
    """Return the default path of the index of a FASTA file: beside it, with k, w and H."""
    return Path(f"{fasta}.k{sketch.k}w{sketch.w}{'H' * sketch.is_hpc}{SUFFIX}")


def index_command(fasta: str | Path, sketch: SketchOptions) -> str:
    """Return the command that builds the index of a FASTA file at its default path."""
    plain = SketchOptions()
    return "".join(
        [
            "hapgpu index --minimizers",
            f" -k {sketch.k}" if sketch.k != plain.k else "",
            f" -w {sketch.w}" if sketch.w != plain.w else "",
            " -H" if sketch.is_hpc else "",
            f" {fasta}",
        ]
    )
