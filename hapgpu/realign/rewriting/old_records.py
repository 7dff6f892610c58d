"""One record before the moves, as addresses of its parts, for compiled functions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import load_i32_at
from hapgpu.io.bam.record_layout import RecordLayout
from hapgpu.runtime.jit import njit_inlined


class OldRecord(NamedTuple):
    """A record in an array of bytes.

    Attributes
    ----------
    at
        Address of its `block_size`.
    name_bytes
        Bytes of the name, without the NUL.
    cigar, elements
        Address and number of its CIGAR elements, in their field or in the tag CG.
    bases
        Number of bases.
    fields, end
        Addresses of the first optional field and after the last one.
    long_cigar
        Address of the field CG that holds a long CIGAR; before `at` for none.
    limit
        Address after the array.
    """

    at: Integer
    name_bytes: Integer
    cigar: Integer
    elements: Integer
    bases: Integer
    fields: Integer
    end: Integer
    long_cigar: Integer
    limit: Integer


@njit_inlined
def old_record(base: Integer, size: Integer, layout: RecordLayout, row: Integer) -> OldRecord:
    """Return a record of an array of `size` bytes at the address `base`."""
    at = base + layout.starts[row]
    return OldRecord(
        at,
        np.int64(layout.name_lengths[row]),
        base + layout.cigar_starts[row],
        np.int64(layout.cigar_lengths[row]),
        np.int64(layout.base_counts[row]),
        base + layout.tag_starts[row],
        at + 4 + load_i32_at(at),
        base + layout.long_cigars[row],
        base + size,
    )
