"""Called haplotypes among the records of a BAM: GATK's bamout and `call --bam-out` write them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bam.header import SamHeader, fields_of
from hapgpu.io.bam.tags import HEAD_BYTES, field_bytes, find_field, name_number
from hapgpu.runtime.jit import njit

HAPLOTYPE_GROUP: Final = "ArtificialHaplotypeRG"
"""Read group of the called haplotypes, as in GATK. Its sample is no sample."""

_READ_GROUP: Final = name_number("RG")
_VALUE: Final = np.frombuffer(HAPLOTYPE_GROUP.encode() + b"\0", dtype=np.uint8)


def has_haplotypes(header: SamHeader) -> bool:
    """Tell whether a header has the read group of called haplotypes."""
    lines = (line for line in header.text.split("\n") if line.startswith("@RG\t"))
    return any(fields_of(line).get("ID") == HAPLOTYPE_GROUP for line in lines)


def are_haplotypes(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Tell which records are called haplotypes, by their tag RG; return bool[n].

    Parameters
    ----------
    data
        Bytes that hold the tags of n records.
    starts, ends
        int64[n], offsets of the tags of each record.
    """
    found = np.zeros(starts.size, dtype=np.bool_)
    _mark(read_only(data), read_only(starts), read_only(ends), _VALUE, found)
    return found


@njit
def _mark(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    value: NDArray[np.uint8],
    found: NDArray[np.bool_],
) -> None:
    for row in range(found.size):
        at = find_field(data, starts[row], ends[row], _READ_GROUP)
        if at < 0 or field_bytes(data, at, ends[row]) != HEAD_BYTES + value.size:
            continue
        same = np.int64(0)
        while same < value.size and data[at + HEAD_BYTES + same] == value[same]:
            same += 1
        found[row] = same == value.size
