"""Small references and reads with edge cases of every kind, with options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from hypothesis import strategies as st

from hapgpu.longread.options import (
    ChainOptions,
    LongReadOptions,
    MappingOptions,
    SeedOptions,
    SketchOptions,
)
from hapgpu.longread.parameters import JoinParameters, join_parameters

Named = tuple[str, bytes]

_COMPLEMENTS: Final = bytes.maketrans(b"ACGTNacgt", b"TGCANtgca")
_NAMES: Final = ("read", "read/1", "m1/2/ccs", "~", "x" * 70)


@dataclass(frozen=True)
class Case:
    """A reference, reads and options.

    Attributes
    ----------
    reference, reads
        (name, sequence) pairs.
    options
        Options of long-read mapping.
    inner_distance, max_candidates
        Values for `JoinParameters`; they are no options.
    """

    reference: list[Named]
    reads: list[Named]
    options: LongReadOptions
    inner_distance: int = 1000
    max_candidates: int = 100_000

    @property
    def join_parameters(self) -> JoinParameters | None:
        parameters = join_parameters(self.options.chains, self.options.sketch.k)
        if parameters is None:
            return None
        return replace(
            parameters,
            inner_distance=min(self.inner_distance, parameters.max_distance),
            max_candidates=self.max_candidates,
        )


def _bases(random: Random, size: int) -> bytes:
    return bytes(random.choices(b"ACGT", k=size))


def _piece(random: Random) -> bytes:
    """Return random bases, a repeat, a palindrome, ambiguous or lower-case bases."""
    size = random.choice([1, 8, 25, 60])
    plain = _bases(random, size)
    kind = random.randrange(8)
    if kind == 0:
        return random.choice([b"A", b"T", b"AC", b"GT", b"ACG", plain[:7]]) * (size // 2)
    if kind == 1:
        return plain + plain.translate(_COMPLEMENTS)[::-1]
    if kind == 2:
        return random.choice([b"N", b"R", b"NNNN", b"U"])
    if kind == 3:
        return plain.lower()
    return plain


def _mutated(random: Random, sequence: bytes, rate: float) -> bytes:
    """Return a sequence with errors of all three kinds."""
    out = bytearray()
    for letter in sequence:
        kind = random.random() / rate if rate else 4
        if kind > 0.3:
            out.append(letter if kind > 0.7 else random.choice(b"ACGTN"))
        if 0.2 < kind <= 0.4:
            out += _bases(random, random.choice([1, 1, 3]))
    return bytes(out)


def made_sequences(seed: int) -> tuple[list[Named], list[Named]]:
    """Make a reference of one to three sequences, and reads of one or two of its pieces."""
    random = Random(seed)  # noqa: S311  (no secrets)
    pieces = [_piece(random) for _ in range(random.choice([2, 6, 10]))]
    reference = [
        (f"seq{number}", b"".join(random.choices(pieces, k=random.choice([0, 3, 6, 8]))))
        for number in range(random.randint(1, 3))
    ]
    reads = []
    for _ in range(random.choice([0, 1, 2, 3, 3])):
        read = b""
        for _ in range(random.choice([1, 2, 2])):
            _, source = random.choice(reference)
            start = random.randint(0, len(source))
            part = source[start : start + random.choice([0, 80, 200, 300])]
            if random.random() < 0.4:
                part = part.translate(_COMPLEMENTS)[::-1]
            read += part + _bases(random, random.choice([0, 0, 5, 60]))
        read = _mutated(random, read, random.choice([0, 0.02, 0.1]))
        reads += [(random.choice(_NAMES), read)] * random.choice([1, 1, 2])
    return reference, reads


_SKETCHES: Final = st.sampled_from(
    [
        SketchOptions(k=5, w=4),
        SketchOptions(k=6, w=1),
        SketchOptions(k=6, w=4),
        SketchOptions(k=8, w=5),
        SketchOptions(k=7, w=3, is_hpc=True),
        SketchOptions(k=5, w=2, is_hpc=True),
        SketchOptions(k=15, w=10),
    ]
)
_SEEDS: Final = st.builds(
    SeedOptions,
    repetitive=st.sampled_from([2e-4, 0.02, 0.3, 0.0, 2, 5, 100]),
    min_cutoff=st.sampled_from([1, 3, 10]),
    max_cutoff=st.sampled_from([1, 6, 1_000_000]),
    occurrence_distance=st.sampled_from([0, 5, 50, 500]),
    read_fraction=st.sampled_from([0.01, 0.1, 0.0]),
)
_CHAINS: Final = st.builds(
    ChainOptions,
    max_gap=st.sampled_from([10, 60, 5000]),
    bandwidth=st.sampled_from([0, 5, 30, 500]),
    long_bandwidth=st.sampled_from([40, 200, 20_000]),
    min_count=st.sampled_from([1, 2, 3]),
    min_score=st.sampled_from([5, 15, 40]),
    max_skip=st.sampled_from([0, 2, 25, 1_000_000_000]),
    max_iterations=st.sampled_from([1, 7, 5000]),
    joins=st.sampled_from([True, True, True, False]),
)
_MAPPINGS: Final = st.builds(
    MappingOptions,
    mask_level=st.sampled_from([0.5, 0.0, 0.9]),
    score_ratio=st.sampled_from([0.8, 0.1, 0.0, 1.0]),
    max_secondary=st.sampled_from([5, 1, 0, 50]),
    all_chains=st.sampled_from([False, False, False, True]),
    prints_secondary=st.booleans(),
    uses_names=st.booleans(),
    prints_unmapped=st.booleans(),
)
CASES: Final = st.builds(
    lambda seed, options, inner_distance, max_candidates: Case(
        *made_sequences(seed), options, inner_distance, max_candidates
    ),
    st.integers(0, 2**32 - 1),
    st.builds(LongReadOptions, sketch=_SKETCHES, seeds=_SEEDS, chains=_CHAINS, mappings=_MAPPINGS),
    st.sampled_from([0, 20, 1000]),
    st.sampled_from([1, 6, 100_000]),
)


def fasta_of(sequences: Sequence[Named]) -> bytes:
    """Return FASTA with one line per sequence."""
    return b"".join(b">%s\n%s\n" % (name.encode(), sequence) for name, sequence in sequences)
