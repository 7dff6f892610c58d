"""The references that a CRAM file names itself, from which samtools reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pysam

from hapgpu.io.files.htslib import silent_htslib

_MAGIC: Final = b"CRAM"
_SCHEME: Final = "file://"


def named_references(path: Path) -> set[str]:
    """Return the files that the header of a CRAM file names (UR of @SQ).

    None of a file of another kind, or that cannot be read: whoever reads it says so.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return set()
        with silent_htslib(), path.open("rb") as file:
            header = pysam.AlignmentFile(file, "rc", check_sq=False).header.to_dict()
    except (OSError, ValueError):
        return set()
    named = {line.get("UR", "") for line in header.get("SQ", ())}
    return {name.removeprefix(_SCHEME) for name in named if name}
