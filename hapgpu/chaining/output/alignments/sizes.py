"""Largest sizes of lines, for the memory that they are written to; what is not used costs nothing.

A mismatch takes three bytes of cs, or five with the equal base before it; a base takes at most
three bytes of any tag.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.output.alignments.rows import MappingRows
from hapgpu.runtime.jit import njit

_FIXED_TEXT: Final = 768
"""Characters of a line beside names, comment, read group, alignment, bases and SA: at most 12
columns and 13 tags with numbers, of up to 12 and 18 characters."""
_SUPPLEMENTARY_TEXT: Final = 96
"""Characters of a mapping in SA beside the name: seven numbers of up to 11, and separators."""
_BASE: Final = 3
_OPERATION: Final = 32
"""Characters of an operation: its text, number in CG, brackets of ds, count of MD."""


@njit
def max_text_size(
    rows: MappingRows, reads: NDArray[np.void], longest_name: Integer, read_group: Integer
) -> Integer:
    """Return an upper bound of the characters of all lines, unmapped reads included.

    Parameters
    ----------
    rows
        Mappings with their operations as written.
    reads
        READ[n].
    longest_name
        Bytes of the longest name of a reference sequence.
    read_group
        Bytes of the tag RG.
    """
    mappings, operations, offsets = rows.mappings, rows.operations, rows.offsets
    size = np.int64(0)
    for row in range(reads.size):
        read = reads[row]
        line = _FIXED_TEXT + longest_name + read_group + read.name_length + read.comment_length
        line += 2 * read.length
        start, end = offsets[row], offsets[row + 1]
        line += (end - start) * (_SUPPLEMENTARY_TEXT + longest_name)
        size += line * max(end - start, 1)
        for k in range(start, end):
            size += _alignment_size(mappings[k], operations)
    return size


@njit
def _alignment_size(mapping: Any, operations: NDArray[np.uint32]) -> Integer:
    first, count = mapping.first_operation, np.int64(mapping.operations)
    columns = np.int64(0)
    for k in range(first, first + count):
        columns += operations[k] >> np.uint32(4)
    return _BASE * columns + _OPERATION * count
