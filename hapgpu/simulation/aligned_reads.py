"""Simulated aligned reads: pairs like those of a sequencer, at random positions."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged

REFERENCE_LENGTH: Final = 10_000_000
_READ_LENGTH: Final = 150
_SEED: Final = 20
_PAIRED_AND_PROPER: Final = (99, 147, 83, 163)
_LETTERS = np.frombuffer(b"ACGT", dtype=np.uint8)


def simulated_reads(count: int) -> ReadBatch:
    """Make reads such as an Illumina instrument and a mapper do: seeded, sorted by position."""
    random = np.random.default_rng(_SEED)
    reference = _LETTERS[random.integers(0, 4, REFERENCE_LENGTH)]
    positions = np.sort(random.integers(0, REFERENCE_LENGTH - 500, count)).astype(np.int32)
    bases = reference[positions[:, None] + np.arange(_READ_LENGTH)]
    errors = random.random(bases.shape) < 0.003
    bases[errors] = _LETTERS[random.integers(0, 4, int(errors.sum()))]
    lengths = np.full(count, _READ_LENGTH)
    sizes = random.integers(200, 450, count).astype(np.int32)
    return ReadBatch(
        names=Ragged.from_sequences(
            f"A00741:43:HNCCWDSXX:{k % 4 + 1}:{1101 + k % 577}:{k % 32749}:{k * 7 % 36991}"
            for k in range(count)
        ),
        flags=random.choice(np.array(_PAIRED_AND_PROPER, dtype=np.uint16), count),
        reference_ids=np.zeros(count, dtype=np.int32),
        positions=positions,
        mapping_qualities=random.choice(np.array([60, 60, 60, 27], dtype=np.uint8), count),
        cigars=Ragged.from_lengths(np.full(count, _READ_LENGTH << 4, dtype=np.uint32), [1] * count),
        mate_reference_ids=np.zeros(count, dtype=np.int32),
        mate_positions=positions + sizes - _READ_LENGTH,
        template_lengths=sizes,
        bases=Ragged.from_lengths(bases.ravel(), lengths),
        qualities=Ragged.from_lengths(_qualities(random, count).ravel(), lengths),
        tags=Ragged.from_sequences(
            b"NMC%cMDZ%d\0ASC%cXSC%cMCZ150M\0RGZHG002.L%d\0"
            % (k % 3, _READ_LENGTH, 150 - k % 9, k % 40, k % 4)
            for k in range(count)
        ),
    )


def _qualities(random: np.random.Generator, count: int) -> NDArray[np.uint8]:
    """uint8[count, read length]: the four values of NovaSeq, mostly the best, worse at the end."""
    dips = random.random((count, _READ_LENGTH)) < np.linspace(0.02, 0.15, _READ_LENGTH)
    qualities = np.full(dips.shape, 37, dtype=np.uint8)
    qualities[dips] = random.choice(np.array([25, 25, 11, 2], dtype=np.uint8), int(dips.sum()))
    return qualities
