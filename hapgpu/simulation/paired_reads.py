"""Paired reads of fragments: their models, bases with errors, qualities and alignments.

Fragments come from chromosome copies, with the slips of PCR in their tandem repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.bam.constants import REFERENCE_OPERATIONS, SOFT_CLIP
from hapgpu.runtime.jit import njit
from hapgpu.shortread.search.packed_reads import BASE_CODES
from hapgpu.simulation.alignments import align
from hapgpu.simulation.phased_variants import INSERTED, ChromosomeCopy
from hapgpu.simulation.sequences import LETTERS, LONGEST_UNIT, other_code, tandem_repeats

_MIN_UNITS: Final = 4
"""Shorter repeats are copied without slips."""
_LOSSES: Final = 2 / 3
"""Fraction of slips that remove a unit; the others add one."""
_MAX_SLIPS: Final = 0.2
_SHORTEST_READ: Final = 30
_MAX_DEVIATIONS: Final = 5


@dataclass(frozen=True, slots=True)
class PairedReadModel:
    """Lengths, depth and errors of simulated fragments and paired reads.

    Attributes
    ----------
    depth
        Mean number of reads per base of the reference; every chromosome copy has the same part.
    read_length
        Bases of each read, at least 30.
    fragment_mean, fragment_deviation
        Mean and standard deviation of the normally distributed lengths of fragments: at least
        `shortest_fragment`, and at most five deviations above the mean.
    error_factor
        The rate of errors is this times the error probability of the base quality: 1 for true
        qualities, 0 for reads without errors.
    slip_rate
        A tandem repeat of n > 3 units has lost or gained a unit in this fraction of the fragments,
        times (n - 3)**2; at most in a fifth.

    Raises
    ------
    ValueError
        A value is outside of its range.
    """

    depth: float = 30.0
    read_length: int = 148
    fragment_mean: float = 420.0
    fragment_deviation: float = 80.0
    error_factor: float = 1.0
    slip_rate: float = 1e-4

    def __post_init__(self) -> None:
        if self.read_length < _SHORTEST_READ:
            raise ValueError(f"read_length={self.read_length}: must be at least {_SHORTEST_READ}")
        if self.depth <= 0 or self.fragment_deviation < 0:
            raise ValueError("depth must be above 0, and fragment_deviation not negative")
        if self.error_factor < 0 or self.slip_rate < 0:
            raise ValueError("error_factor and slip_rate must not be negative")

    @property
    def shortest_fragment(self) -> int:
        """Bases of a fragment, at least, before it may lose a unit of a repeat."""
        return self.read_length + LONGEST_UNIT

    @property
    def longest_fragment(self) -> int:
        """Bases of a fragment, at most, before it may gain a unit of a repeat."""
        longest = int(self.fragment_mean + _MAX_DEVIATIONS * self.fragment_deviation)
        return max(longest, self.shortest_fragment)


@dataclass(frozen=True, slots=True)
class Fragments:
    """f fragments of a chromosome copy.

    Attributes
    ----------
    starts, lengths
        int64[f]: the bases of the copy that each fragment comes from.
    slips
        int64[f]: bases gained at `slip_starts`, or lost from there if negative; mostly 0.
    slip_starts
        int64[f], offset in the fragment.
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    slips: NDArray[np.int64]
    slip_starts: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size


def drawn_fragments(
    bases: NDArray[np.uint8],
    first: int,
    last: int,
    ploidy: int,
    model: PairedReadModel,
    rng: np.random.Generator,
) -> Fragments:
    """Draw the fragments that start within part of a chromosome copy.

    Parameters
    ----------
    bases
        uint8 text of the copy; fragments that would leave it are excluded.
    first, last
        The part, half-open.
    ploidy
        Number of copies.
    model
        Depth and lengths.
    rng
        Source of random numbers.
    """
    expected = model.depth / ploidy * (last - first) / (2 * model.read_length)
    count = int(rng.poisson(expected))
    starts = rng.integers(first, max(last, first + 1), count)
    drawn = rng.normal(model.fragment_mean, model.fragment_deviation, count)
    lengths = drawn.round().astype(np.int64)
    lengths = lengths.clip(model.shortest_fragment, model.longest_fragment)
    fits = starts + lengths <= bases.size
    starts, lengths = starts[fits], lengths[fits]
    return _with_slips(bases, starts, lengths, model.slip_rate, rng)


