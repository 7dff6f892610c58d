"""Oracles and inputs for the tests of the pair-HMM."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numba
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.pairhmm.batches import HmmBatch, HmmReads

Read = tuple[bytes, bytes, bytes, bytes, bytes]
"""Bases, then base, insertion, deletion and gap continuation qualities as Phred bytes."""

Group = tuple[Sequence[Read], Sequence[bytes]]
"""Reads and haplotypes."""


def make_batch(groups: Iterable[Group]) -> HmmBatch:
    """Join groups to a batch."""
    groups = list(groups)
    reads = [read for group_reads, _ in groups for read in group_reads]
    columns = [Ragged.from_sequences([read[k] for read in reads]) for k in range(5)]
    return HmmBatch(
        HmmReads(columns[0], *(column.data for column in columns[1:])),
        Ragged.from_sequences([text for _, haplotypes in groups for text in haplotypes]),
        np.cumsum([0, *(len(group_reads) for group_reads, _ in groups)]),
        np.cumsum([0, *(len(haplotypes) for _, haplotypes in groups)]),
    )


def groups_of(batch: HmmBatch) -> list[Group]:
    """Return the groups of a batch, as `make_batch` takes them."""
    columns = [Ragged(data, batch.reads.bases.offsets) for data in batch.reads.qualities]
    reads = [
        tuple(row.tobytes() for row in rows)
        for rows in zip(batch.reads.bases, *columns, strict=True)
    ]
    haplotypes = [row.tobytes() for row in batch.haplotypes]
    return [
        (reads[slice(*read_range)], haplotypes[slice(*haplotype_range)])
        for read_range, haplotype_range in zip(
            pairwise(batch.read_offsets), pairwise(batch.haplotype_offsets), strict=True
        )
    ]


def uniform_read(bases: bytes, base: int, insertion: int, deletion: int, gap: int) -> Read:
    """Return a read with equal qualities for all bases."""
    return bases, *(bytes([quality]) * len(bases) for quality in (base, insertion, deletion, gap))


def read_text(path: Path) -> HmmBatch:
    """Read a file of text batches with Python's string methods."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    lines = iter(text.decode().splitlines())
    groups = []
    for line in lines:
        reads, haplotypes = map(int, line.split())
        rows = [next(lines).split() for _ in range(reads)]
        texts = [next(lines).encode() for _ in range(haplotypes)]
        groups.append(([_read(*row) for row in rows], texts))
    return make_batch(groups)


def _read(bases: str, *qualities: str) -> Read:
    return bases.encode(), *(bytes(ord(letter) - 33 for letter in text) for text in qualities)


def plain_likelihoods(batch: HmmBatch) -> NDArray[np.float64]:
    """Compute likelihoods in float64 with GATK's scale; they must be above about 1e-600."""
    return _each_pair(batch, _plain_forward)


def plain_likelihood(
    bases: NDArray[np.uint8], qualities: Sequence[NDArray[np.uint8]], haplotype: NDArray[np.uint8]
) -> float:
    """Return the same for one read, with its four columns of qualities, and one haplotype."""
    return _plain_forward(bases, _errors(qualities), haplotype)


def log_space_likelihoods(batch: HmmBatch) -> NDArray[np.float64]:
    """Compute likelihoods with logarithms: slow, and safe for probabilities of any size."""
    return _each_pair(batch, _log_space_forward)


def _each_pair(batch: HmmBatch, forward: Callable[..., float]) -> NDArray[np.float64]:
    likelihoods = []
    for reads, haplotypes in groups_of(batch):
        for read, haplotype in product(reads, haplotypes):
            columns = [np.frombuffer(column, dtype=np.uint8) for column in (*read, haplotype)]
            bases, *qualities, text = columns
            likelihoods.append(forward(bases, _errors(qualities), text))
    return np.array(likelihoods)


def _errors(qualities: Sequence[NDArray[np.uint8]]) -> NDArray[np.float64]:
    return 10.0 ** (-np.array(qualities, dtype=np.float64) / 10.0)


@numba.njit
def _plain_forward(bases: Any, errors: Any, haplotype: Any) -> float:
    columns = haplotype.size + 1
    match, insertion = np.zeros(columns), np.zeros(columns)
    deletion = np.full(columns, 2.0**1020 / haplotype.size)
    for i in range(bases.size):
        wrong, insert, delete, extend = errors[:, i]
        stay = max(0.0, 1.0 - (insert + delete))
        diagonal = stay * match[0] + (1.0 - extend) * (insertion[0] + deletion[0])
        match[0] = insertion[0] = deletion[0] = 0.0
        for j in range(1, columns):
            agree = bases[i] == haplotype[j - 1] or bases[i] == 78 or haplotype[j - 1] == 78
            through = diagonal * (1.0 - wrong if agree else wrong / 3.0)
            diagonal = stay * match[j] + (1.0 - extend) * (insertion[j] + deletion[j])
            insertion[j] = insert * match[j] + extend * insertion[j]
            match[j] = through
            deletion[j] = delete * match[j - 1] + extend * deletion[j - 1]
    total = np.sum(match) + np.sum(insertion)
    return np.log10(total) - 1020.0 * np.log10(2.0) if total else -np.inf


