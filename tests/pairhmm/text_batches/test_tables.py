"""Likelihoods as text, against Python's formatting and parsing."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.pairhmm.batches import HmmBatch, HmmReads
from hapgpu.pairhmm.text_batches.tables import (
    LIKELIHOOD_HEADER,
    likelihood_matrix,
    likelihood_table,
)
from tests.example_counts import many

VALUES = st.one_of(st.floats(-10000, 0), st.floats(-1e300, 0), st.just(-math.inf))
SHAPES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=5)
WIDEST = -1.234567891e-9


def batch_of(shapes: list[tuple[int, int]]) -> HmmBatch:
    """Return groups with these numbers of reads and haplotypes, of one base each."""
    reads, haplotypes = [r for r, _ in shapes], [h for _, h in shapes]
    bases = Ragged.from_sequences(["A"] * sum(reads))
    columns = [np.full(sum(reads), 30, dtype=np.uint8)] * 4
    return HmmBatch(
        HmmReads(bases, *columns),
        Ragged.from_sequences(["A"] * sum(haplotypes)),
        offsets_of(reads),
        offsets_of(haplotypes),
    )


def near(text: str, value: float) -> bool:
    return math.isclose(float(text), value, rel_tol=5.0001e-10)


@settings(max_examples=many(200))
@given(SHAPES, st.sampled_from([0, 7, 999_999, 10**12]), st.lists(VALUES, min_size=1, max_size=20))
def test_table(shapes: list[tuple[int, int]], first: int, drawn: list[float]) -> None:
    batch = batch_of(shapes)
    likelihoods = np.resize(drawn, batch.pairs)
    lines = likelihood_table(first, batch, likelihoods).tobytes().decode().splitlines()
    expected = [
        [str(first + group), str(read), str(haplotype)]
        for group, (reads, haplotypes) in enumerate(shapes)
        for read in range(reads)
        for haplotype in range(haplotypes)
    ]
    assert [line.split("\t")[:3] for line in lines] == expected
    assert all(near(line.split("\t")[3], v) for line, v in zip(lines, likelihoods, strict=True))


@settings(max_examples=many(200))
@given(SHAPES, st.lists(VALUES, min_size=1, max_size=20))
def test_matrix(shapes: list[tuple[int, int]], drawn: list[float]) -> None:
    batch = batch_of(shapes)
    likelihoods = np.resize(drawn, batch.pairs)
    text = likelihood_matrix(batch, likelihoods).tobytes().decode()
    lines = iter(text.split("\n"))
    values = iter(likelihoods)
    for reads, haplotypes in shapes:
        assert next(lines) == f"{reads} {haplotypes}"
        for _ in range(reads):
            row = next(lines)
            fields = row.split(" ") if row else []
            assert len(fields) == haplotypes
            assert all(near(field, next(values)) for field in fields)
    assert list(lines) == [""]
    assert not list(values)


def test_widest_lines_fit() -> None:
    batch = batch_of([(101, 11), (1, 1)])
    likelihoods = np.full(batch.pairs, WIDEST)
    table = likelihood_table(998, batch, likelihoods).tobytes().decode().splitlines()
    assert len(table) == batch.pairs
    assert table[-2:] == ["998\t100\t10\t-0.000000001234567891", "999\t0\t0\t-0.000000001234567891"]
    matrix = likelihood_matrix(batch, likelihoods).tobytes().decode().splitlines()
    assert len(matrix) == 2 + 102
    assert set(matrix[1:102]) == {" ".join(["-0.000000001234567891"] * 11)}


def test_exact_text() -> None:
    batch = batch_of([(1, 2), (0, 3), (2, 0), (2, 1)])
    likelihoods = np.array([-1.5, 0.0, -math.inf, -1234.56789012345])
    assert LIKELIHOOD_HEADER == b"batch\tread\thaplotype\tlog10_likelihood\n"
    assert likelihood_table(5, batch, likelihoods).tobytes() == (
        b"5\t0\t0\t-1.5\n5\t0\t1\t0\n8\t0\t0\t-inf\n8\t1\t0\t-1234.56789\n"
    )
    assert likelihood_matrix(batch, likelihoods).tobytes() == (
        b"1 2\n-1.5 0\n0 3\n2 0\n\n\n2 1\n-inf\n-1234.56789\n"
    )
