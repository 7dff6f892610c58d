"""Long reads with sequencing errors from random positions of a reference, as FASTQ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import memory_of
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bgzf.pieces import Allocate
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.text.builder import SLACK, put_count
from hapgpu.runtime.jit import njit, njit_inlined
from hapgpu.shortread.search.packed_reads import BASE_CODES
from hapgpu.simulation.sequences import LETTERS, other_code, put_fastq_end

_SPREAD: Final = 0.4
"""Standard deviation of the logarithm of the length of a read."""
_LONGEST_INSERTION: Final = 8
_FIXED_TEXT: Final = 32
"""Characters of a record except bases and qualities, at most."""
_QUALITY: Final = ord("5")
_AT, _READ, _NEWLINE = b"@r\n"
_2, _3, _8, _27, _30, _31, _32 = map(np.uint64, (2, 3, 8, 27, 30, 31, 32))
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR: Final = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class LongReadModel:
    """Lengths and errors of simulated long reads.

    Attributes
    ----------
    mean_length
        Mean number of reference bases per read; lengths are distributed log-normally.
    min_length
        Bases of the reference per read, at least; added to the length drawn for the rest.
    error_rate
        Fraction of bases with an error: equal parts of substitutions, insertions and deletions.
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
    """Draw reads from random positions and strands of a reference, as FASTQ.

    Letters other than A, C, G and T become one of these at random. The reads do not depend on the
    size of the blocks.

    Parameters
    ----------
    reference
        uint8 text, a row per contig; a contig shorter than a read gives a shorter read.
    bases
        Bases of the reference that all reads together come from, at least.
    block_bytes
        A block has at most this many bytes, or one record.
    allocate
        Allocates the memory of each block.
    model
        Lengths and errors.
    seed
        Seed of the random numbers.
    """
    model = LongReadModel() if model is None else model
    starts, lengths = _drawn_spans(reference.offsets, bases, model, np.random.default_rng(seed))
    record_sizes = _max_bytes(lengths)
    first = 0
    while first < starts.size:
        fitting = int(np.searchsorted(np.cumsum(record_sizes[first:]), block_bytes, side="right"))
        end = min(first + max(fitting, 1), starts.size)
        text = allocate(int(record_sizes[first:end].sum()) + SLACK)
        size = _put_records(
            read_only(reference.data),
            read_only(starts[first:end]),
            read_only(lengths[first:end]),
            first,
            np.uint64(model.error_rate * 2**32),
            np.uint64(seed),
            text,
        )
        yield ReadBlock(text[:size], is_fasta=False, first=first + 1, name="simulated reads")
        first = end


def _drawn_spans(
    offsets: NDArray[np.int64], bases: int, model: LongReadModel, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the starts of n reads in `reference.data`, and their lengths there; int64[n] both."""
    spare = max(model.mean_length - model.min_length, 1)
    enough = 2 * bases // model.mean_length + 16
    drawn = rng.lognormal(np.log(spare) - _SPREAD**2 / 2, _SPREAD, enough)
    lengths = model.min_length + drawn.astype(np.int64)
    lengths = lengths[: np.searchsorted(np.cumsum(lengths), bases) + 1]
    starts = rng.integers(0, offsets[-1], lengths.size)
    contigs = np.searchsorted(offsets, starts, side="right") - 1
    contig_lengths = np.diff(offsets)[contigs]
    lengths = np.minimum(lengths, contig_lengths)
    return np.minimum(starts, offsets[contigs] + contig_lengths - lengths), lengths


def _max_bytes(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the size reserved for each record; a read with more insertions is cut to fit it."""
    return 2 * (lengths + lengths // 4 + _LONGEST_INSERTION) + _FIXED_TEXT


@njit_inlined
def _mixed(state: Integer) -> Any:
    """Return 64 random bits for a state (Steele et al. 2014, OOPSLA, SplitMix)."""
    bits = (state ^ state >> _30) * _FIRST_FACTOR
    bits = (bits ^ bits >> _27) * _SECOND_FACTOR
    return bits ^ bits >> _31


@njit
def _put_records(
    reference: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    first: Integer,
    threshold: Integer,
    seed: Integer,
    out: NDArray[np.uint8],
) -> Integer:
    """Write reads as FASTQ, named from `first` + 1 on; return the size of the text."""
    text = memory_of(out)
    at: Integer = np.int64(0)
    for row in range(starts.size):
        number = first + row + 1
        state = _mixed(np.uint64(number) * _STEP ^ _mixed(seed))
        out[at] = _AT
        out[at + 1] = _READ
        start = put_count(text, at + 2, number) + 1
        out[start - 1] = _NEWLINE
        end = start + lengths[row] + lengths[row] // 4
        at = _put_bases(reference, starts[row], lengths[row], threshold, state, out, start, end)
        at = put_fastq_end(out, at, at - start, _QUALITY)
    return at


@njit
def _put_bases(
    reference: NDArray[np.uint8],
    start: Integer,
    length: Integer,
    threshold: Integer,
    state: Integer,
    out: NDArray[np.uint8],
    at: Integer,
    end: Integer,
) -> Integer:
    """Write the bases of a read, on a random strand, with errors; at most up to `end`."""
    is_reverse = state & np.uint64(1)
    for k in range(length):
        position = start + length - 1 - k if is_reverse else start + k
        state += _STEP
        bits = _mixed(state)
        code = np.uint64(BASE_CODES[reference[position]])
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
            out[at] = LETTERS[(bits >> _8) & _3]
            at += 1
        if kind == 0:  # a substitution
            code = other_code(code, bits >> _8)
        if kind != 2:  # no deletion
            out[at] = LETTERS[code]
            at += 1
    return at
