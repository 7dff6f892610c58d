"""Random references with repeats of all kinds, and reads of them, for comparisons."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.simulation.long_reads import LongReadModel, simulated_reads
from hapgpu.simulation.sequences import random_bases, replace_bases

Letters = NDArray[np.uint8]

_COMPLEMENTS: Final = np.zeros(256, dtype=np.uint8)
_COMPLEMENTS[np.frombuffer(b"ACGTN", dtype=np.uint8)] = np.frombuffer(b"TGCAN", dtype=np.uint8)


def random_letters(rng: np.random.Generator, count: int) -> Letters:
    return random_bases(count, rng)


def complement(letters: Letters) -> Letters:
    return _COMPLEMENTS[letters[::-1]]


def mutated(rng: np.random.Generator, letters: Letters, rate: float) -> Letters:
    """Substitute, delete and insert letters, in equal parts."""
    changed = letters.copy()
    replace_bases(changed, rate / 3, rng)
    changed = changed[rng.random(changed.size) >= rate / 3]
    offsets = np.flatnonzero(rng.random(changed.size) < rate / 3)
    return np.insert(changed, offsets, random_letters(rng, offsets.size))


def made_reference(rng: np.random.Generator, size: int, repeats: float) -> Ragged:
    """Make contigs of `size` bases in all; a fraction of their pieces, `repeats`, are repeats.

    These are diverged copies of families, on both strands, tandem repeats, and duplications of
    earlier pieces, direct and inverted. Some pieces end in a run of N.
    """
    families = [random_letters(rng, int(n)) for n in rng.choice([80, 300, 2000, 6000], 6)]
    pieces = [random_letters(rng, 500)]
    while sum(piece.size for piece in pieces) < size:
        kind = rng.random() / repeats
        if kind > 1:
            piece = random_letters(rng, int(rng.integers(100, 5000)))
        elif kind < 0.5:
            piece = mutated(rng, families[rng.integers(6)], rng.choice([0, 0.02, 0.1, 0.2]))
        elif kind < 0.7:
            unit = random_letters(rng, int(rng.choice([1, 2, 3, 12, 31, 171])))
            piece = mutated(rng, np.tile(unit, 2000 // unit.size), rng.choice([0, 0.05]))
        else:
            before = np.concatenate(pieces[-20:])[-int(rng.integers(200, 30_000)) :]
            piece = mutated(rng, before, rng.choice([0, 0.005, 0.03]))
        if rng.random() < 0.4:
            piece = complement(piece)
        if rng.random() < 0.02:
            piece = np.concatenate([piece, np.full(50, ord("N"), dtype=np.uint8)])
        pieces.append(piece)
    text = np.concatenate(pieces)
    cuts = np.sort(rng.integers(1, text.size, 3))
    return Ragged.from_sequences([part.tobytes() for part in np.split(text, cuts) if part.size])


def made_reads(
    rng: np.random.Generator, reference: Ragged, bases: int, model: LongReadModel
) -> list[bytes]:
    """Draw reads; some are chimeric, folded back, doubled, cut short or random."""
    blocks = simulated_reads(reference, bases, 1 << 26, empty_text, model, int(rng.integers(2**31)))
    reads = [read for block in blocks for read in block.text.tobytes().split(b"\n")[1::4]]
    return [_altered(rng, read, reads) for read in reads]


def empty_text(size: int) -> Letters:
    return np.empty(size, dtype=np.uint8)


def _altered(rng: np.random.Generator, read: bytes, reads: list[bytes]) -> bytes:
    half = read[: len(read) // 2]
    match rng.integers(40):
        case 0:
            return read + reads[rng.integers(len(reads))]
        case 1:
            return half + complement(np.frombuffer(half, dtype=np.uint8)).tobytes()
        case 2:
            return 2 * read
        case 3:
            return half[: rng.integers(60)]
        case 4:
            return random_letters(rng, len(half)).tobytes()
        case _:
            return read
