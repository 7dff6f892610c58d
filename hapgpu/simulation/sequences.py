"""Sequences: random bases and changes of bases, random references, tandem repeats, names, FASTQ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit, njit_inlined

LETTERS: Final = np.frombuffer(b"ACGT", dtype=np.uint8)
LONGEST_UNIT: Final = 6
"""Bases of the longest unit of a tandem repeat."""

_1, _3 = np.uint64(1), np.uint64(3)
_FAMILY_LENGTH, _FAMILY_FRACTION, _FAMILY_DIVERGENCE = 300, 0.1, 0.1
_DUPLICATION_LENGTH, _DUPLICATION_FRACTION, _DUPLICATION_DIVERGENCE = 3000, 0.05, 0.01


def random_bases(
    shape: int | tuple[int, ...], rng: np.random.Generator, dtype: type[np.integer[Any]] = np.int64
) -> NDArray[np.uint8]:
    """Draw bases A, C, G and T, uint8[shape].

    Parameters
    ----------
    shape
        Shape of the array.
    rng
        Source of random numbers.
    dtype
        Type of the numbers drawn: a small one is faster. A seed gives other bases with another
        type.
    """
    return LETTERS[rng.integers(0, 4, shape, dtype=dtype)]


def replace_bases(
    bases: NDArray[np.uint8],
    probability: float,
    rng: np.random.Generator,
    float_type: type[np.float32 | np.float64] = np.float64,
    base_type: type[np.integer[Any]] = np.int64,
) -> None:
    """Replace each base, with some probability, by a random one: in one of four cases by itself.

    Parameters
    ----------
    bases
        uint8 text of any shape, changed in place.
    probability
        To be replaced; 4/3 of the fraction of bases that is to differ.
    rng
        Source of random numbers.
    float_type, base_type
        Types of the numbers drawn, as in `random_bases`.
    """
    is_replaced = rng.random(bases.shape, dtype=float_type) < probability
    bases[is_replaced] = random_bases(int(is_replaced.sum()), rng, base_type)


@njit_inlined
def other_code(code: Integer, bits: Integer) -> Any:
    """Return one of the three other base codes, 0 to 3, chosen by random bits; all uint64."""
    return (code + _1 + bits % _3) & _3


def random_reference(bases: int, seed: int = 1) -> NDArray[np.uint8]:
    """Make a sequence with repeats.

    Copies of one sequence of 300 bases cover a tenth of it; each copy has a tenth of its bases
    changed. Copies of other intervals of 3,000 bases cover a twentieth, with 1 % changed.

    Parameters
    ----------
    bases
        Length of the sequence, at least 3,000.
    seed
        Seed of the random numbers.

    Returns
    -------
    uint8[bases], A, C, G and T.
    """
    rng = np.random.default_rng(seed)
    reference = random_bases(bases, rng, np.uint8)
    copies = int(bases * _FAMILY_FRACTION / _FAMILY_LENGTH)
    family = np.tile(random_bases(_FAMILY_LENGTH, rng, np.uint8), (copies, 1))
    _paste(family, _FAMILY_DIVERGENCE, reference, rng)
    copies = int(bases * _DUPLICATION_FRACTION / _DUPLICATION_LENGTH)
    starts = rng.integers(0, bases - _DUPLICATION_LENGTH + 1, copies)
    duplicated = reference[starts[:, None] + np.arange(_DUPLICATION_LENGTH)]
    _paste(duplicated, _DUPLICATION_DIVERGENCE, reference, rng)
    return reference


def _paste(
    copies: NDArray[np.uint8],
    divergence: float,
    reference: NDArray[np.uint8],
    rng: np.random.Generator,
) -> None:
    """Write sequences, changed at random, over random positions of a reference."""
    replace_bases(copies, divergence * 4 / 3, rng, np.float32, np.uint8)
    length = copies.shape[1]
    starts = rng.integers(0, reference.size - length + 1, copies.shape[0])
    reference[starts[:, None] + np.arange(length)] = copies


@dataclass(frozen=True, slots=True)
class TandemRepeats:
    """r tandem repeats of a sequence, in the order of their starts: a unit that follows itself.

    Attributes
    ----------
    starts, ends
        int64[r], half-open offsets in the sequence; the last unit may be incomplete.
    units
        int64[r]: bases of the unit, 1 to `LONGEST_UNIT`; the unit is no repeat itself.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    units: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """int64[r]: the number of whole units."""
        counts: NDArray[np.int64] = (self.ends - self.starts) // self.units
        return counts

    def take(self, chosen: NDArray[np.bool_]) -> TandemRepeats:
        """Select repeats by a mask, `chosen`, bool[r]."""
        return TandemRepeats(self.starts[chosen], self.ends[chosen], self.units[chosen])


def tandem_repeats(bases: NDArray[np.uint8], min_units: int) -> TandemRepeats:
    """Find the tandem repeats of at least `min_units` whole units, homopolymers included.

    Parameters
    ----------
    bases
        uint8 text, upper case; a run of N is no repeat.
    min_units
        At least 2.
    """
    found = [_repeats_of_unit(bases, unit, min_units) for unit in range(1, LONGEST_UNIT + 1)]
    starts, ends, units = (np.concatenate(columns) for columns in zip(*found, strict=True))
    order = np.lexsort((units, starts))
    return TandemRepeats(starts[order], ends[order], units[order])


def _repeats_of_unit(
    bases: NDArray[np.uint8], unit: int, min_units: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    earlier, later = bases[: max(bases.size - unit, 0)], bases[unit:]
    repeats = np.zeros(earlier.size + 2, dtype=np.int8)
    repeats[1:-1] = (earlier == later) & (later != ord("N"))
    steps = np.diff(repeats)
    starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) + unit
    is_long = ends - starts >= min_units * unit
    starts, ends = starts[is_long], ends[is_long]
    first = bases[starts[:, None] + np.arange(unit)]
    is_unit = np.ones(starts.size, dtype=np.bool_)
    for divisor in range(1, unit):
        if unit % divisor == 0:
            is_unit &= (first[:, divisor:] != first[:, :-divisor]).any(axis=1)
    starts, ends = starts[is_unit], ends[is_unit]
    return starts, ends, np.full(starts.size, unit, dtype=np.int64)


NAME_DIGITS: Final = 9
_NEWLINE, _PLUS = b"\n+"


def numbered_names(prefix: bytes, numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return uint8[n, bytes]: the prefix and `numbers`, int64[n], in `NAME_DIGITS` digits."""
    digits = numbers[:, None] // 10 ** np.arange(NAME_DIGITS - 1, -1, -1) % 10 + ord("0")
    names = np.empty((numbers.size, len(prefix) + NAME_DIGITS), dtype=np.uint8)
    names[:, : len(prefix)] = np.frombuffer(prefix, dtype=np.uint8)
    names[:, len(prefix) :] = digits
    return names


@njit
def put_fastq_end(
    out: NDArray[np.uint8], at: Integer, length: Integer, quality: Integer
) -> Integer:
    """Write a FASTQ record from the end of its bases on: `length` times the same quality.

    Returns the offset after the record. `out` is uint8, with room for `length` + 4 bytes.
    """
    out[at] = out[at + 2] = _NEWLINE
    out[at + 1] = _PLUS
    at += 3
    for k in range(length):
        out[at + k] = quality
    out[at + length] = _NEWLINE
    return at + length + 1
