"""Checks of CRAM indexes (.crai), which samtools itself does not check."""

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
_MAX_TRAILING_BYTES: Final = 1 << 12
"""Maximum of bytes from the last slice, by its entry, to the end of the file.

These are the header of its container, which the entry does not count (up to 56 bytes, and 5 per
slice), and the closing container (38): room for 800 slices per container. samtools and htsjdk write
one slice per container by default.
"""


def has_entries(index: Path, path: Path) -> bool:
    """Tell whether an index lists slices, and make sure that they match a file.

    An index without slices is the index of a file without records, or is truncated.

    Raises
    ------
    InputError
        It is damaged, or its last slice does not end where the file does.
    """
    end = _last_end(index, FileState.of(index), path)
    if end is None:
        return False
    if not 0 < FileState.of(path).size - end < _MAX_TRAILING_BYTES:
        raise InputError(
            f"{index}: does not match {path} (its slices end elsewhere); run: samtools index {path}"
        )
    return True


@lru_cache(_MAX_KEPT)
def _last_end(index: Path, _state: FileState, path: Path) -> int | None:
    """Return the end of the last slice, less its container's header; None without slices."""
    with open_inflated(index, str(index)) as stream:
        text = stream.read(MAX_RECORD)
    ends = [_end(line) for line in text.splitlines()]
    if None in ends:
        raise InputError(f"{index}: damaged, or not .crai; run: samtools index {path}")
    return max((end for end in ends if end is not None), default=None)


def _end(line: bytes) -> int | None:
    fields = line.split(b"\t")
    if len(fields) != _FIELDS or not all(map(_NUMBER.fullmatch, fields)):
        return None
    container, slice_offset, size = (int(field) for field in fields[3:])
    return container + slice_offset + size
