"""Both ends of fragments as reads: bases with errors, qualities and alignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.bam.constants import REFERENCE_OPERATIONS, SOFT_CLIP
from hapgpu.runtime.jit import njit
from hapgpu.simulation.alignments import align
from hapgpu.simulation.copies import INSERTED, ChromosomeCopy
from hapgpu.simulation.fragments import Fragments, PairedReadModel

_LETTERS: Final = np.frombuffer(b"ACGT", dtype=np.uint8)
_BEST_QUALITY, _WORST_QUALITY = 40, 2
_NOISE: Final = np.uint64(11)
"""Good bases have qualities from `_BEST_QUALITY` down to less than this below it."""
_FALL: Final = 2
"""Cycles for each Phred that the tail of a read falls."""
_3, _8, _16, _32 = map(np.uint64, (3, 8, 16, 32))
_BYTE, _HALF_WORD = np.uint64(0xFF), np.uint64(0xFFFF)


def _code_table() -> NDArray[np.uint8]:
    table = np.full(256, _LETTERS.size, dtype=np.uint8)
    table[_LETTERS] = range(_LETTERS.size)
    return table


_CODES: Final = _code_table()


class PairColumns(NamedTuple):
    """f pairs of reads of b bases, the left read of each before the right one.

    Attributes
    ----------
    bases, qualities
        uint8[f, 2, b], as stored in BAM.
    positions, ends
        int64[f, 2], 0-based, half-open: the reference that each read is aligned to.
    cigars
        uint32[f, 2, b + 1] in BAM encoding.
    cigar_lengths
        int64[f, 2]: how many elements of them count.
    is_first_left
        bool[f]: whether the left read is the first of its template.
    """

    bases: NDArray[np.uint8]
    qualities: NDArray[np.uint8]
    positions: NDArray[np.int64]
    ends: NDArray[np.int64]
    cigars: NDArray[np.uint32]
    cigar_lengths: NDArray[np.int64]
    is_first_left: NDArray[np.bool_]

    @classmethod
    def concatenate(cls, parts: Sequence[PairColumns]) -> PairColumns:
        """Put pairs, at least one part of them, under each other."""
        columns: Any = (np.concatenate(column) for column in zip(*parts, strict=True))
        return cls._make(columns)

    def take(self, rows: NDArray[np.bool_]) -> PairColumns:
        """Keep some pairs."""
        columns: Any = (column[rows] for column in self)
        return PairColumns._make(columns)


def read_pairs(
    copy: ChromosomeCopy,
    fragments: Fragments,
    reference: ReferenceSlice,
    model: PairedReadModel,
    rng: np.random.Generator,
) -> PairColumns:
    """Sequence both ends of fragments.

    Qualities go down from 40 by up to 10 at random, and further at the end of those reads that
    have a tail; bases are wrong as often as they say, times the factor of the model.

    Parameters
    ----------
    copy
        What the fragments come from.
    fragments
        f of them; those that cannot be used are left out.
    reference
        Bases of the contig, as far as they are there.
    model
        What reads are like.
    rng
        Source of chance.
    """
    size = model.read_length
    shape = (len(fragments), 2, size)
    pairs = PairColumns(
        bases=np.empty(shape, dtype=np.uint8),
        qualities=np.empty(shape, dtype=np.uint8),
        positions=np.empty(shape[:2], dtype=np.int64),
        ends=np.empty(shape[:2], dtype=np.int64),
        cigars=np.empty((len(fragments), 2, size + 1), dtype=np.uint32),
        cigar_lengths=np.zeros(shape[:2], dtype=np.int64),
        is_first_left=rng.random(len(fragments)) < 0.5,
    )
    _put_pairs(copy, fragments, reference, pairs)
    tails = rng.integers(size // 2, 2 * size, shape[:2])
    bits = rng.integers(0, 1 << 64, shape, dtype=np.uint64)
    _sequence(read_only(bits), tails, _error_limits(model), pairs.bases, pairs.qualities)
    return pairs.take(pairs.cigar_lengths.min(axis=1) > 0)


def _error_limits(model: PairedReadModel) -> NDArray[np.uint64]:
    """uint64[41]: below which 32 random bits make an error, for each quality."""
    rates = model.error_factor * 10.0 ** (-np.arange(_BEST_QUALITY + 1) / 10)
    return (rates.clip(max=1.0) * 2.0**32).astype(np.uint64)


def _put_pairs(
    copy: ChromosomeCopy,
    fragments: Fragments,
    reference: ReferenceSlice,
    pairs: PairColumns,
) -> None:
    _put_alignments(
        read_only(copy.bases),
        read_only(copy.places),
        read_only(reference.bases),
        reference.start,
        read_only(fragments.starts),
        read_only(fragments.lengths),
        read_only(fragments.slips),
        read_only(fragments.slip_starts),
        pairs.bases,
        pairs.positions,
        pairs.ends,
        pairs.cigars,
        pairs.cigar_lengths,
    )


@njit
def _put_alignments(  # noqa: PLR0913, PLR0917  (compiled code takes no keywords)
    copy_bases: NDArray[np.uint8],
    copy_places: NDArray[np.int64],
    reference: NDArray[np.uint8],
    reference_start: Integer,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    slips: NDArray[np.int64],
    slip_starts: NDArray[np.int64],
    bases: NDArray[np.uint8],
    positions: NDArray[np.int64],
    ends: NDArray[np.int64],
    cigars: NDArray[np.uint32],
    cigar_lengths: NDArray[np.int64],
) -> None:
    """Write the true bases of reads and their alignments; no CIGAR for what is not usable."""
    size = bases.shape[2]
    places = np.empty(size, dtype=np.int64)
    for row in range(starts.size):
        slip, slip_start = slips[row], slip_starts[row]
        for side in range(2):
            begin = side * (lengths[row] + slip - size)
            has_all = True
            for k in range(size):
                at = begin + k
                is_won = slip > 0 and slip_start <= at < slip_start + slip
                if at >= slip_start and not is_won:
                    at -= slip
                at += starts[row]
                base = copy_bases[at]
                bases[row, side, k] = base
                places[k] = INSERTED if is_won else copy_places[at]
                has_all &= _CODES[base] < _LETTERS.size
            if has_all:
                cigar = cigars[row, side]
                count = align(bases[row, side], places, reference, reference_start, cigar)
                cigar_lengths[row, side] = count
                if count:
                    element = np.int64(cigar[0])
                    position = places[element >> 4 if element & 15 == SOFT_CLIP else 0]
                    positions[row, side] = position
                    ends[row, side] = position + _reference_span(cigar, count)


@njit
def _reference_span(cigar: NDArray[np.uint32], count: Integer) -> Integer:
    span: Integer = 0
    for k in range(count):
        element = np.int64(cigar[k])
        if REFERENCE_OPERATIONS >> (element & 15) & 1:
            span += element >> 4
    return span


@njit
def _sequence(
    bits: NDArray[np.uint64],
    tails: NDArray[np.int64],
    limits: NDArray[np.uint64],
    bases: NDArray[np.uint8],
    qualities: NDArray[np.uint8],
) -> None:
    """Write qualities, and replace bases that are read wrongly by others."""
    size = bases.shape[2]
    for row in range(bases.shape[0]):
        for side in range(2):
            for k in range(size):
                cycle = size - 1 - k if side else k
                drawn = bits[row, side, k]
                noise = np.int64((drawn & _BYTE) * _NOISE >> _8)
                fall = max(cycle - tails[row, side], 0) // _FALL
                quality = max(_BEST_QUALITY - noise - fall, _WORST_QUALITY)
                qualities[row, side, k] = quality
                if drawn >> _32 < limits[quality]:
                    shift = np.uint64(1) + (drawn >> _16 & _HALF_WORD) % _3
                    code = np.uint64(_CODES[bases[row, side, k]]) + shift & _3
                    bases[row, side, k] = _LETTERS[code]
