"""Tags of BAM records as comments of reads."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, load_u16
from hapgpu.io.alignments.sam.tags import put_tags
from hapgpu.io.bam.tags import field_bytes, name_number
from hapgpu.runtime.jit import njit

MAX_TEXT_PER_BYTE: Final = 5
"""Maximum of the characters for a byte of tags, as `put_tags` needs them."""

_OF_ALIGNMENTS: Final = "NM MD AS SA CG cs cg ds tp cm s1 s2 de rl ms nn zd"
_DROPPED: Final = np.array([*map(name_number, _OF_ALIGNMENTS.split())], dtype=np.int64)
_FIRST_PRINTABLE = np.uint8(ord(" "))


@njit
def put_comment(
    data: NDArray[np.uint8], start: Integer, end: Integer, out: NDArray[np.uint8], to: Integer
) -> Integer:
    """Write the tags of a record as SAM text, each after a tab.

    Tags that describe an alignment, and that a new alignment has too, are left out.

    Parameters
    ----------
    data
        uint8: the record.
    start, end
        The range of its tags, which are well-formed.
    out, to
        uint8, with room for the maximum size, and the offset to write to.

    Returns
    -------
    int
        The end of the text; -1 if a tag has a control character, which would end the comment.
    """
    at = start
    while at < end:
        size = field_bytes(data, at, end)
        if not _is_dropped(load_u16(data, at)):
            first = to + 1  # after the tab
            to = put_tags(data, at, at + size, out, to)
            if _has_control_character(out, first, to):
                return -1
        at += size
    return to


@njit
def _is_dropped(name: Integer) -> bool:
    found = False
    for k in range(_DROPPED.size):
        found |= bool(_DROPPED[k] == name)
    return found


@njit
def _has_control_character(text: NDArray[np.uint8], start: Integer, end: Integer) -> bool:
    first = np.uint64(start)
    found = False
    for k in range(np.uint64(end - start)):
        found |= bool(text[first + k] < _FIRST_PRINTABLE)
    return found
