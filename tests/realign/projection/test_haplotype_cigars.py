"""Haplotypes of the length of their reference, which are not always aligned."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from random import Random

import numpy as np
import pytest

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.projection.haplotype_cigars import (
    end_to_end_cigars,
    haplotype_cigars,
    pad_pairs,
)
from hapgpu.realign.scoring import PRESETS, Overhang
from hapgpu.runtime.devices import CpuDevice

DEVICE = CpuDevice(threads=2)

Pair = tuple[bytes, bytes]


def assert_as_aligned(sequences: list[Pair]) -> int:
    """Compare with alignments of all pairs; return how many have one element."""
    rows = np.arange(len(sequences), dtype=np.int32)
    pairs = PairBatch(
        Ragged.from_sequences(reference for reference, _ in sequences),
        Ragged.from_sequences(haplotype for _, haplotype in sequences),
        rows,
        rows,
    )
    cigars, ok = haplotype_cigars(pairs, DEVICE)
    scoring = PRESETS["haplotype-to-reference"]
    alignments = align_pairs(pad_pairs(pairs), scoring, Overhang.SOFTCLIP, DEVICE)
    expected, is_aligned = end_to_end_cigars(pairs, alignments)
    assert cigar_strings(cigars) == cigar_strings(expected)
    assert ok.tolist() == is_aligned.tolist()
    return int((cigars.lengths == 1).sum())


def substituted(text: bytes, letters: bytes) -> Iterator[Pair]:
    """Yield a text with each way to change at most three bases."""
    for count in range(4):
        for at in combinations(range(len(text)), count):
            for bases in product(letters, repeat=count):
                haplotype = bytearray(text)
                for k, base in zip(at, bases, strict=True):
                    haplotype[k] = base
                yield text, bytes(haplotype)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6])
def test_every_substitution_of_tiny_sequences(length: int) -> None:
    texts = map(bytes, product(b"AC", repeat=length))
    assert assert_as_aligned([pair for text in texts for pair in substituted(text, b"AC")])


def test_every_substitution_with_n() -> None:
    texts = map(bytes, product(b"AN", repeat=4))
    assert assert_as_aligned([pair for text in texts for pair in substituted(text, b"AN")])


def repeats(random: Random) -> bytes:
    units = [random.choices(b"ACGT", k=random.randint(1, 4)) for _ in range(random.randint(1, 4))]
    return b"".join(bytes(unit) * random.randint(1, 9) for unit in units)


def test_random_repeats() -> None:
    random = Random(3)  # noqa: S311  (the same data on every run)
    sequences = []
    for _ in range(4000):
        text = repeats(random)
        haplotype = bytearray(text)
        for _ in range(random.randint(0, 4)):
            haplotype[random.randrange(len(text))] = random.choice(
                b"ACGTN"[: random.choice((4, 5))]
            )
        if random.random() < 0.2:
            del haplotype[random.randrange(len(text))]
        sequences.append((text, bytes(haplotype)))
    assert assert_as_aligned(sequences) > 2000


def test_a_haplotype_without_the_bases_of_its_reference() -> None:
    """Eight mismatches lose 8 * 350; a deletion and an insertion 8 * 200 + 2 * (260 + 7 * 11)."""
    rows = np.zeros(1, dtype=np.int32)
    sequences = [Ragged.from_sequences([text]) for text in ("AAAAAAAA", "CCCCCCCC")]
    cigars, _ = haplotype_cigars(PairBatch(*sequences, rows, rows), DEVICE)
    assert cigar_strings(cigars) == ["8D8I"]


def test_no_pairs() -> None:
    assert assert_as_aligned([]) == 0
