"""Alignments without a gap: those that are found are the best, and most reads have one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.realign.align import cpu
from hapgpu.realign.align.ungapped import UNPROVED, ungapped_alignments
from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from hapgpu.runtime.devices import CpuDevice
from tests.example_counts import many
from tests.realign.align.reference import align_reference

READ = PRESETS["read-to-haplotype"]
FREE_ENDS = [Overhang.SOFTCLIP, Overhang.IGNORE]


def batch_of(sequences: Sequence[tuple[bytes, bytes]]) -> PairBatch:
    rows = np.arange(len(sequences), dtype=np.int32)
    return PairBatch(
        Ragged.from_sequences(reference for reference, _ in sequences),
        Ragged.from_sequences(query for _, query in sequences),
        rows,
        rows,
    )


def found(reference: bytes, query: bytes, scoring: Scoring = READ) -> tuple[int, int] | None:
    """Return offset and score of the alignment without a gap, if it is proved to be the best."""
    pairs = batch_of([(reference, query)])
    offsets, scores = ungapped_alignments(pairs, scoring, Overhang.SOFTCLIP)
    return None if offsets[0] == UNPROVED else (int(offsets[0]), int(scores[0]))


def count_checked(
    sequences: Sequence[tuple[bytes, bytes]], scoring: Scoring, overhang: Overhang
) -> int:
    """Compare what is found with the reference implementation; return how many are found."""
    offsets, scores = ungapped_alignments(batch_of(sequences), scoring, overhang)
    count = 0
    for (reference, query), offset, score in zip(sequences, offsets, scores, strict=True):
        if offset != UNPROVED:
            expected = align_reference(reference, query, scoring, overhang)
            assert expected == (score, offset, [(len(query), "M")]), (reference, query)
            count += 1
    return count


@pytest.mark.parametrize(
    ("reference", "query", "expected"),
    [
        ("ACGTTGCA", "GTTG", (2, 40)),
        ("ACGACGACG", "ACG", (6, 30)),  # the last of equal ones
        ("ACGTTGCATT", "CGTAGC", (1, 35)),
        ("ACGAACGTAT", "ACGC", (4, 15)),  # at 0 and 4, with a mismatch
        ("ACGTTGCATT", "CATAGC", None),  # two mismatches lose more than a gap
        ("CGTTGCATT", "ACGTTG", None),  # the first base is outside
        ("ACGTTG", "TTGC", None),
        ("TTCGTTG", "TTGC", None),  # as good within as with the last base outside
        ("ACGAACGTAC", "ACGC", None),  # with the last two bases outside
        ("ACG", "ACGT", None),
        ("ACGT", "A", (0, 10)),
        ("CCC", "A", (2, -15)),  # a base cannot be outside alone
    ],
)
def test_pairs(reference: str, query: str, expected: tuple[int, int] | None) -> None:
    assert found(reference.encode(), query.encode()) == expected


@pytest.mark.parametrize("bits", [ord("A") ^ ord("C"), ord("R") ^ ord("S")])
def test_every_offset_of_a_mismatch(bits: int) -> None:
    """The search compares eight bases at a time, and the rest one by one.

    Letters may differ in the lowest bit only.
    """
    reference = np.random.default_rng(5).choice(np.frombuffer(b"ACGT", dtype=np.uint8), 45)
    for length in range(8, 35):
        for at in range(length):
            query = reference[4 : 4 + length].copy()
            query[at] ^= bits
            assert found(reference.tobytes(), query.tobytes()) == (4, 10 * length - 25)


@pytest.mark.parametrize("overhang", FREE_ENDS, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize("scoring", PRESETS.values(), ids=str)
def test_every_pair_of_tiny_sequences(scoring: Scoring, overhang: Overhang) -> None:
    tiny = [bytes(text) for length in range(1, 6) for text in product(b"AC", repeat=length)]
    assert count_checked(list(product(tiny, tiny)), scoring, overhang) > 300


BASES = st.sampled_from([b"AC", b"ACGTN"]).flatmap(
    lambda letters: st.lists(st.sampled_from(list(letters)), min_size=1, max_size=20).map(bytes)
)
POSITIVE = st.integers(1, 6) | st.integers(1, 300)


@settings(max_examples=many(150))
@given(
    st.lists(st.tuples(BASES, BASES), min_size=1, max_size=12),
    st.builds(
        lambda match, mismatch, gap_open, gap_extend: Scoring(
            match, match - mismatch, -gap_open, 1 - gap_extend
        ),
        POSITIVE,
        POSITIVE,
        POSITIVE,
        POSITIVE,
    ),
    st.sampled_from(FREE_ENDS),
)
def test_random_weights(
    sequences: list[tuple[bytes, bytes]], scoring: Scoring, overhang: Overhang
) -> None:
    # A stretch of each reference with a changed base is found more often than a random query.
    stretches = []
    for reference, query in sequences:
        start = query[0] % len(reference)
        stretch = bytearray(reference[start : start + len(query)])
        stretch[query[-1] % len(stretch)] = query[0]
        stretches.append((reference, bytes(stretch)))
    count_checked([*sequences, *stretches], scoring, overhang)


@pytest.mark.parametrize(
    ("scoring", "overhang"),
    [
        (READ, Overhang.INDEL),
        (READ, Overhang.LEADING_INDEL),
        (Scoring(0, -1, -2, -1), Overhang.SOFTCLIP),
        (Scoring(1, 1, -2, -1), Overhang.SOFTCLIP),
        (Scoring(1, -1, 0, -1), Overhang.SOFTCLIP),
        (Scoring(1, -1, -2, 1), Overhang.SOFTCLIP),
        (Scoring(1, -60_000_000, -90_000_000, -1), Overhang.SOFTCLIP),  # reaches the lowest score
    ],
    ids=str,
)
def test_nothing_is_proved(scoring: Scoring, overhang: Overhang) -> None:
    offsets, _ = ungapped_alignments(batch_of([(b"ACGT", b"CG")]), scoring, overhang)
    assert offsets.tolist() == [UNPROVED]


def test_real_reads(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads in windows of the reference: the same alignments as without the search."""
    directory = data_dir / "illumina_na12878"
    with (
        pysam.AlignmentFile(str(directory / "NA12878.chr20.dev.bam")) as bam,
        pysam.FastaFile(str(directory / "chr20.hg19.fa.gz")) as fasta,
    ):
        reads = [read for read in bam.fetch("chr20", 10_010_000, 10_012_000) if read.query_sequence]
        text = fasta.fetch("chr20", 10_009_000, 10_013_000).upper().encode()
    windows = [text[max(0, read.pos - 10_009_040) :][:180] for read in reads]
    bases = [(read.query_sequence or "").encode() for read in reads]
    pairs = batch_of(list(zip(windows, bases, strict=True)))
    alignments = cpu.align_pairs(pairs, READ, Overhang.SOFTCLIP, CpuDevice(2))
    scores = cpu.score_pairs(pairs, READ, Overhang.SOFTCLIP, CpuDevice(2))
    offsets, _ = ungapped_alignments(pairs, READ, Overhang.SOFTCLIP)
    assert 0.6 < np.mean(offsets != UNPROVED) < 1

    def unproved(pairs: PairBatch, *_: object) -> object:
        return np.full(len(pairs), UNPROVED), np.zeros(len(pairs))

    monkeypatch.setattr(cpu, "ungapped_alignments", unproved)
    expected = cpu.align_pairs(pairs, READ, Overhang.SOFTCLIP, CpuDevice(1))
    assert scores.tolist() == alignments.scores.tolist() == expected.scores.tolist()
    assert alignments.offsets.tolist() == expected.offsets.tolist()
    assert cigar_strings(alignments.cigars) == cigar_strings(expected.cigars)
