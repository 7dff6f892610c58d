"""Minimizers on the CPU, against the reference implementation and the definition."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.longread.index.kmers import SLOTS
from hapgpu.longread.index.sketch import sketch
from hapgpu.longread.options import SketchOptions
from tests.example_counts import many
from tests.longread.minimizer_oracle import minimizers_of, sketch_all
from tests.longread.sketch.reference import mix

COMPLEMENT = str.maketrans("ACGT", "TGCA")
LETTERS = [
    "ACGT",
    "AC",  # repeats, homopolymers
    "AT",  # palindromes
    "ACGT" * 5 + "N",
    "ACGTacgtUuNnRY*",
    "A",
]
OPTIONS = st.builds(
    SketchOptions,
    k=st.sampled_from([1, 2, 3, 4, 5, 6, 15, 28]),
    w=st.sampled_from([1, 2, 3, 5, 10, 40, 255]),
    is_hpc=st.booleans(),
)


@st.composite
def sequences(draw: st.DrawFn, longest: int = 300) -> str:
    letters = draw(st.sampled_from(LETTERS))
    text = draw(st.text(st.sampled_from(letters), max_size=longest))
    run = draw(st.sampled_from([1, 1, 1, 2, 7, 60]))  # homopolymers
    repeats = draw(st.sampled_from([1, 1, 1, 2, 5]))
    return ("".join(letter * run for letter in text) * repeats)[: 5 * longest]


@settings(max_examples=many(300))
@given(rows=st.lists(sequences(), max_size=4), options=OPTIONS)
def test_small_sequences(rows: list[str], options: SketchOptions) -> None:
    assert sketch_all(rows, options) == [minimizers_of(row, options) for row in rows]


def random_sequence(seed: int, length: int, letters: str = "ACGT") -> str:
    rng = np.random.default_rng(seed)
    return "".join(rng.choice(list(letters), length))


@pytest.mark.parametrize(
    "options",
    [
        SketchOptions(),
        SketchOptions(k=19, w=19),
        SketchOptions(k=14, w=7),
        SketchOptions(k=4, w=30),
        SketchOptions(k=19, w=10, is_hpc=True),
        SketchOptions(k=28, w=255),
    ],
    ids=str,
)
def test_sequences_longer_than_the_slots(options: SketchOptions) -> None:
    plain = random_sequence(1, 5 * SLOTS)
    rows = [plain[:length] for length in (SLOTS - 1, SLOTS, SLOTS + options.w + options.k, None)]
    positions = (1, SLOTS, 2 * SLOTS + 3, 4 * SLOTS, 5 * SLOTS - 1)
    rows += [f"{plain[:position]}N{plain[position:]}" for position in positions]
    rows.append(random_sequence(2, 4 * SLOTS, "ACGT" * 40 + "N"))
    assert sketch_all(rows, options) == [minimizers_of(row, options) for row in rows]


def test_lengths_around_the_first_window() -> None:
    options = SketchOptions(k=5, w=4)
    text = random_sequence(3, 40)
    rows = [text[:length] for length in range(20)]
    found = sketch_all(rows, options)
    assert found == [minimizers_of(row, options) for row in rows]
    assert [len(row) for row in found[:9]] == [0, 0, 0, 0, 0, 1, 1, 1, 1]


def canonical(kmer: str) -> str:
    return min(kmer, kmer.translate(COMPLEMENT)[::-1])  # A < C < G < T as 0 < 1 < 2 < 3


def key_of(kmer: str) -> int:
    number = 0
    for letter in canonical(kmer):
        number = 4 * number + "ACGT".index(letter)
    return mix(number, 2 * len(kmer)) << 8 | len(kmer)


@settings(max_examples=many(150))
@given(
    text=st.text(st.sampled_from("ACGT"), min_size=30, max_size=120)
    | st.text(st.sampled_from("AC"), min_size=30, max_size=120),
    k=st.sampled_from([1, 3, 5]),
    w=st.integers(1, 8),
)
def test_minimizers_are_the_minima_of_windows(text: str, k: int, w: int) -> None:
    """Except windows that overlap the first, which has rules of its own."""
    keys = [key_of(text[at : at + k]) for at in range(len(text) - k + 1)]
    windows = [range(first, first + w) for first in range(len(keys) - w + 1)]
    minima = [
        {at for at in window if keys[at] == min(keys[i] for i in window)} for window in windows
    ]
    (found,) = sketch_all([text], SketchOptions(k=k, w=w))
    positions = [minimizer.position >> 1 for minimizer in found]
    ends = {position - k + 1 for position in positions}
    assert positions == sorted(set(positions))
    assert set().union(*minima[w:]) <= ends
    assert {at for at in ends if at >= w} <= set().union(*minima)
    for key, position in found:
        kmer = text[(position >> 1) - k + 1 : (position >> 1) + 1]
        assert key == key_of(kmer)
        assert position & 1 == (kmer != canonical(kmer))


@settings(max_examples=100)
@given(
    runs=st.lists(st.tuples(st.sampled_from("ACGT"), st.integers(1, 12)), max_size=80),
    k=st.sampled_from([3, 4, 5]),
    w=st.integers(1, 8),
)
def test_compressed_kmers_end_with_runs_and_span_them(
    runs: list[tuple[str, int]], k: int, w: int
) -> None:
    text = "".join(letter * length for letter, length in runs)
    lengths = [len(list(run)) for _, run in groupby(text)]
    ends = np.cumsum(lengths) - 1
    (found,) = sketch_all([text], SketchOptions(k=k, w=w, is_hpc=True))
    for key, position in found:
        last = int(np.searchsorted(ends, position >> 1))
        assert ends[last] == position >> 1
        assert key & 255 == sum(lengths[last - k + 1 : last + 1])


@settings(max_examples=100)
@given(text=st.text("ACGT", max_size=100), k=st.sampled_from([3, 4, 5]), w=st.integers(1, 8))
def test_compression_is_as_if_each_run_were_one_base(text: str, k: int, w: int) -> None:
    """Runs of two bases, since the span is part of the key."""
    squeezed = "".join(letter for letter, _ in groupby(text))
    doubled = "".join(letter * 2 for letter in squeezed)
    (plain,) = sketch_all([squeezed], SketchOptions(k=k, w=w))
    (compressed,) = sketch_all([doubled], SketchOptions(k=k, w=w, is_hpc=True))
    assert [key >> 8 for key, _ in compressed] == [key >> 8 for key, _ in plain]
    expected = [(2 * (position >> 1) + 1) << 1 | position & 1 for _, position in plain]
    assert [position for _, position in compressed] == expected


def test_spans_of_256_bases_are_excluded() -> None:
    options = SketchOptions(k=3, w=1, is_hpc=True)
    for length, spans in ((253, [255]), (254, [])):
        (found,) = sketch_all(["A" + "C" * length + "G"], options)
        assert [minimizer.key & 255 for minimizer in found] == spans


def test_case_and_uracil_make_no_difference() -> None:
    text = random_sequence(4, 2000)
    expected, lower, rna = sketch_all(
        [text, text.lower(), text.replace("T", "U")], SketchOptions(k=15, w=10)
    )
    assert expected == lower == rna


def test_sequences_anywhere_in_the_text() -> None:
    text = random_sequence(5, 3000)
    starts, lengths = [2000, 0, 1500, 2999, 700], [1000, 900, 0, 1, 1300]
    array = np.frombuffer(text.encode(), np.uint8)
    found = sketch(
        array, np.array(starts, np.int32), np.array(lengths, np.int32), SketchOptions(k=7, w=5)
    )
    rows = [text[start : start + length] for start, length in zip(starts, lengths, strict=True)]
    expected = [minimizers_of(row, SketchOptions(k=7, w=5)) for row in rows]
    assert found.offsets.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    assert found.keys.tolist() == [minimizer.key for row in expected for minimizer in row]
    assert found.positions.tolist() == [minimizer.position for row in expected for minimizer in row]


def test_no_sequences() -> None:
    empty = np.empty(0, np.int32)
    found = sketch(np.empty(0, np.uint8), empty, empty, SketchOptions())
    assert found.keys.dtype == np.uint64
    assert found.positions.dtype == np.uint32
    assert found.offsets.tolist() == [0]
