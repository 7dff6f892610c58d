"""References that the header of a CRAM file names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pysam

from hapgpu.io.files.htslib import release_freed_memory, silent_htslib

_MAGIC: Final = b"CRAM"
_SCHEME: Final = "file://"
_UR: Final = re.compile(r"^@SQ\t(?:.*\t)?UR:([^\t\n]+)", re.MULTILINE)
"""Read from the text: dictionaries of half a million contigs take many times its memory."""


def named_references(path: Path) -> set[str]:
    """Return the files that the header of a CRAM file names (UR of @SQ).

    The set is empty for a file of another kind and for a file that cannot be read.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return set()
        header = _header_text(path)
    except (OSError, ValueError):
        return set()
    release_freed_memory()
    return {name.removeprefix(_SCHEME) for name in _UR.findall(header)}


def _header_text(path: Path) -> str:
    with silent_htslib(), path.open("rb") as file:
        return str(pysam.AlignmentFile(file, "rc", check_sq=False).header)
