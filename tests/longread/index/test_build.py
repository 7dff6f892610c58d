"""Minimizer index: every look-up by its definition, and the counts of minimap2."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.genome.fasta import read_fasta
from hapgpu.longread.index import build, hash_table
from hapgpu.longread.index.build import (
    UNLIMITED,
    build_index,
    build_index_of_records,
    repeat_cutoff,
)
from hapgpu.longread.index.minimizer_index import MIX, MinimizerIndex
from hapgpu.longread.options import PRESETS, SeedOptions, SketchOptions
from tests.longread.minimizer_oracle import minimizers_of

SKETCH = SketchOptions(k=5, w=3)


def write_fasta(path: Path, sequences: Sequence[str]) -> Path:
    records = (f">seq{number} of a test\n{text}\n" for number, text in enumerate(sequences))
    path.write_text("".join(records), encoding="ascii")
    return path


def expected_occurrences(sequences: Sequence[str], options: SketchOptions) -> dict[int, list[int]]:
    occurrences = defaultdict(list)
    for number, text in enumerate(sequences):
        for key, position in minimizers_of(text, options):
            occurrences[key >> 8].append(number << 32 | position)
    return {kmer: sorted(positions) for kmer, positions in occurrences.items()}


def occurrences_of(index: MinimizerIndex, kmer_hash: int) -> list[int]:
    """Look up a hash in the directory and the entries."""
    mixed = kmer_hash * MIX % 2**64
    bucket = mixed >> (64 - index.directory_bits)
    for entry in range(index.directory[bucket], index.directory[bucket + 1]):
        if int(index.entries[2 * entry]) == mixed:
            first, last = index.entries[2 * entry + 1], index.entries[2 * entry + 3]
            found: list[int] = index.occurrences[int(first) : int(last)].tolist()
            return found
    return []


def assert_is_index_of(index: MinimizerIndex, sequences: Sequence[str]) -> None:
    expected = expected_occurrences(sequences, index.sketch)
    assert {kmer: occurrences_of(index, kmer) for kmer in expected} == expected
    keys = index.entries[::2].tolist()
    assert keys == [*sorted({kmer * MIX % 2**64 for kmer in expected}), 2**64 - 1]
    assert int(index.entries[-1]) == index.occurrences.size == sum(map(len, expected.values()))
    assert index.directory.size == 2**index.directory_bits + 1
    assert index.directory[-1] == len(expected)
    assert index.lengths.tolist() == [len(text) for text in sequences]
    assert (index.directory.dtype, index.entries.dtype) == (np.uint32, np.uint64)
    assert (index.occurrences.dtype, index.lengths.dtype) == (np.uint64, np.int64)


@settings(max_examples=80)
@given(
    sequences=st.lists(
        st.text("ACGT", max_size=100) | st.text("ACGTN", max_size=60) | st.text("AC", max_size=60),
        min_size=1,
        max_size=6,
    ),
    options=st.sampled_from(
        [SKETCH, SketchOptions(k=4, w=2), SketchOptions(k=6, w=4, is_hpc=True)]
    ),
    threads=st.integers(1, 3),
)
def test_every_occurrence_is_found(
    tmp_path_factory: pytest.TempPathFactory,
    sequences: list[str],
    options: SketchOptions,
    threads: int,
) -> None:
    fasta = write_fasta(tmp_path_factory.mktemp("index") / "ref.fa", sequences)
    index = build_index(fasta, options, threads)
    assert index.names == tuple(f"seq{number}" for number in range(len(sequences)))
    assert index.sketch == options
    assert_is_index_of(index, sequences)
    assert occurrences_of(index, 4**options.k) == []


@pytest.mark.parametrize("sequences", [[""], ["", "ACGTTGCATT", ""], ["NNNNNNNNNNNN", "N"], ["AC"]])
def test_sequences_without_minimizers(tmp_path: Path, sequences: list[str]) -> None:
    index = build_index(write_fasta(tmp_path / "ref.fa", sequences), SKETCH, 2)
    assert_is_index_of(index, sequences)


def test_threads_and_batches_do_not_change_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    sequences = ["".join(rng.choice(list("ACGT"), length)) for length in (9000, 0, 50, 7000, 300)]
    fasta = write_fasta(tmp_path / "ref.fa", sequences)
    expected = build_index(fasta, SKETCH, 1)
    assert_is_index_of(expected, sequences)
    monkeypatch.setattr(build, "_MIN_BATCH", 100)
    monkeypatch.setattr(hash_table, "_PIECE", 70)
    for threads in (1, 2, 5):
        index = build_index(fasta, SKETCH, threads)
        for array in ("directory", "entries", "occurrences", "lengths"):
            np.testing.assert_array_equal(getattr(index, array), getattr(expected, array))


def test_records_keep_their_bases(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    sequences = ["".join(rng.choice(list("ACGT"), length)) for length in (30_000, 50, 20_000)]
    fasta = write_fasta(tmp_path / "ref.fa", sequences)
    index, records = build_index_of_records(fasta, SKETCH, 2)
    assert records.sequences.data.tobytes() == "".join(sequences).encode()
    np.testing.assert_array_equal(index.entries, build_index(fasta, SKETCH, 2).entries)


def cutoff_by_hand(counts: Sequence[int], options: SeedOptions) -> int:
    if options.repetitive >= 1:
        return int(options.repetitive + 0.499)
    fraction = float(np.float32(options.repetitive))
    cutoff = sorted(counts)[int((1 - fraction) * len(counts))] + 1
    cutoff = max(cutoff, options.min_cutoff)
    if options.max_cutoff > options.min_cutoff:
        cutoff = min(cutoff, options.max_cutoff)
    return cutoff


@pytest.mark.parametrize("fraction", [2e-4, 0.01, 0.05, 0.3, 0.999])
def test_cutoff_of_a_fraction(tmp_path: Path, fraction: float) -> None:
    rng = np.random.default_rng(3)
    unit = "".join(rng.choice(list("ACGT"), 40))
    sequences = ["".join(rng.choice(list("ACGT"), 4000)), unit * 30, unit[:20] * 100]
    index = build_index(write_fasta(tmp_path / "ref.fa", sequences), SketchOptions(k=9, w=4), 1)
    counts = [
        len(occurrences) for occurrences in expected_occurrences(sequences, index.sketch).values()
    ]
    assert len(Counter(counts)) > 5
    for low, high in ((0, 1_000_000), (10, 1_000_000), (2, 5), (7, 7), (9, 3)):
        options = SeedOptions(repetitive=fraction, min_cutoff=low, max_cutoff=high)
        assert repeat_cutoff(index, options) == cutoff_by_hand(counts, options)


def test_cutoff_given_or_without_limit(tmp_path: Path) -> None:
    index = build_index(write_fasta(tmp_path / "ref.fa", ["ACGTTGCATTACG" * 4]), SKETCH, 1)
    without_minimizers = build_index(write_fasta(tmp_path / "n.fa", ["NNN"]), SKETCH, 1)
    assert repeat_cutoff(index, SeedOptions(repetitive=1)) == 1
    assert repeat_cutoff(index, SeedOptions(repetitive=37, min_cutoff=50)) == 37
    assert repeat_cutoff(index, SeedOptions(repetitive=0, min_cutoff=10, max_cutoff=500)) == 500
    assert (
        repeat_cutoff(index, SeedOptions(repetitive=0, min_cutoff=10, max_cutoff=10)) == UNLIMITED
    )
    assert repeat_cutoff(without_minimizers, SeedOptions()) == 1_000_000
    # So small that 1 - f is 1: the rank must not exceed the last count.
    assert repeat_cutoff(index, SeedOptions(repetitive=1e-30, min_cutoff=0)) < 20


COUNTED = {  # of ref.fa.gz, by minimap2 2.30: distinct, singletons in %, average, mid_occ
    "map-ont": (942_578, 98.01, 1.046, 14),
    "map-hifi": (512_019, 99.09, 1.031, 50),
    "map-pb": (681_630, 98.77, 1.033, 12),
}


@pytest.mark.parametrize("name", COUNTED)
def test_counts_of_minimap2(data_dir: Path, name: str) -> None:
    options = PRESETS[name]
    index = build_index(data_dir / "longread/chain/ref.fa.gz", options.sketch, 2)
    counts = np.diff(index.entries[1::2])
    distinct, singletons, average, cutoff = COUNTED[name]
    assert counts.size == distinct
    assert round(100 * float((counts == 1).mean()), 2) == singletons
    assert round(index.occurrences.size / counts.size, 3) == average
    assert repeat_cutoff(index, options.seeds) == cutoff


def test_a_sequence_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fasta = write_fasta(tmp_path / "ref.fa", ["ACGT", "ACGTACGTACGT"])
    monkeypatch.setattr(build, "MAX_BASES", 11)
    with pytest.raises(InputError, match=r"ref\.fa: 'seq1' has more than 11 bases; split it"):
        build_index(fasta, SKETCH, 1)


def test_too_many_minimizers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fasta = write_fasta(tmp_path / "ref.fa", ["ACGTTGCATTACG" * 4])
    monkeypatch.setattr(build, "MAX_MINIMIZERS", 5)
    with pytest.raises(InputError, match="minimizers, more than 5, the limit of a minimizer index"):
        build_index(fasta, SKETCH, 1)


def test_as_many_minimizers_as_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fasta = write_fasta(tmp_path / "ref.fa", ["ACGTTGCATTACG" * 4])
    minimizers = build_index(fasta, SKETCH, 1).occurrences.size
    monkeypatch.setattr(build, "MAX_MINIMIZERS", minimizers)
    assert build_index(fasta, SKETCH, 1).occurrences.size == minimizers


def test_a_file_that_is_no_fasta(tmp_path: Path) -> None:
    (tmp_path / "ref.fa").write_text("ACGT\n")
    with pytest.raises(InputError, match="not FASTA"):
        build_index(tmp_path / "ref.fa", SKETCH, 2)
    with pytest.raises(InputError, match="no such file"):
        build_index(tmp_path / "absent.fa", SKETCH, 2)


def test_empty_records_only_where_they_are_allowed(tmp_path: Path) -> None:
    fasta = write_fasta(tmp_path / "ref.fa", ["ACGT", ""])
    assert read_fasta(fasta, allow_empty=True).sequences.lengths.tolist() == [4, 0]
    with pytest.raises(InputError, match="record 'seq1': no sequence"):
        read_fasta(fasta)
