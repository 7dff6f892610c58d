"""Indexes of a file, beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

BAM_INDEXES: Final = ("bai", "csi")
CRAM_INDEXES: Final = ("crai", "csi")
VCF_INDEXES: Final = ("tbi", "csi")


def index_beside(path: Path, kinds: Sequence[str]) -> Path | None:
    """Return X.bam.bai or X.bai, or the first of the other kinds that exists; None for none."""
    for kind in kinds:
        for candidate in (path.with_name(f"{path.name}.{kind}"), path.with_suffix(f".{kind}")):
            if candidate.is_file():
                return candidate
    return None
