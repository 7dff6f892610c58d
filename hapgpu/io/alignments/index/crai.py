"""Indexes of CRAM (.crai), of which samtools believes all: checked before they are used."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Final

from hapgpu.errors import InputError
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.file_state import FileState
from hapgpu.io.files.record_limit import MAX_RECORD

_MAX_KEPT: Final = 16
_FIELDS: Final = 6  # contig, start, span, offset of the container, of the slice in it, its bytes
_NUMBER: Final = re.compile(rb"-?[0-9]{1,19}")
_MAX_BEHIND: Final = 1 << 12
"""Bytes of a container's header, which offsets of slices leave out, and of the closing container.

The header takes up to 56 bytes and 5 more for each slice (its landmark), the closing container 38:
there is room for 800 slices in a container. samtools and htsjdk write one, unless told otherwise.
"""


def has_entries(index: Path, path: Path) -> bool:
    """Tell whether an index lists slices, and make sure that they are those of a file.

    Without any it is that of a file without records, or was cut: it says nothing.

    Raises
    ------
    InputError
        It is damaged, or its last slice does not end where the file does.
    """
    end = _last_end(index, FileState.of(index), path)
    if end is None:
        return False
    if not 0 < FileState.of(path).size - end < _MAX_BEHIND:
        raise InputError(
            f"{index}: made of another file (its slices end elsewhere than {path}); run: samtools"
            f" index {path}"
        )
    return True


@lru_cache(_MAX_KEPT)
def _last_end(index: Path, _state: FileState, path: Path) -> int | None:
    """Return where the last slice ends, but for its container's header; None without slices."""
    with open_inflated(index, str(index)) as stream:
        text = stream.read(MAX_RECORD)
    ends = [_end(line) for line in text.splitlines()]
    if None in ends:
        raise InputError(f"{index}: damaged, or no .crai; run: samtools index {path}")
    return max((end for end in ends if end is not None), default=None)


def _end(line: bytes) -> int | None:
    fields = line.split(b"\t")
    if len(fields) != _FIELDS or not all(map(_NUMBER.fullmatch, fields)):
        return None
    offset, within, size = (int(field) for field in fields[3:])
    return offset + within + size
