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
from hapgpu.chaining.output.parts import LineRange, line_parts
from hapgpu.runtime.jit import njit

_FIXED_TEXT: Final = 768
"""Characters of a line beside names, comment, read group, alignment, bases and SA: at most 12
columns and 13 tags with numbers, of up to 12 and 18 characters."""
_SUPPLEMENTARY_TEXT: Final = 96
"""Characters of a mapping in SA beside the name: seven numbers of up to 11, and separators."""
_BASE: Final = 3
_OPERATION: Final = 32
"""Characters of an operation: its text, number in CG, brackets of ds, count of MD."""


def aligned_line_parts(
    rows: MappingRows,
    reads: NDArray[np.void],
    base_counts: NDArray[np.int64],
    longest_name: int,
    read_group: int,
    most: int,
) -> list[LineRange]:
    """Cut lines into parts whose size is bounded.

    Parameters
    ----------
    rows
        m mappings with their operations as written.
    reads
        READ[n].
    base_counts
        int64[m]: bases written in the line of each mapping, with a quality each.
    longest_name
        Bytes of the longest name of a reference sequence.
    read_group
        Bytes of the tag RG.
    most
        Most bytes of a part of several lines.
    """
    fixed = _FIXED_TEXT + longest_name + read_group
    names = fixed + reads["name_length"] + reads["comment_length"]
    row_sizes = np.empty(rows.mappings.size, dtype=np.int64)
    _bound(rows, names, base_counts, _SUPPLEMENTARY_TEXT + longest_name, row_sizes)
    return line_parts(rows.offsets, names + 2 * reads["length"], row_sizes, most)


@njit
def _bound(
    rows: MappingRows,
    names: NDArray[np.int64],
    base_counts: NDArray[np.int64],
    place: Integer,
    row_sizes: NDArray[np.int64],
) -> None:
    """Set the largest sizes of the lines of mappings; `names` has the size without alignment."""
    mappings, operations, offsets = rows.mappings, rows.operations, rows.offsets
    for read in range(names.size):
        places = np.int64(0)
        for k in range(offsets[read], offsets[read + 1]):
            places += mappings[k].number == mappings[k].parent
        for k in range(offsets[read], offsets[read + 1]):
            mapping = mappings[k]
            size = names[read] + 2 * base_counts[k] + _alignment_size(mapping, operations)
            if mapping.number == mapping.parent:
                size += places * place
            row_sizes[k] = size


@njit
def _alignment_size(mapping: Any, operations: NDArray[np.uint32]) -> Integer:
    first, count = mapping.first_operation, np.int64(mapping.operations)
    columns = np.int64(0)
    for k in range(first, first + count):
        columns += operations[k] >> np.uint32(4)
    return _BASE * columns + _OPERATION * count
