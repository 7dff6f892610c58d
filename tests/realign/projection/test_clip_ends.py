"""Clip variants, insertions at ends, and costs, against plain Python."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.kinds import HOST
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.clips import Clips
from hapgpu.cigar.encoding import cigar_strings, parse_cigar
from hapgpu.realign.projection.alignment_costs import INCOMPARABLE, alignment_costs
from hapgpu.realign.projection.clip_ends import are_same_alignments, clip_end_insertions
from hapgpu.realign.scoring import PRESETS
from hapgpu.realign.selection.queries import ClipVariants
from tests.example_counts import many
from tests.realign.move_oracle import _plain, _without_end_insertions, alignment_cost
from tests.realign.realign_oracle import gatk

SCORING = PRESETS["read-to-haplotype"]


def cigars_of(*texts: str) -> Ragged:
    parsed = [parse_cigar(text) for text in texts]
    data = np.concatenate([np.empty(0, dtype=np.uint32), *parsed])
    return Ragged.from_lengths(data, [len(x) for x in parsed])


def clips(leading: list[int], trailing: list[int]) -> Clips:
    columns = [np.array(column, dtype=np.int32) for column in (leading, trailing)]
    return Clips(*columns, *(np.zeros_like(column) for column in columns))


@given(
    st.lists(
        st.tuples(
            st.text("ACGT", max_size=4), st.text("ACGT", max_size=4), st.text("ACGT", max_size=4)
        ),
        max_size=6,
    )
)
def test_every_variant_of_clipped_ends(reads: list[tuple[str, str, str]]) -> None:
    """Variants with clips are first, so that they win ties; no variant is empty."""
    reads = [read for read in reads if "".join(read)]
    bases = Ragged.from_sequences(["".join(read) for read in reads])
    ends = [[len(read[k]) for read in reads] for k in (0, 2)]
    variants = ClipVariants.of(bases, clips(*ends), HOST)
    for row, (first, middle, last) in enumerate(reads):
        of_read = range(variants.offsets[row], variants.offsets[row + 1])
        found = [
            (int(variants.leading[k]), int(variants.trailing[k]), bytes(variants.bases[k]).decode())
            for k in of_read
        ]
        whole = first + middle + last
        expected = [
            (left, right, whole[left : len(whole) - right])
            for left, right in product(
                dict.fromkeys((len(first), 0)), dict.fromkeys((len(last), 0))
            )
        ]
        assert found == [variant for variant in expected if variant[2]]
    assert len(variants) == len(variants.bases)


def test_reads_as_they_are() -> None:
    bases = Ragged.from_sequences(["ACGT", "", "AC"])
    variants = ClipVariants.whole(bases, HOST)
    assert variants.offsets.tolist() == [0, 1, 2, 3]
    assert not variants.leading.any()
    assert not variants.trailing.any()
    assert variants.bases is bases


END_CASES = {
    "5M": ("5M", 0),
    "3I5M": ("3S5M", 0),
    "5M3I": ("5M3S", 0),
    "2H3S2I5M1I4S1H": ("2H5S5M5S1H", 0),
    "3I2D5M": ("3S5M", 2),
    "2D3I5M": ("3S5M", 2),
    "5M2D3I": ("5M3S", 0),
    "4M1I4M": ("4M1I4M", 0),
    "1H3I1M2I1H": ("1H3S1M2S1H", 0),
    "8I": ("8I", 0),
    "2S8I": ("2S8I", 0),
}


def test_insertions_at_ends_are_clipped() -> None:
    positions = np.arange(10, 10 + len(END_CASES))
    found, starts = clip_end_insertions(cigars_of(*END_CASES), positions)
    assert cigar_strings(found) == [cigar for cigar, _ in END_CASES.values()]
    assert (starts - positions).tolist() == [shift for _, shift in END_CASES.values()]
    assert positions[0] == 10


INNER = st.lists(st.tuples(st.integers(1, 5), st.sampled_from("MID")), max_size=6)
ENDS = st.sampled_from(["", "2S", "3H", "1H4S"])


@given(INNER, ENDS, ENDS)
def test_insertions_at_any_ends(inner: gatk.Cigar, left: str, right: str) -> None:
    trailing = "".join(re.findall(r"\d+\D", right)[::-1])
    cigar = [*gatk.parse(left), *inner, *gatk.parse(trailing)]
    if not cigar:
        return
    found, starts = clip_end_insertions(cigars_of(gatk.spell(cigar)), np.array([7]))
    start, expected = _without_end_insertions(7, cigar)
    assert (int(starts[0]), cigar_strings(found)[0]) == (start, gatk.spell(expected))


SAME = [
    ("5M", "5M"),
    ("5M", "2=1X2="),
    ("2S3M", "2S3="),
    ("2M1M2M", "5M"),
    ("*", "*"),
    ("3=2I", "3M2I"),
]
DIFFERENT = [
    ("5M", "4M"),
    ("5M", "4M1S"),
    ("5M", "2M1I2M"),
    ("1H4M", "1S4M"),
    ("*", "1M"),
    ("5M", "5M1H"),
]


@pytest.mark.parametrize(("pairs", "same"), [(SAME, True), (DIFFERENT, False)])
def test_alignments_are_compared_base_by_base(pairs: list[tuple[str, str]], same: bool) -> None:
    one, other = (cigars_of(*column) for column in zip(*pairs, strict=True))
    positions = np.arange(len(pairs), dtype=np.int32)
    for a, b in ((one, other), (other, one)):
        assert (are_same_alignments(a, positions, b, positions) == same).all()
    assert not are_same_alignments(one, positions, other, positions + 1).any()


ANY_CIGAR = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from("MID=XSHNP")), min_size=1, max_size=6
)


@given(ANY_CIGAR, ANY_CIGAR)
def test_any_alignments_are_compared(one: gatk.Cigar, other: gatk.Cigar) -> None:
    position = np.zeros(1, dtype=np.int32)
    found = are_same_alignments(
        cigars_of(gatk.spell(one)), position, cigars_of(gatk.spell(other)), position
    )
    assert found[0] == (_plain(one) == _plain(other))


@settings(max_examples=many(200))
@given(
    st.text("ACN", min_size=1, max_size=12),
    ANY_CIGAR,
    st.integers(-2, 8),
    st.text("ACN", min_size=1, max_size=16),
)
def test_costs_as_counted_one_by_one(
    bases: str, cigar: gatk.Cigar, position: int, reference: str
) -> None:
    """Any CIGAR, also too long for the read or the reference."""
    length = gatk.span(cigar, gatk.ON_READ)
    for read in {bases, (bases * 24)[:length]}:
        if not read:
            continue
        found = alignment_costs(
            Ragged.from_sequences([read]),
            cigars_of(gatk.spell(cigar)),
            np.array([position]),
            Ragged.from_sequences(["T", reference]),
            np.array([1], dtype=np.int32),
            SCORING,
        )
        expected = alignment_cost(read, cigar, position, reference, SCORING)
        if expected is None:
            assert found.costs[0] == INCOMPARABLE
        else:
            assert (found.scores[0], found.costs[0]) == expected


def test_costs_of_literal_alignments() -> None:
    """Clipped bases score 0 and are differences; N equals N, as in the aligner."""
    reads = Ragged.from_sequences(["ACGTACGT"] * 4 + ["ACGN"])
    found = alignment_costs(
        reads,
        cigars_of("8M", "2S6M", "3M2I3M", "3M2D5M", "2H4M"),
        np.array([0, 2, 0, 0, 0]),
        Ragged.from_sequences(["ACGTTCGTAC", "ACGNAC"]),
        np.array([0, 0, 0, 0, 1], dtype=np.int32),
        SCORING,
    )
    expected = [(70 - 15, 1), (50 - 15, 3), (30 - 35 - 45, 5), (30 - 35 - 75, 7), (40, 0)]
    assert list(zip(found.scores.tolist(), found.costs.tolist(), strict=True)) == expected
