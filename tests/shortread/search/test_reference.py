"""The reference implementation, against the edit distance of all intervals and manual cases."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.shortread.search.hits import SearchOptions
from tests.shortread.search.reference import Hit, find_hits

ALL = SearchOptions()
FORWARD = SearchOptions(forward_only=True)
PAIRS = {"A": "T", "C": "G", "G": "C", "T": "A"}


def same(one: str, other: str) -> bool:
    return one == other and one in PAIRS


def edit_distance(read: str, window: str) -> int:
    """Fill the whole table of Levenshtein's recursion."""
    row = list(range(len(window) + 1))
    for i, base in enumerate(read, start=1):
        above, row = row, [i]
        for j, letter in enumerate(window, start=1):
            row.append(min(above[j - 1] + (not same(base, letter)), above[j] + 1, row[-1] + 1))
    return row[-1]


def fits(read: str, window: str) -> bool:
    return len(read) == len(window) and all(map(same, read, window))


def cigar_by_trial(read: str, window: str) -> str:
    """Try a gap at every offset, from the left."""
    if len(read) == len(window):
        return f"{len(read)}M"
    operation = "I" if len(read) > len(window) else "D"
    short, long = sorted([read, window], key=len)
    before = next(k for k in range(len(long)) if fits(long[:k] + long[k + 1 :], short))
    parts = [(before, "M"), (1, operation), (len(short) - before, "M")]
    return "".join(f"{count}{letter}" for count, letter in parts if count)


def hits_by_distance(contigs: list[str], read: str) -> set[Hit]:
    """Return all intervals with a distance of at most 1 that no ungapped hit excludes."""
    m = len(read)
    turned = "".join(PAIRS.get(base, base) for base in reversed(read.upper()))
    hits = set()
    for (contig, text), (strand, bases) in product(
        enumerate(map(str.upper, contigs)), enumerate([read.upper(), turned])
    ):
        windows = {
            (start, end): distance
            for start in range(len(text))
            for end in range(max(start + 1, start + m - 1), min(start + m + 1, len(text)) + 1)
            if (distance := edit_distance(bases, text[start:end])) <= 1
        }
        ungapped = {(start, end) for start, end in windows if end - start == m}
        hidden = {
            (start, end)
            for start, end in windows.keys() - ungapped
            if any(start == first or end == last for first, last in ungapped)
        }
        hits |= {
            Hit(contig, strand, start, end, distance, cigar_by_trial(bases, text[start:end]))
            for (start, end), distance in windows.items()
            if (start, end) not in hidden
        }
    return hits


def find(contigs: list[str], read: str, options: SearchOptions = ALL) -> list[Hit]:
    return find_hits([contig.encode() for contig in contigs], read.encode(), options)


def sequences(letters: str, min_size: int, max_size: int) -> st.SearchStrategy[str]:
    return st.text(letters, min_size=min_size, max_size=max_size)


@pytest.mark.parametrize("letters", ["A", "AC", "AT", "ACN", "acgTNR"])
def test_every_window_with_at_most_one_error_is_a_hit_or_excluded_by_one(letters: str) -> None:
    @given(st.lists(sequences(letters, 1, 14), min_size=1, max_size=3), sequences(letters, 1, 9))
    def check(contigs: list[str], read: str) -> None:
        hits = find(contigs, read)
        assert set(hits) == hits_by_distance(contigs, read)
        assert len(set(hits)) == len(hits)

    check()


@st.composite
def edited_pieces(draw: st.DrawFn) -> tuple[list[str], str]:
    """Contigs with a read that is a piece of one of them with up to two edits."""
    contigs = draw(st.lists(sequences("ACGT", 8, 40), min_size=1, max_size=2))
    contig = draw(st.sampled_from(contigs))
    start = draw(st.integers(0, len(contig) - 6))
    read = contig[start : draw(st.integers(start + 6, len(contig)))]
    for _ in range(draw(st.integers(0, 2))):
        offset = draw(st.integers(0, len(read)))
        width = draw(st.integers(0, 1))
        read = read[:offset] + draw(sequences("ACGTN", 0, 1)) + read[offset + width :]
    return contigs, read


