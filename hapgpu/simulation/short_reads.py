"""Made-up references, and reads out of a reference as a sequencer might give them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.read_blocks import Allocate
from hapgpu.mapping.index.fm_index import BLOCK, FMIndexArrays
from hapgpu.mapping.sam.read_fields import COMPLEMENTS

READ_LENGTH: Final = 100
ERROR_RATE: Final = 0.005

_LETTERS: Final = np.frombuffer(b"ACGTN", dtype=np.uint8)
_N: Final = ord("N")
_FAMILY_LENGTH, _FAMILY_SHARE, _FAMILY_DIVERGENCE = 300, 0.1, 0.1
_DUPLICATION_LENGTH, _DUPLICATION_SHARE, _DUPLICATION_DIVERGENCE = 3000, 0.05, 0.01
_DIGITS: Final = 9
_NAME: Final = b"@read"
_QUALITY: Final = b"I"
_RECORD_LENGTH: Final = len(_NAME) + _DIGITS + 2 * READ_LENGTH + len(b"\n\n+\n\n")


def random_reference(bases: int, seed: int = 1) -> NDArray[np.uint8]:
    """Make a sequence with repeats.

    A tenth is covered by copies of one sequence of 300 bases, each copy with a tenth of its bases
    changed, and a twentieth by copies of other stretches of 3,000 bases, with 1 % changed.

    Parameters
    ----------
    bases
        How many; at least 3,000.
    seed
        For other sequences.

    Returns
    -------
    uint8[bases], A, C, G and T.
    """
    rng = np.random.default_rng(seed)
    reference = _random_letters(bases, rng)
    copies = int(bases * _FAMILY_SHARE / _FAMILY_LENGTH)
    family = np.tile(_random_letters(_FAMILY_LENGTH, rng), (copies, 1))
    _paste(family, _FAMILY_DIVERGENCE, reference, rng)
    copies = int(bases * _DUPLICATION_SHARE / _DUPLICATION_LENGTH)
    starts = rng.integers(0, bases - _DUPLICATION_LENGTH + 1, copies)
    duplicated = reference[starts[:, None] + np.arange(_DUPLICATION_LENGTH)]
    _paste(duplicated, _DUPLICATION_DIVERGENCE, reference, rng)
    return reference


def _random_letters(count: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    return _LETTERS[rng.integers(0, 4, count, dtype=np.uint8)]


def _paste(
    copies: NDArray[np.uint8],
    divergence: float,
    reference: NDArray[np.uint8],
    rng: np.random.Generator,
) -> None:
    """Write sequences, changed at random, over random places of a reference."""
    _substitute(copies, divergence, rng)
    length = copies.shape[1]
    starts = rng.integers(0, reference.size - length + 1, copies.shape[0])
    reference[starts[:, None] + np.arange(length)] = copies


def _substitute(bases: NDArray[np.uint8], rate: float, rng: np.random.Generator) -> None:
    """Replace bases by random ones, so that a share of `rate` differs afterwards."""
    drawn = rng.random(bases.shape, dtype=np.float32) < rate * 4 / 3
    bases[drawn] = _random_letters(int(drawn.sum()), rng)


def simulated_blocks(
    index: FMIndexArrays, count: int, block_bytes: int, allocate: Allocate, seed: int = 1
) -> Iterator[ReadBlock]:
    """Draw reads of 100 bases from an indexed reference, as text of FASTQ.

    They begin anywhere, on either strand, and 0.5 % of their bases are wrong. Places where a read
    would leave its contig or meet a letter other than A, C, G and T yield none.

    Parameters
    ----------
    index
        Of the reference.
    count
        How many places are drawn.
    block_bytes
        A block has at most so many bytes, or one record.
    allocate
        Gives the memory of each block.
    seed
        For other reads.
    """
    letters, offsets = _letters_of(index), index.contigs.offsets
    rng = np.random.default_rng(seed)
    per_block = max(block_bytes // _RECORD_LENGTH, 1)
    made = 0
    for done in range(0, count, per_block):
        bases = _drawn(letters, offsets, min(per_block, count - done), rng)
        if not len(bases):
            continue
        size = len(bases) * _RECORD_LENGTH
        text = allocate(size)[:size]
        _put_records(bases, made, text)
        yield ReadBlock(text, is_fasta=False, first=made + 1, name="simulated reads")
        made += len(bases)


def _drawn(
    letters: NDArray[np.uint8], offsets: NDArray[np.int64], count: int, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """uint8[r, READ_LENGTH], r at most `count`."""
    starts = rng.integers(0, max(letters.size - READ_LENGTH, 0) + 1, count)
    contigs, last_contigs = (
        np.searchsorted(offsets, bounds, side="right")
        for bounds in (starts, starts + (READ_LENGTH - 1))
    )
    places = starts[contigs == last_contigs]
    bases: NDArray[np.uint8] = letters[places[:, None] + np.arange(READ_LENGTH)]
    bases = bases[(bases != _N).all(axis=1)]
    _substitute(bases, ERROR_RATE, rng)
    is_reverse = rng.random(len(bases)) < 0.5
    bases[is_reverse] = COMPLEMENTS[bases[is_reverse, ::-1]]
    return bases


def _letters_of(index: FMIndexArrays) -> NDArray[np.uint8]:
    """Return a letter for each position, N where there is no base."""
    planes = index.bases.planes.reshape(-1, 2)
    codes = _bits(planes[:, 0]) | _bits(planes[:, 1]) << np.uint8(1)
    codes[_bits(index.bases.others) > 0] = 4
    return _LETTERS[codes[BLOCK : BLOCK + int(index.contigs.offsets[-1])]]


def _bits(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """uint8: the bits of words, the lowest of each first."""
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")


def _put_records(bases: NDArray[np.uint8], first: int, text: NDArray[np.uint8]) -> None:
    """Write reads as FASTQ; the names count from `first`."""
    numbers = np.arange(first, first + len(bases))[:, None]
    digits = numbers // 10 ** np.arange(_DIGITS - 1, -1, -1) % 10 + ord("0")
    columns = (_NAME, digits, b"\n", bases, b"\n+\n", _QUALITY * READ_LENGTH, b"\n")
    records = text.reshape(len(bases), _RECORD_LENGTH)
    at = 0
    for column in columns:
        part = np.frombuffer(column, np.uint8) if isinstance(column, bytes) else column
        records[:, at : at + part.shape[-1]] = part
        at += part.shape[-1]
