"""Checks of CRAM indexes (.crai), which samtools itself does not check."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from hapgpu.errors import InputError
from hapgpu.io.alignments.index.file_state import FileState
from hapgpu.io.files.compressed import open_inflated
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
    slices = _slices_of(index, FileState.of(index), path)
    if not slices.contigs:
        return False
    end = slices.end
    if not 0 < FileState.of(path).size - end < _MAX_TRAILING_BYTES:
        raise InputError(
            f"{index}: does not match {path} (its slices end elsewhere); run: samtools index {path}"
        )
    return True


def contigs_in_slices(index: Path, path: Path, contigs: int) -> frozenset[int]:
    """Return the numbers of the contigs of a CRAM file with records; negative: without a contig.

    Parameters
    ----------
    index
        Index with slices.
    path
        The file.
    contigs
        Number of contigs in its header.

    Raises
    ------
    InputError
        The index is damaged.
    """
    found = _slices_of(index, FileState.of(index), path).contigs
    if max(found) >= contigs:
        raise _damaged(index, path)
    return found


def _damaged(index: Path, path: Path) -> InputError:
    return InputError(f"{index}: damaged, or not .crai; run: samtools index {path}")


class _Slices(NamedTuple):
    """Contigs of the slices, and the end of the last one, less its container's header."""

    contigs: frozenset[int]
    end: int


@lru_cache(_MAX_KEPT)
def _slices_of(index: Path, _state: FileState, path: Path) -> _Slices:
    with open_inflated(index, str(index)) as stream:
        text = stream.read(MAX_RECORD)
    lines = [line.split(b"\t") for line in text.splitlines()]
    if not all(len(line) == _FIELDS and all(map(_NUMBER.fullmatch, line)) for line in lines):
        raise _damaged(index, path)
    ends = (sum(map(int, line[3:])) for line in lines)
    return _Slices(frozenset(int(line[0]) for line in lines), max(ends, default=0))