def _with_slips(
    bases: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    rate: float,
    rng: np.random.Generator,
) -> Fragments:
    """Change one repeat that lies wholly within a fragment by a unit, or none.

    One number between 0 and 1 is drawn per fragment: the rates of its repeats are laid end to end
    from 0 on, and the number lies on one of them or after all.
    """
    chances, is_lost = rng.random(starts.size), rng.random(starts.size) < _LOSSES
    repeats = tandem_repeats(bases, _MIN_UNITS)
    rates = np.minimum(rate * (repeats.counts - (_MIN_UNITS - 1.0)) ** 2, _MAX_SLIPS)
    sums = np.append(0.0, np.cumsum(rates))
    first = np.searchsorted(repeats.starts, starts + 1)
    drawn = np.searchsorted(sums, sums[first] + chances, side="right") - 1
    has_slip = drawn < repeats.starts.size
    drawn[~has_slip] = 0
    slips, slip_starts = np.zeros_like(starts), np.zeros_like(starts)
    if repeats.starts.size:
        has_slip &= repeats.ends[drawn] < starts + lengths
        slips = np.where(has_slip, np.where(is_lost, -1, 1) * repeats.units[drawn], 0)
        slip_starts = np.where(has_slip, repeats.starts[drawn] - starts, 0)
    return Fragments(starts, lengths, slips, slip_starts)


_BEST_QUALITY, _WORST_QUALITY = 40, 2
_NOISE: Final = np.uint64(11)
"""Good bases have qualities from `_BEST_QUALITY` down to this - 1 below it."""
_FALL: Final = 2
"""Cycles per Phred that the qualities fall by in the tail of a read."""
_8, _16, _32 = map(np.uint64, (8, 16, 32))
_BYTE, _HALF_WORD = np.uint64(0xFF), np.uint64(0xFFFF)


class PairColumns(NamedTuple):
    """f read pairs of b bases per read, the left read before the right read.

    Attributes
    ----------
    bases, qualities
        uint8[f, 2, b], as stored in BAM.
    positions, ends
        int64[f, 2], 0-based, half-open: the reference interval that each read is aligned to.
    cigars
        uint32[f, 2, b + 1] in BAM encoding.
    cigar_lengths
        int64[f, 2]: how many of these elements are used.
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
        """Concatenate pairs, at least one part of them."""
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def take(self, rows: NDArray[np.bool_]) -> PairColumns:
        """Return the pairs of a mask, `rows`, bool[f]."""
        columns: Any = (column[rows] for column in self)
        return PairColumns._make(columns)


def read_pairs(
    copy: ChromosomeCopy,
    fragments: Fragments,
    reference: ReferenceSlice,
    model: PairedReadModel,
    rng: np.random.Generator,
) -> PairColumns:
    """Sequence both ends of fragments, as columns of read pairs.

    Qualities are 40 minus up to 10 at random, and lower at the end of those reads that have a
    tail. A base is wrong with the error probability of its quality, times the factor of the model.

    Parameters
    ----------
    copy
        The chromosome copy that the fragments come from.
    fragments
        f fragments; those with another letter than A, C, G and T, or with a read of which too few
        bases can be aligned, are excluded.
    reference
        Bases of the contig, or part of it.
    model
        Length and errors of reads.
    rng
        Source of random numbers.
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
    """Return uint64[41]: for each quality, 32 random bits below this make an error."""
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
        read_only(copy.positions),
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
def _put_alignments(
    copy_bases: NDArray[np.uint8],
    copy_positions: NDArray[np.int64],
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
    """Write the true bases of reads and their alignments; no CIGAR for excluded reads."""
    size = bases.shape[2]
    base_positions = np.empty(size, dtype=np.int64)
    for row in range(starts.size):
        slip, slip_start = slips[row], slip_starts[row]
        for side in range(2):
            start = side * (lengths[row] + slip - size)
            is_sound = True
            for k in range(size):
                at = start + k
                is_gained = slip > 0 and slip_start <= at < slip_start + slip
                if at >= slip_start and not is_gained:
                    at -= slip
                at += starts[row]
                base = copy_bases[at]
                bases[row, side, k] = base
                base_positions[k] = INSERTED if is_gained else copy_positions[at]
                is_sound &= BASE_CODES[base] < LETTERS.size
            if is_sound:
                cigar = cigars[row, side]
                count = align(bases[row, side], base_positions, reference, reference_start, cigar)
                cigar_lengths[row, side] = count
                if count:
                    element = np.int64(cigar[0])
                    position = base_positions[element >> 4 if element & 15 == SOFT_CLIP else 0]
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
    """Write qualities, and replace wrong bases by others."""
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
                    code = np.uint64(BASE_CODES[bases[row, side, k]])
                    bases[row, side, k] = LETTERS[other_code(code, drawn >> _16 & _HALF_WORD)]