@given(edited_pieces())
def test_edited_pieces_of_the_reference(case: tuple[list[str], str]) -> None:
    contigs, read = case
    assert set(find(contigs, read)) == hits_by_distance(contigs, read)


@given(edited_pieces(), st.sampled_from([0, 1]), st.booleans(), st.booleans())
def test_each_option_excludes_hits(
    case: tuple[list[str], str], errors: int, indels: bool, forward_only: bool
) -> None:
    contigs, read = case
    options = SearchOptions(errors=errors, indels=indels, forward_only=forward_only)
    assert find(contigs, read, options) == [
        hit
        for hit in find(contigs, read)
        if hit.distance <= errors
        and (indels or hit.end - hit.start == len(read))
        and (hit.strand == 0 or not forward_only)
    ]


BASES = "ACGTTGACCATGCAAGTCTC"
"""No piece of it resembles another, or the reverse strand."""


@pytest.mark.parametrize(
    ("contig", "read", "hits"),
    [
        pytest.param(BASES, BASES[4:16], [(4, 16, 0, "12M")], id="exact, its shadows excluded"),
        pytest.param(BASES, "A" + BASES[5:16], [(4, 16, 1, "12M")], id="first base substituted"),
        pytest.param(BASES, BASES[4:15] + "C", [(4, 16, 1, "12M")], id="last base substituted"),
        pytest.param(
            BASES, BASES[4:9] + "C" + BASES[10:16], [(4, 16, 1, "12M")], id="base substituted"
        ),
        pytest.param(BASES, BASES[4:9] + "C" + BASES[10:15] + "C", [], id="two bases substituted"),
        pytest.param(
            BASES, BASES[4:10] + "C" + BASES[10:16], [(4, 16, 1, "6M1I6M")], id="insertion"
        ),
        pytest.param(BASES, BASES[4:10] + BASES[11:16], [(4, 16, 1, "6M1D5M")], id="deletion"),
        pytest.param(
            BASES, "C" + BASES[:11], [(0, 11, 1, "1I11M")], id="insertion at the contig's start"
        ),
        pytest.param(
            BASES, BASES[9:] + "G", [(9, 20, 1, "11M1I")], id="insertion at the contig's end"
        ),
        pytest.param(
            BASES,
            "C" + BASES[4:15],
            [(3, 15, 1, "12M")],
            id="insertion before the first base is a substitution",
        ),
        pytest.param(
            BASES,
            BASES[4:14] + BASES[15],
            [(4, 15, 1, "11M")],
            id="deletion before the last base is a substitution",
        ),
        pytest.param(BASES, "GG" + BASES[:11], [], id="overhang of two bases at the start"),
        pytest.param(BASES, BASES[9:] + "GG", [], id="overhang of two bases at the end"),
        pytest.param(
            "ACGTCCCCTGAG", "ACGTCCCTGAG", [(0, 12, 1, "4M1D7M")], id="deletion in a homopolymer"
        ),
        pytest.param(
            "ACGTCCCTGAG", "ACGTCCCCTGAG", [(0, 11, 1, "4M1I7M")], id="insertion in a homopolymer"
        ),
        pytest.param(
            "ACGTGTCCC", "ACGTGTCCCC", [(0, 9, 1, "6M1I3M")], id="homopolymer at the contig's end"
        ),
        pytest.param(
            "CCCACGTGT", "CCCCACGTGT", [(0, 9, 1, "1I9M")], id="homopolymer at the contig's start"
        ),
        pytest.param(
            "ACACACACAC",
            "ACACAC",
            [(0, 6, 0, "6M"), (2, 8, 0, "6M"), (4, 10, 0, "6M")],
            id="tandem repeat: windows between exact ones are their shadows",
        ),
        pytest.param(
            "GTGACACACTTG", "GTGACACCACTTG", [(0, 12, 1, "6M1I6M")], id="broken tandem repeat"
        ),
        pytest.param(
            BASES, BASES[4:9] + "N" + BASES[10:16], [(4, 16, 1, "12M")], id="N in the read"
        ),
        pytest.param(BASES, BASES[4:8] + "NN" + BASES[10:16], [], id="two N in the read"),
        pytest.param(
            BASES, BASES[4:9] + "N" + BASES[9:16], [(4, 16, 1, "5M1I7M")], id="N inserted"
        ),
        pytest.param(
            BASES[:9] + "N" + BASES[10:],
            BASES[4:16],
            [(4, 16, 1, "12M")],
            id="N in the reference",
        ),
        pytest.param(BASES[:9] + "NN" + BASES[11:], BASES[4:16], [], id="two N in the reference"),
        pytest.param(
            BASES[:9] + "N" + BASES[10:],
            BASES[4:9] + "N" + BASES[10:16],
            [(4, 16, 1, "12M")],
            id="N does not match N",
        ),
        pytest.param(
            BASES[:9] + "N" + BASES[9:], BASES[4:14], [(4, 15, 1, "5M1D5M")], id="N deleted"
        ),
        pytest.param(BASES[:9] + "NN" + BASES[9:], BASES[4:14], [], id="two N cannot be deleted"),
        pytest.param(
            BASES[:8] + "M" + BASES[9:],
            BASES[4:16],
            [(4, 16, 1, "12M")],
            id="an ambiguity code does not match its base",
        ),
        pytest.param(
            BASES[:8] + "R" + BASES[9:],
            BASES[4:8] + "R" + BASES[9:16],
            [(4, 16, 1, "12M")],
            id="an ambiguity code does not match itself",
        ),
        pytest.param(BASES.lower(), BASES[4:16], [(4, 16, 0, "12M")], id="lower case reference"),
        pytest.param(BASES, BASES[4:16].lower(), [(4, 16, 0, "12M")], id="lower case read"),
        pytest.param(BASES[4:16], BASES, [], id="read longer than the contig"),
        pytest.param("N", "A", [(0, 1, 1, "1M")], id="one base"),
    ],
)
def test_rule(contig: str, read: str, hits: list[tuple[int, int, int, str]]) -> None:
    expected = [Hit(0, 0, *hit) for hit in hits]
    assert find([contig], read, FORWARD) == expected


