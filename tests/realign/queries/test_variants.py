"""Orientations and clips of reads, against operations on text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.batches import ReadBatch
from hapgpu.cigar.clips import clips_of
from hapgpu.errors import InputError
from hapgpu.realign.selection.queries import queries_of
from tests.io.sam_oracle import Row, batch_of

OPERATIONS = "MIDNSHP=X"
COMPLEMENTS = dict(zip("=ACMGRSVTWYHKDBN", "=TGKCYSBAWRDMHVN", strict=True))


def row(bases: str, cigar: str, flag: int = 0, qualities: tuple[int, ...] | None = None) -> Row:
    elements = tuple(
        (OPERATIONS.index(op), int(length))
        for length, op in re.findall(r"(\d+)([MIDNSHP=X])", cigar)
    )
    return Row("r1", flag, 0, 10, 0, elements, -1, -1, 0, bases, qualities, ())


def texts(rows: object) -> list[str]:
    return [bytes(r).decode() for r in rows]  # type: ignore[attr-defined]  # of a Ragged


READS = st.builds(
    lambda bases, flag: row(bases, "", flag, tuple(range(len(bases))) or None),
    st.text("=ACMGRSVTWYHKDBN", max_size=9),
    st.sampled_from([0, 4, 16, 20]),
)


@given(st.lists(READS, max_size=9))
def test_unmapped_reads_are_tried_in_both_orientations(rows: list[Row]) -> None:
    queries = queries_of(batch_of(rows))
    unmapped = [k for k, r in enumerate(rows) if r.flag & 4]
    turned = ["".join(COMPLEMENTS[b] for b in reversed(rows[k].bases)) for k in unmapped]
    assert texts(queries.bases) == [r.bases for r in rows] + turned
    qualities = [tuple(q.tolist()) for q in queries.qualities]
    assert qualities[: len(rows)] == [r.qualities or () for r in rows]
    assert qualities[len(rows) :] == [(rows[k].qualities or ())[::-1] for k in unmapped]
    for k in range(len(rows)):
        row = len(rows) + unmapped.index(k) if k in unmapped else -1
        assert queries.reversed_row[k] == row


def batch(*cigars: str, flag: int = 0) -> ReadBatch:
    return batch_of([row("ACGTACGTAC", cigar, flag) for cigar in cigars])


def test_soft_clips() -> None:
    reads = batch("10M", "2S8M", "7M3S", "1H2S5M3S4H", "4H10M", "10M5H", "", "10S", "2H10S1H")
    clips = clips_of(reads, "x.bam")
    pairs = list(zip(clips.leading.tolist(), clips.trailing.tolist(), strict=True))
    assert pairs[:7] == [(0, 0), (2, 0), (0, 3), (2, 3), (0, 0), (0, 0), (0, 0)]
    assert [sum(pair) for pair in pairs[7:]] == [10, 10]


def test_clips_of_unmapped_reads_mean_nothing() -> None:
    """The SAM specification gives the CIGAR of an unmapped read no meaning."""
    reads = batch("2S8M", "3S7M", flag=4)
    clips = clips_of(reads, "x.bam")
    assert not clips.leading.any()
    assert not clips.trailing.any()
    assert not clips_of(batch("99S", flag=4), "x.bam").leading.any()


def test_more_clips_than_bases() -> None:
    reads = batch("10M", "6S1M6S")
    with pytest.raises(InputError, match=r"x\.bam, read 'r1': fewer bases than its CIGAR clips"):
        clips_of(reads, "x.bam")


def test_clips_of_a_read_without_bases() -> None:
    """Mappers omit the bases of secondary alignments, but not their CIGARs."""
    clips = clips_of(batch_of([row("", "2S8M"), row("", "8M2S")]), "x.bam")
    assert not clips.leading.any()
    assert not clips.trailing.any()