@numba.njit
def _log_sum(a: float, b: float) -> float:
    low, high = min(a, b), max(a, b)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@numba.njit
def _log_space_forward(bases: Any, errors: Any, haplotype: Any) -> float:
    columns = haplotype.size + 1
    match, insertion = np.full(columns, -np.inf), np.full(columns, -np.inf)
    deletion = np.full(columns, -np.log(haplotype.size))
    for i in range(bases.size):
        wrong, insert, delete, extend = errors[:, i]
        stay, close = np.log(max(0.0, 1.0 - (insert + delete))), np.log(1.0 - extend)
        agreeing, differing = np.log(1.0 - wrong), np.log(wrong / 3.0)
        insert, delete, extend = np.log(insert), np.log(delete), np.log(extend)
        diagonal = _log_sum(stay + match[0], close + _log_sum(insertion[0], deletion[0]))
        match[0] = insertion[0] = deletion[0] = -np.inf
        for j in range(1, columns):
            agree = bases[i] == haplotype[j - 1] or bases[i] == 78 or haplotype[j - 1] == 78
            through = diagonal + (agreeing if agree else differing)
            diagonal = _log_sum(stay + match[j], close + _log_sum(insertion[j], deletion[j]))
            insertion[j] = _log_sum(insert + match[j], extend + insertion[j])
            match[j] = through
            deletion[j] = _log_sum(delete + match[j - 1], extend + deletion[j - 1])
    total = -np.inf
    for j in range(1, columns):
        total = _log_sum(total, _log_sum(match[j], insertion[j]))
    return total / np.log(10.0)


def simulated_read(rng: np.random.Generator, haplotype: bytes, length: int) -> bytes:
    """Copy a part of a haplotype with substitutions and short indels, at a random rate."""
    rate = rng.choice([0.0, 0.01, 0.1, 0.7])
    source = rng.integers(0, len(haplotype)) + np.arange(length)
    source = source + np.cumsum(rng.integers(-2, 3, length) * (rng.random(length) < rate / 4))
    bases = np.frombuffer(haplotype, dtype=np.uint8)[source % len(haplotype)]
    drawn = rng.choice(np.frombuffer(b"ACGT", dtype=np.uint8), length)
    return np.where(rng.random(length) < rate, drawn, bases).tobytes()


_QUALITIES: list[Callable[[np.random.Generator, int], NDArray[Any]]] = [
    lambda rng, size: rng.integers(0, 128, size),
    lambda rng, size: rng.integers(6, 46, size),
    lambda rng, size: rng.integers(0, 8, size),
    lambda rng, size: rng.choice([1, 2, 3, 60, 127], size),
    lambda rng, size: np.where(rng.random(size) < 0.05, rng.integers(0, 7, size), 45),
    lambda rng, size: np.full(size, rng.choice([0, 1, 3, 4, 6, 10, 20, 30, 45, 127])),
    lambda rng, size: np.full(size, rng.choice([10, 20, 30, 40])),
]
"""Distributions of qualities: all, usual, very low, with jumps, with dips, two constant ones."""


def random_group(rng: np.random.Generator, longest: int) -> Group:
    """Draw reads, haplotypes and qualities, with extremes."""
    letters = rng.choice([b"ACGT", b"ACGT", b"A", b"ACGTN", b"ACGTNRYacgtn*."])
    alphabet = np.frombuffer(bytes(letters), dtype=np.uint8)
    haplotypes = [
        rng.choice(alphabet, rng.integers(1, longest + 1)).tobytes()
        for _ in range(rng.integers(0, 4))
    ]
    reads = []
    for _ in range(rng.integers(0, 5)):
        length = rng.integers(1, longest + 1)
        bases = rng.choice(alphabet, length).tobytes()
        if haplotypes and rng.random() < 0.8:
            bases = simulated_read(rng, haplotypes[0], length)
        style = rng.integers(0, len(_QUALITIES))
        styles = [style] * 4 if rng.random() < 0.5 else rng.integers(0, len(_QUALITIES), 4)
        columns = [_QUALITIES[style](rng, length).astype(np.uint8).tobytes() for style in styles]
        reads.append((bases, *columns))
    return reads, haplotypes


def batches(longest: int) -> st.SearchStrategy[HmmBatch]:
    """Strategy of batches with sequences of up to `longest` bases."""

    def draw(seed: int, groups: int) -> HmmBatch:
        rng = np.random.default_rng(seed)
        return make_batch([random_group(rng, longest) for _ in range(groups)])

    return st.builds(draw, st.integers(0, 2**32 - 1), st.integers(1, 4))
