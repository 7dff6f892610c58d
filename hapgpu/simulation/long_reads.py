"""Long reads out of a reference, with errors as a sequencer might make them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.read_blocks import Allocate
from hapgpu.runtime.jit import njit, njit_inlined

_SPREAD: Final = 0.4
"""Standard deviation of the logarithm of a read's length."""
_LETTERS: Final = np.frombuffer(b"ACGT", dtype=np.uint8)
_LONGEST_INSERTION: Final = 8
_FIXED_TEXT: Final = 32
"""Characters of a record apart from bases and qualities, at most."""
_QUALITY: Final = np.uint8(ord("5"))


def _code_table() -> NDArray[np.uint8]:
    table = np.full(256, 4, dtype=np.uint8)
    for letters in (b"ACGT", b"acgt"):
        table[np.frombuffer(letters, dtype=np.uint8)] = range(4)
    return table


_CODES: Final = _code_table()
_2, _3, _27, _30, _31, _32 = map(np.uint64, (2, 3, 27, 30, 31, 32))
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR: Final = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class LongReadModel:
    """What simulated reads are like.

    Attributes
    ----------
    mean_length
        Bases of the reference that a read comes from; lengths are distributed log-normally.
    min_length
        Shorter ones are not made; it is added to what is drawn for the rest of the mean.
    error_rate
        Share of the bases with an error: for equal parts substitutions, insertions, deletions.
    """

    mean_length: int = 10_000
    min_length: int = 500
    error_rate: float = 0.08


def simulated_reads(
    reference: Ragged,
    bases: int,
    block_bytes: int,
    allocate: Allocate,
    model: LongReadModel | None = None,
    seed: int = 1,
) -> Iterator[ReadBlock]:
    """Draw reads from anywhere in a reference and from both strands, as text of FASTQ.

    Letters other than A, C, G and T become one of these at random.

    Parameters
    ----------
    reference
        uint8 text; sequences shorter than a read give shorter reads.
    bases
        How many the reads come from, at least.
    block_bytes
        A block has at most so many bytes, or one record.
    allocate
        Gives the memory of each block.
    model
        What the reads are like.
    seed
        For other reads.
    """
    model = LongReadModel() if model is None else model
    starts, lengths = _places(reference.offsets, bases, model, np.random.default_rng(seed))
    sizes = _max_bytes(lengths)
    first = 0
    while first < starts.size:
        fitting = int(np.searchsorted(np.cumsum(sizes[first:]), block_bytes, side="right"))
        behind = min(first + max(fitting, 1), starts.size)
        text = allocate(int(sizes[first:behind].sum()))
        size = _put_records(
            read_only(reference.data),
            read_only(starts[first:behind]),
            read_only(lengths[first:behind]),
            first,
            np.uint64(model.error_rate * 2**32),
            np.uint64(seed),
            text,
        )
        yield ReadBlock(text[:size], is_fasta=False, first=first + 1, name="simulated reads")
        first = behind


def _places(
    offsets: NDArray[np.int64], bases: int, model: LongReadModel, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """int64[n], int64[n]: where reads begin, and how long they are there."""
    spare = max(model.mean_length - model.min_length, 1)
    most = 2 * bases // model.mean_length + 16
    drawn = rng.lognormal(np.log(spare) - _SPREAD**2 / 2, _SPREAD, most)
    lengths = model.min_length + drawn.astype(np.int64)
    lengths = lengths[: np.searchsorted(np.cumsum(lengths), bases) + 1]
    starts = rng.integers(0, offsets[-1], lengths.size)
    sequences = np.searchsorted(offsets, starts, side="right") - 1
    sizes = np.diff(offsets)[sequences]
    lengths = np.minimum(lengths, sizes)
    return np.minimum(starts, offsets[sequences] + sizes - lengths), lengths


def _max_bytes(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the room for each record; insertions end where it does."""
    return 2 * (lengths + lengths // 4 + _LONGEST_INSERTION) + _FIXED_TEXT


@njit_inlined
def _mixed(state: Integer) -> Any:
    """Return a number of 64 random bits for each state (Steele et al. 2014, OOPSLA, SplitMix)."""
    bits = (state ^ state >> _30) * _FIRST_FACTOR
    bits = (bits ^ bits >> _27) * _SECOND_FACTOR
    return bits ^ bits >> _31


@njit
def _put_records(  # noqa: PLR0917  (compiled code takes no keywords)
    reference: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    first: Integer,
    threshold: Integer,
    seed: Integer,
    out: NDArray[np.uint8],
) -> Integer:
    """Write reads as FASTQ, with names that count from `first`; return the size of the text."""
    at: Integer = np.int64(0)
    for row in range(starts.size):
        number = first + row + 1
        state = _mixed(np.uint64(number) * _STEP ^ _mixed(seed))
        at = _put_header(out, at, number)
        begin = at
        end = begin + lengths[row] + lengths[row] // 4
        at = _put_bases(reference, starts[row], lengths[row], threshold, state, out, at, end)
        count = at - begin
        out[at] = out[at + 2] = ord("\n")
        out[at + 1] = ord("+")
        at += 3
        for k in range(count):
            out[at + k] = _QUALITY
        out[at + count] = ord("\n")
        at += count + 1
    return at


@njit_inlined
def _put_header(out: NDArray[np.uint8], at: Integer, number: Integer) -> Integer:
    out[at] = ord("@")
    out[at + 1] = ord("r")
    end = at + 2
    rest = number
    while rest:
        end += 1
        rest //= 10
    for place in range(end - 1, at + 1, -1):
        out[place] = ord("0") + number % 10
        number //= 10
    out[end] = ord("\n")
    return end + 1


@njit
def _put_bases(  # noqa: PLR0917  (compiled code takes no keywords)
    reference: NDArray[np.uint8],
    start: Integer,
    length: Integer,
    threshold: Integer,
    state: Integer,
    out: NDArray[np.uint8],
    at: Integer,
    end: Integer,
) -> Integer:
    """Write a read of one strand or the other, which ends before `end`."""
    is_reverse = state & np.uint64(1)
    for k in range(length):
        place = start + length - 1 - k if is_reverse else start + k
        state += _STEP
        bits = _mixed(state)
        code = np.uint64(_CODES[reference[place]])
        if code > _3:
            code = bits & _3
        elif is_reverse:
            code = _3 - code
        if at >= end:
            break
        kind = np.uint64(3)
        if bits >> _32 < threshold:
            kind = (bits >> _2) % _3
        if kind == 1:  # an insertion
            out[at] = _LETTERS[(bits >> np.uint64(8)) & _3]
            at += 1
        if kind == 0:  # a substitution by another base
            code = (code + np.uint64(1) + (bits >> np.uint64(8)) % _3) & _3
        if kind != 2:  # which is a deletion
            out[at] = _LETTERS[code]
            at += 1
    return at