def test_gap_on_the_reverse_strand_is_leftmost_on_the_forward_one() -> None:
    # ACGTCCCTGAG, reversed and complemented.
    assert find(["ACGTCCCCTGAG"], "CTCAGGGACGT") == [Hit(0, 1, 0, 12, 1, "4M1D7M")]


def test_palindrome_hits_both_strands() -> None:
    assert find(["CCTGAATTCACC"], "TGAATTCA") == [
        Hit(0, 0, 2, 10, 0, "8M"),
        Hit(0, 1, 2, 10, 0, "8M"),
    ]


@pytest.mark.parametrize("cut", range(3, 10))
def test_no_hit_crosses_from_contig_to_contig(cut: int) -> None:
    read = BASES[4:16]
    assert find([BASES[: 4 + cut], BASES[4 + cut :]], read) == []


@pytest.mark.parametrize(
    ("missing", "hits"),
    [(0, [Hit(0, 0, 4, 16, 0, "12M")]), (1, [Hit(0, 0, 4, 15, 1, "11M1I")]), (2, [])],
)
def test_contig_that_ends_before_the_read(missing: int, hits: list[Hit]) -> None:
    cut = 16 - missing
    assert find([BASES[:cut], BASES[cut:]], BASES[4:16]) == hits


def test_excluded_hits_are_of_the_same_contig_and_strand() -> None:
    contigs = [BASES, BASES[:10] + BASES[11:]]
    read = BASES[4:16]
    assert find(contigs, read) == [
        Hit(0, 0, 4, 16, 0, "12M"),
        Hit(1, 0, 4, 15, 1, "6M1I5M"),
    ]


def test_order_is_distance_contig_start_strand_end() -> None:
    hits = find(["ATAT", "TTATAA", "ATATA"], "TATA")
    keys = [(hit.distance, hit.contig, hit.start, hit.strand, hit.end) for hit in hits]
    assert keys == sorted(keys)
    assert {hit.strand for hit in hits} == {0, 1}
    assert {hit.contig for hit in hits} == {0, 1, 2}
