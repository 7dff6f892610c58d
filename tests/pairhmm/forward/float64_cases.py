"""Batches for the float64 kernel of the pair-HMM, which the emulator and a GPU run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from hapgpu.pairhmm.batches import HmmBatch
from tests.pairhmm.hmm_oracle import Read, make_batch, random_group, simulated_read, uniform_read

LETTERS: Final = np.frombuffer(b"ACGT", dtype=np.uint8)
_Ranges = tuple[tuple[int, int], ...]
_USUAL: Final = ((2, 41), (25, 50), (25, 50), (6, 20))


def _genome(rng: np.random.Generator, size: int) -> bytes:
    return rng.choice(LETTERS, size).tobytes()


def _read(rng: np.random.Generator, bases: bytes, ranges: _Ranges = _USUAL) -> Read:
    """Return a read with qualities of these ranges, drawn base by base."""
    return bases, *(rng.integers(*at, len(bases), np.uint8).tobytes() for at in ranges)


def all_sizes(rng: np.random.Generator) -> HmmBatch:
    """Return pairs that share warps; one haplotype needs two strips."""
    reads = [_read(rng, _genome(rng, length)) for length in (1, 2, 9, 60, 150)]
    lengths = [*rng.integers(1, 90, 12), 150, 301, 700]
    return make_batch([(reads, [_genome(rng, int(length)) for length in lengths])])


def any_bytes(rng: np.random.Generator) -> HmmBatch:
    """Return reads and haplotypes of all bytes, equal in part."""
    text = bytes(rng.permutation(256).astype(np.uint8))
    texts = [text, text[:100], text[50:] + text[:50], b"\0\1\2\3NACGTacgt" * 5]
    return make_batch([([_read(rng, each[:90]) for each in texts], texts)])


def mixed_qualities(rng: np.random.Generator) -> HmmBatch:
    """Return reads with rows that lower numbers much, alone among others and for long."""
    source = _genome(rng, 130)
    reads = []
    for ranges in (
        ((60, 94), (60, 94), (60, 94), (40, 94)),
        ((93, 256), (93, 256), (93, 256), _USUAL[3]),
    ):
        usual, odd = _read(rng, source[:100]), _read(rng, source[:100], ranges)
        takes_odd = rng.random(100) < rng.choice([0.02, 0.2, 0.6])
        columns = [
            np.where(takes_odd, np.frombuffer(b, np.uint8), np.frombuffer(a, np.uint8)).tobytes()
            for a, b in zip(usual[1:], odd[1:], strict=True)
        ]
        reads += [(usual[0], *columns), odd]
    return make_batch([(reads, [source, source[::-1], source[:50] + source[60:], source[:7]])])


def long_reads(rng: np.random.Generator) -> HmmBatch:
    """Return long reads, likely and unlikely, so that lanes have different exponents."""
    source = _genome(rng, 900)
    middle = bytes(each if rng.random() > 0.3 else ord("A") for each in source[300:700])
    reads = [
        uniform_read(source, 40, 45, 45, 10),
        uniform_read(source[:300] + middle + source[700:], 35, 45, 45, 10),
        uniform_read(source[600:] + source[:600], 30, 45, 45, 10),
        _read(rng, simulated_read(rng, source, 1000)),
        _read(rng, source[:20]),
    ]
    return make_batch([(reads, [source, source[:400], source[700:]])])


def extremes(rng: np.random.Generator) -> HmmBatch:
    """Return qualities, letters and sizes of all kinds."""
    return make_batch([random_group(rng, longest) for longest in (5, 20, 40, 90) * 2])


CASES: Final[tuple[Callable[[np.random.Generator], HmmBatch], ...]] = (
    all_sizes,
    any_bytes,
    mixed_qualities,
    long_reads,
    extremes,
)
