"""Differences between reads and the reference: the optional fields NM and MD."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, row_of, view_of
from hapgpu.cigar.encoding import (
    DELETION,
    INSERTION,
    consumes_query,
    consumes_reference,
    is_alignment,
    length_of,
    operation_of,
)
from hapgpu.io.bam.constants import NUCLEOTIDES
from hapgpu.io.text.builder import TextBuilder, put_byte, put_count
from hapgpu.runtime.jit import njit

_ANY_BASE = 15
_TEXTS = TextBuilder(row_bytes=12)
_CARET = ord("^")


def _base_codes() -> NDArray[np.uint8]:
    """Return uint8[256]: four-bit codes of bases, as htslib reads them from text."""
    codes = np.full(256, _ANY_BASE, dtype=np.uint8)
    for code, letter in enumerate(NUCLEOTIDES.decode()):
        codes[[ord(letter), ord(letter.lower())]] = code
    for letter, same in zip("Uu0123", "TTACGT", strict=True):
        codes[ord(letter)] = codes[ord(same)]
    return codes


_BASE_CODES = _base_codes()
_UPPER_CASE = np.frombuffer(bytes(range(256)).upper(), dtype=np.uint8)


def mismatch_tags(
    bases: Ragged,
    cigars: Ragged,
    positions: NDArray[np.int32],
    references: Ragged,
    reference_index: NDArray[np.int32],
) -> tuple[NDArray[np.int32], Ragged]:
    """Compute NM and MD as `samtools calmd` does.

    Parameters
    ----------
    bases
        uint8 text, n rows: the reads, soft-clipped bases included.
    cigars
        uint32 in BAM encoding, n rows.
    positions
        int32[n], 0-based.
    references
        uint8 text, upper or lower case.
    reference_index
        int32[n]: the row of `references` for each read; -1 for none.

    Returns
    -------
    NM, int32[n], and MD, uint8 text. MD is empty, and NM 0, for reads without bases, reference
    or position; both exclude the part of a read outside the reference.
    """
    has_md = (bases.lengths > 0) & (reference_index >= 0) & (positions >= 0)
    reads = _Reads(
        view_of(bases),
        view_of(cigars),
        positions.astype(np.int64),
        view_of(references),
        reference_index.astype(np.int64),
    )
    distances = np.zeros(len(bases), dtype=np.int32)
    offsets = np.zeros(len(bases) + 1, dtype=np.int64)
    write = partial(_write_mismatches, reads, has_md, offsets, distances)
    return distances, Ragged(_TEXTS(len(bases), write), offsets)


class _Reads(NamedTuple):
    """Reads, their CIGARs and references, for compiled code."""

    bases: RaggedView
    cigars: RaggedView
    positions: NDArray[np.int64]
    references: RaggedView
    reference_index: NDArray[np.int64]


@njit
def _write_mismatches(
    reads: _Reads,
    has_md: NDArray[np.bool_],
    offsets: NDArray[np.int64],
    distances: NDArray[np.int32],
    out: NDArray[np.uint8],
) -> Integer:
    """Write NM, MD and where each MD ends; return the end of all."""
    text = memory_of(out)
    end: Integer = np.int64(0)
    for row in range(has_md.size):
        if has_md[row]:
            end, distances[row] = _put_mismatches(
                text,
                end,
                row_of(reads.bases, row),
                row_of(reads.cigars, row),
                reads.positions[row],
                row_of(reads.references, reads.reference_index[row]),
            )
        offsets[row + 1] = end
    return end


@njit
def _put_mismatches(
    text: Memory,
    end: Integer,
    read: NDArray[np.uint8],
    cigar: NDArray[np.uint32],
    position: int,
    reference: NDArray[np.uint8],
) -> tuple[Integer, int]:
    """Write MD; return its end and NM. Stop where read or reference ends, as calmd does."""
    matched: Integer = np.int64(0)
    distance, on_read, on_reference = 0, 0, position
    for element in cigar:
        operation, length = operation_of(element), length_of(element)
        present = length
        if is_alignment(operation):
            present = min(length, max(0, min(read.size - on_read, reference.size - on_reference)))
            for k in range(present):
                base, other = read[on_read + k], reference[on_reference + k]
                if _matches(base, other):
                    matched += 1
                    continue
                end = put_byte(text, put_count(text, end, matched), _UPPER_CASE[other])
                matched, distance = 0, distance + 1
        elif operation == DELETION:
            present = min(length, max(0, reference.size - on_reference))
            end = put_byte(text, put_count(text, end, matched), _CARET)
            for k in range(present):
                end = put_byte(text, end, _UPPER_CASE[reference[on_reference + k]])
            matched, distance = 0, distance + present
        elif operation == INSERTION:
            distance += length
        if present < length:
            break
        on_read += length if consumes_query(operation) else 0
        on_reference += length if consumes_reference(operation) else 0
    return put_count(text, end, matched), distance


@njit
def _matches(base: int, reference_base: int) -> bool:
    """Tell whether calmd treats two bases as equal: `=` always, N never."""
    code = _BASE_CODES[base]
    return bool(code == 0 or (code == _BASE_CODES[reference_base] and code != _ANY_BASE))
