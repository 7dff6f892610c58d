"""Made reads of one contig, for the reference implementation and as batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import parse_cigar
from tests.calling.regions.reference import PlainRead


def batch_of(reads: Sequence[PlainRead]) -> tuple[ReadBatch, NDArray[np.int32]]:
    """Return the reads as a batch, and their samples."""

    def column(name: str, dtype: type[np.generic], shift: int = 0) -> NDArray[np.generic]:
        return np.array([getattr(read, name) - shift for read in reads], dtype=dtype)

    count = len(reads)
    cigars = [parse_cigar("".join(f"{n}{letter}" for n, letter in r.cigar)) for r in reads]
    qualities = [bytes(read.qualities) for read in reads]
    batch = ReadBatch(
        names=Ragged.from_sequences([f"r{k}" for k in range(count)]),
        flags=column("flags", np.uint16),
        reference_ids=np.zeros(count, dtype=np.int32),
        positions=column("position", np.int32, 1),
        mapping_qualities=np.full(count, 60, dtype=np.uint8),
        cigars=Ragged.from_lengths(
            np.concatenate([np.empty(0, dtype=np.uint32), *cigars]), [c.size for c in cigars]
        ),
        mate_reference_ids=np.zeros(count, dtype=np.int32),
        mate_positions=column("mate_position", np.int32, 1),
        template_lengths=column("template_length", np.int32),
        bases=Ragged.from_sequences([read.bases for read in reads]),
        qualities=Ragged.from_sequences(qualities),
        tags=Ragged.from_sequences([b""] * count),
    )
    return batch, column("sample", np.int32).astype(np.int32)


def random_read(rng: np.random.Generator, reference: str, samples: int) -> PlainRead:
    """Return a read with few differences, clips, indels, and any kind of pair."""
    letters = ["M", *rng.choice(list("MIDX="), int(rng.integers(0, 4))), "M"]
    letters = [
        letter for letter, after in zip(letters, [*letters[1:], ""], strict=True) if letter != after
    ]
    if rng.random() < 0.3:
        letters.insert(0, "S")
    if rng.random() < 0.3:
        letters.append("S")
    if rng.random() < 0.2:
        letters.append("H")
    cigar = [(int(rng.choice([1, 1, 2, 5, 12])), str(letter)) for letter in letters]
    spans = sum(length for length, letter in cigar if letter in "MDX=")
    position = int(rng.integers(1, len(reference) - spans + 1))
    bases, at = "", position - 1
    for length, letter in cigar:
        if letter in "MX=":
            bases += reference[at : at + length]
        elif letter in "IS":
            bases += "".join(rng.choice(list("ACGTN"), length))
        at += length if letter in "MDX=" else 0
    changed = [str(rng.choice(list("ACGTN"))) if rng.random() < 0.1 else base for base in bases]
    return PlainRead(
        position,
        cigar,
        "".join(changed),
        [int(q) for q in rng.choice([2, 10, 11, 28, 29, 30, 40, 93], len(bases))],
        flags=int(rng.choice([0, 1, 8, 16, 32, 17, 33, 49, 41, 33, 17])),
        mate_position=position + int(rng.integers(-15, 15)),
        template_length=int(rng.choice([0, 20, -20, 5, -5, 100, 101, -300])),
        sample=int(rng.integers(0, samples)),
    )
