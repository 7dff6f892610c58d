"""References that the header of a CRAM file names."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pysam

from hapgpu.io.files.htslib import silent_htslib

_MAGIC: Final = b"CRAM"
_SCHEME: Final = "file://"


def named_references(path: Path) -> set[str]:
    """Return the files that the header of a CRAM file names (UR of @SQ).

    The set is empty for a file of another kind and for a file that cannot be read.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return set()
        with silent_htslib(), path.open("rb") as file:
            header = pysam.AlignmentFile(file, "rc", check_sq=False).header.to_dict()
    except (OSError, ValueError):
        return set()
    names = {line.get("UR", "") for line in header.get("SQ", ())}
    return {name.removeprefix(_SCHEME) for name in names if name}
