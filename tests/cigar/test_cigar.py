"""CIGAR text, lengths and the builder: pysam, GATK's own cases and rules are the oracles."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pysam
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.builder import (
    LEADING_REMOVED,
    TRAILING_REMOVED,
    add_elements,
    built,
    finish_cigar,
    new_builder,
    start_cigar,
    start_pinned_cigar,
)
from hapgpu.cigar.encoding import (
    cigar_strings,
    parse_cigar,
    query_lengths,
    reference_lengths,
)
from hapgpu.errors import InputError
from tests.realign import gatk_projection as gatk

CIGARS = st.lists(st.tuples(st.integers(0, 2**28 - 1), st.sampled_from("MIDNSHP=X")), max_size=12)


def ragged(texts: list[str]) -> Ragged:
    cigars = [parse_cigar(text) for text in texts]
    return Ragged.from_lengths(np.concatenate(cigars), [cigar.size for cigar in cigars])


def build(text: str, *, keep_ends: bool = False) -> tuple[str, int, int] | None:
    """Return the tidied CIGAR and the deletions removed at its ends; None if it is in disorder."""
    elements = parse_cigar(text)
    builder = new_builder(elements.size)
    (start_pinned_cigar if keep_ends else start_cigar)(builder)
    add_elements(builder, elements)
    if not finish_cigar(builder):
        return None
    cigar = built(builder).astype(np.uint32)
    spelled = cigar_strings(Ragged.from_lengths(cigar, [cigar.size]))[0]
    return spelled, int(builder.state[LEADING_REMOVED]), int(builder.state[TRAILING_REMOVED])


@given(st.lists(CIGARS, min_size=1, max_size=5))
def test_text_and_lengths_as_pysam(cigars: list[gatk.Cigar]) -> None:
    texts = [gatk.spell(cigar) or "*" for cigar in cigars]
    parsed = ragged(texts)
    assert cigar_strings(parsed) == texts
    for row, text in enumerate(texts):
        read = pysam.AlignedSegment()
        read.cigarstring = text
        tuples = [(int(element & 15), int(element >> 4)) for element in parsed[row]]
        assert tuples == (read.cigartuples or [])
        assert reference_lengths(parsed)[row] == gatk.span(cigars[row], "MDN=X")
        assert query_lengths(parsed)[row] == gatk.span(cigars[row], "MIS=X")


DIGITS = "1" * 5000 + "M"
"""More digits than Python converts."""


def test_parse_bytes() -> None:
    assert parse_cigar(b"3M1D").tolist() == [48, 18]
    assert parse_cigar(b"*").size == 0


@pytest.mark.parametrize(
    "text", ["", "M", "3", "3M4", "3Q", "-3M", "3 M", "3M*", "٣M", "1" * 5000 + "M"]
)
def test_text_that_is_no_cigar(text: str) -> None:
    with pytest.raises(InputError, match="expected lengths"):
        parse_cigar(text)


def test_element_too_long_for_bam() -> None:
    with pytest.raises(InputError, match="longer than"):
        parse_cigar(f"1M{2**28}D")


def test_unknown_operation_codes_are_harmless() -> None:
    odd = Ragged.from_lengths(np.array([4 << 4 | 15, 5 << 4 | 9], dtype=np.uint32), [2])
    assert cigar_strings(odd) == ["4?5?"]
    assert query_lengths(odd)[0] == reference_lengths(odd)[0] == 0


CLIPS = ["", "10H", "10S", "10H10S"]


@pytest.mark.parametrize(
    "text",
    [
        before + middle + "".join(after)
        for before, middle, after in product(
            CLIPS, ["10M", "10M10I10M", "10M10D10M"], ["", "10H", "10S", "10S10H"]
        )
    ],
)
def test_builder_leaves_tidy_cigars(text: str) -> None:
    assert build(text) == (text, 0, 0)


@pytest.mark.parametrize(  # CigarBuilderUnitTest of GATK, and the deletions removed at either end
    ("text", "expected", "leading", "trailing"),
    [
        ("10M10D", "10M", 0, 10),
        ("10D10M", "10M", 10, 0),
        ("10H10D10M", "10H10M", 10, 0),
        ("10S10D10M", "10S10M", 10, 0),
        ("10S10D10M10S", "10S10M10S", 10, 0),
        ("10M10D10S", "10M10S", 0, 10),
        ("10M10D10H", "10M10H", 0, 10),
        ("10S10M10D10H", "10S10M10H", 0, 10),
        ("10H10H10M", "20H10M", 0, 0),
        ("10S10M10M", "10S20M", 0, 0),
        ("10S10M10S10S", "10S10M20S", 0, 0),
        ("10S10M10I10I10I10S10H", "10S10M30I10S10H", 0, 0),
        ("10S10S10M10M10I10I10S10H", "20S20M20I10S10H", 0, 0),
        ("10H10H10D10D10M", "20H10M", 20, 0),
        ("10M10I10D10M", "10M10D10I10M", 0, 0),
        ("10M10D10I10M", "10M10D10I10M", 0, 0),
        ("10M10I10D10I10M", "10M10D20I10M", 0, 0),
        ("10M10I10D10I10D10I10M", "10M20D30I10M", 0, 0),
        ("10M10I10D10I10M10D10I10M", "10M10D20I10M10D10I10M", 0, 0),
        ("10D10I10M", "10I10M", 10, 0),
        ("10M10I10D", "10M10I", 0, 10),
        ("10M10D10I", "10M10I", 0, 10),
        ("10M10D10I10S", "10M10I10S", 0, 10),
        ("10S10D10I10M", "10S10I10M", 10, 0),
        ("10S10I10D10I10M", "10S20I10M", 10, 0),
        ("10D10D10I10D10M", "10I10M", 30, 0),
        ("10M10D10I10D", "10M10I", 0, 20),
        ("10M10D10I10D10S10H", "10M10I10S10H", 0, 20),
        ("10H10S10D10M10D10I10D10S10H", "10H10S10M10I10S10H", 10, 20),
    ],
)
def test_builder_tidies_as_gatk(text: str, expected: str, leading: int, trailing: int) -> None:
    assert build(text) == (expected, leading, trailing)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10M10D", "10M10D"),
        ("10D10M", "10D10M"),
        ("10H10D10M", "10H10D10M"),
        ("10S10D10M10S", "10S10D10M10S"),
        ("10M10D10S", "10M10D10S"),
        ("10S10M10D10H", "10S10M10D10H"),
        ("10M10D10D", "10M20D"),
        ("10M10M10D10D", "20M20D"),
    ],
)
def test_pinned_builder_keeps_deletions_at_ends(text: str, expected: str) -> None:
    assert build(text, keep_ends=True) == (expected, 0, 0)


@pytest.mark.parametrize(
    "text",
    [
        *("10S", "10S10S", "10S10D", "10S10D10S", "10S10D10D10S"),
        *("10S10H10M", "10M10H10S", "10M10H10M", "10M10S10M"),
        *("*", "5D", "0M"),
    ],
)
def test_builder_refuses_disorder(text: str) -> None:
    assert build(text) is None


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from("MMIIDDSH=X")), max_size=8), st.booleans()
)
def test_builder_by_its_rules(cigar: gatk.Cigar, keep_ends: bool) -> None:
    ops = "".join(op for length, op in cigar if length)
    # GATK does not always merge equal clips, nor drop deletions after the last clip.
    assume(not re.search("SD*S|HD*H|[^SH]D*[SH]+D", ops))
    try:
        expected = gatk.tidy(cigar, keep_ends=keep_ends)
    except gatk.GatkError:
        assert build(gatk.spell(cigar) or "*", keep_ends=keep_ends) is None
    else:
        found = build(gatk.spell(cigar), keep_ends=keep_ends)
        assert found == (gatk.spell(expected[0]), *expected[1:])
