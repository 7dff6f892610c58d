"""Random references and reads with every kind of trouble for base alignment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from hapgpu.arrays.ragged import Ragged
from hapgpu.simulation.long_reads import LongReadModel
from tests.simulation.made_genomes import (
    Letters,
    complement,
    made_reads,
    made_reference,
    mutated,
    random_letters,
)

_PLAIN: Final = np.frombuffer(b"ACGT", dtype=np.uint8)
_AMBIGUOUS: Final = np.frombuffer(b"NRYKMSWBDHVU", dtype=np.uint8)
_NAMES: Final = (b"r%d", b"read%d/1", b"read%d/2", b"%d", b"a|b:%d#x", b"m/%d/0_1.5;k=v", b"~%d*!")
_COMMENTS: Final = (b"", b"RG:Z:x\tqs:f:1.5", b"free text", b"1:N:0 BC:Z:A  two", b"st:Z:2026")


def troubled_reference(rng: np.random.Generator, size: int) -> list[bytes]:
    """Make contigs with repeats, lower case, runs of N and other ambiguous letters."""
    rows = made_reference(rng, size, rng.choice([0.1, 0.3, 0.6]))
    contigs = [_with_letters(rng, np.frombuffer(row.tobytes(), dtype=np.uint8)) for row in rows]
    return [contig.tobytes() for contig in contigs]


def troubled_reads(
    rng: np.random.Generator, contigs: list[bytes], bases: int, model: LongReadModel
) -> list[bytes]:
    """Draw reads, most of them with troubles that split, end or invert alignments."""
    drawn = made_reads(rng, Ragged.from_sequences([c.upper() for c in contigs]), bases, model)
    rows = [np.frombuffer(read, dtype=np.uint8) for read in drawn if read]
    reads = [_troubled(rng, row, rows) for row in rows]
    reads += [read[: int(rng.integers(1, 80))] for read in reads[:5]]
    return [read.tobytes() for read in reads if read.size]


def fastx_text(rng: np.random.Generator, reads: list[bytes], *, is_fasta: bool) -> bytes:
    """Return FASTA or FASTQ with names of odd characters, and comments."""
    parts = []
    for number, read in enumerate(reads):
        name = _NAMES[rng.integers(len(_NAMES))] % number
        comment = _COMMENTS[rng.integers(len(_COMMENTS))]
        head = name + (b" " if rng.random() < 0.5 else b"\t") + comment if comment else name
        if is_fasta:
            parts.append(b">%s\n%s\n" % (head, read))
        else:
            quality = rng.integers(33, 127, len(read), dtype=np.uint8).tobytes()
            parts.append(b"@%s\n%s\n+\n%s\n" % (head, read, quality))
    return b"".join(parts)


def _with_letters(rng: np.random.Generator, letters: Letters) -> Letters:
    """Turn some stretches to lower case, some to N, and some letters to ambiguous ones."""
    changed = letters.copy()
    for _ in range(rng.integers(4)):
        start, end = _stretch(rng, changed.size, 3000)
        changed[start:end] |= 0x20
    for _ in range(rng.integers(3)):
        start, end = _stretch(rng, changed.size, 400)
        changed[start:end] = ord(rng.choice(["N", "n"]))
    if rng.random() < 0.5:
        places = rng.integers(0, changed.size, changed.size // 300)
        changed[places] = rng.choice(_AMBIGUOUS, places.size)
    return changed


def _stretch(rng: np.random.Generator, size: int, longest: int) -> tuple[int, int]:
    start = int(rng.integers(size))
    return start, min(size, start + int(rng.integers(1, longest)))


def _troubled(rng: np.random.Generator, read: Letters, others: list[Letters]) -> Letters:
    """Apply up to three changes to a read."""
    for _ in range(rng.integers(4)):
        start, end = _stretch(rng, read.size, rng.choice([30, 300, 3000]))
        before, within, after = np.split(read, [start, end])
        changed = _changed(rng, within, others[rng.integers(len(others))])
        read = np.concatenate([before, changed, after])
        if not read.size:
            break
    return read


def _changed(rng: np.random.Generator, within: Letters, other: Letters) -> Letters:
    """Change a stretch of a read; `other` is another read."""
    plain = np.where(np.isin(within, _PLAIN), within, ord("N")).astype(np.uint8)
    changes: tuple[Callable[[], Letters], ...] = (
        lambda: complement(plain),
        lambda: complement(plain),
        lambda: mutated(rng, within, rng.choice([0.2, 0.4])),
        lambda: mutated(rng, within, rng.choice([0.2, 0.4])),
        lambda: within[:0],
        lambda: random_letters(rng, within.size),
        lambda: np.full(within.size, ord("N"), dtype=np.uint8),
        lambda: np.tile(within, 2),
        lambda: other[slice(*_stretch(rng, other.size, 3000))],
        lambda: np.concatenate([within, complement(plain)]),
        lambda: _with_letters(rng, within),
    )
    return changes[rng.integers(len(changes))]()
