"""How fast BAM is read into columns and written from them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, ReadBatch
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bam.header import SamHeader
from hapgpu.runtime import leftovers

_BATCH_READS: Final = 50_000
_BATCHES: Final = 8
_READ_LENGTH: Final = 150
_REFERENCE_LENGTH: Final = 10_000_000
_SEED: Final = 20
_PAIRED_AND_PROPER: Final = (99, 147, 83, 163)
_LETTERS = np.frombuffer(b"ACGT", dtype=np.uint8)


def benchmark_io(threads: int, seconds: float = 3.0) -> dict[str, float]:
    """Measure reading and writing of a temporary file of 400,000 simulated reads of 150 bases.

    Parameters
    ----------
    threads
        CPU threads used.
    seconds
        How long each of the measurements takes at least.

    Returns
    -------
    dict
        `decode_reads_per_second_per_core`, with one thread, `decode_reads_per_second` and
        `encode_records_per_second` (level 1) with `threads`.
    """
    batch = simulated_reads(_BATCH_READS)
    header = SamHeader.from_references(["chr20"], [_REFERENCE_LENGTH])
    with leftovers.temporary_folder() as folder:
        path = str(Path(folder, "reads.bam"))

        def encode() -> None:
            with open_writer(path, header, threads=threads) as writer:
                for _ in range(_BATCHES):
                    writer.write(batch)

        def decode(threads: int) -> None:
            with open_reads(path, threads=threads) as source:
                for _ in source.batches():
                    pass

        encoding = _rate(encode, seconds)
        return {
            "decode_reads_per_second_per_core": _rate(lambda: decode(1), seconds),
            "decode_reads_per_second": _rate(lambda: decode(threads), seconds),
            "encode_records_per_second": encoding,
        }


def _rate(task: Callable[[], None], seconds: float) -> float:
    """Return reads per second of the fastest of several runs, the first of which is not timed."""
    task()
    best = float("inf")
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        task()
        best = min(best, time.perf_counter() - start)
    return _BATCHES * _BATCH_READS / best


def simulated_reads(count: int) -> ReadBatch:
    """Make reads such as an Illumina instrument and a mapper do: seeded, sorted by position."""
    random = np.random.default_rng(_SEED)
    reference = _LETTERS[random.integers(0, 4, _REFERENCE_LENGTH)]
    positions = np.sort(random.integers(0, _REFERENCE_LENGTH - 500, count)).astype(np.int32)
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
