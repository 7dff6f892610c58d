"""Haplotype files: names, sequences and loci, and errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.haplotypes.pairing.haplotype_set import (
    HaplotypeSet,
    parse_loci,
    parse_locus,
    read_haplotypes,
)
from hapgpu.io.genome.regions import Region
from tests.example_counts import many


def read(directory: Path, *headers: str) -> HaplotypeSet:
    path = directory / "haplotypes.fa"
    bases = ("ACGT", "acgtn", "TTGA")
    path.write_text("".join(f">{header}\n{bases[k % 3]}\n" for k, header in enumerate(headers)))
    return read_haplotypes(path)


def test_without_loci(tmp_path: Path) -> None:
    haplotypes = read(tmp_path, "one", "two with words 12:30", "three::name")
    assert haplotypes.names == ("one", "two", "three::name")
    assert [bytes(row) for row in haplotypes.sequences] == [b"ACGT", b"acgtn", b"TTGA"]
    assert haplotypes.loci == ()
    assert haplotypes.locus_index.tolist() == [-1, -1, -1]
    assert haplotypes.max_candidates == len(haplotypes) == 3


def test_both_ways_to_write_a_locus(tmp_path: Path) -> None:
    headers = (
        "a chr20:10,001-10,400",
        "b::chr20:10000-10400",
        "c length=4 chr20:5-9 more",
        "d::HLA-A*01:01:0-4(+)",
    )
    haplotypes = read(tmp_path, *headers)
    first, second, third = (
        Region("chr20", 10_000, 10_400),
        Region("chr20", 4, 9),
        Region("HLA-A*01:01", 0, 4),
    )
    assert haplotypes.names == ("a", "b", "c", "d")
    assert haplotypes.loci == (first, second, third)
    assert haplotypes.locus_index.tolist() == [0, 0, 1, 2]
    assert haplotypes.max_candidates == 2


def test_take(tmp_path: Path) -> None:
    haplotypes = read(tmp_path, "a c:1-4", "b c:5-8", "c c:9-12", "d c:5-8")
    taken = haplotypes.take(np.array([3, 2]))
    assert taken.names == ("d", "c")
    assert [bytes(row) for row in taken.sequences] == [b"ACGT", b"TTGA"]
    assert taken.loci == (Region("c", 4, 8), Region("c", 8, 12))
    assert taken.locus_index.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        (("a c:1-4", "b"), "haplotype 'b' has no locus, but others have"),
        (("a", "a"), "'a'"),
        (("a::c:0-4", "a c:5-8"), "two haplotypes have the name 'a'"),
        (("a::c:0-4(-)",), "reverse strand"),
        ((), "no FASTA record"),
    ],
)
def test_errors(tmp_path: Path, headers: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, *headers)


def test_an_error_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"haplotypes\.fa"):
        read(tmp_path, "a::c:0-4(-)")


CONTIGS = st.sampled_from(["c", "d", "a:b", "::", "x::y", "chr1:1-2", "é"])
NUMBERS = st.sampled_from(["1", "2", "10", "0", "01", "1,000", "", "2147483647", "2147483648"])
WORDS = st.one_of(
    st.builds("{}:{}-{}".format, CONTIGS, NUMBERS, NUMBERS),
    st.builds("c:{}-{}".format, st.integers(0, 9), st.integers(1, 99)),
    st.sampled_from(["word", "12:30", "-"]),
)
KINDS = [
    st.tuples(st.just("alt"), st.builds("c:{}-{}".format, st.integers(1, 9), st.integers(9, 20))),
    st.tuples(
        st.builds("alt::c:{}-{}".format, st.integers(0, 9), st.integers(10, 20)), st.just("")
    ),
    st.tuples(
        st.builds(
            "{}{}{}".format,
            st.sampled_from(["alt", "", "alt:", "a::b", ":"]),
            st.sampled_from(["", "::", ":::"]),
            st.one_of(WORDS, st.builds("{}{}".format, WORDS, st.sampled_from(["(+)", "(-)", "x"]))),
        ),
        st.builds(
            "".join,
            st.lists(st.one_of(WORDS, st.sampled_from([" ", "  ", "\x1c", "\u2028"])), max_size=3),
        ),
    ),
]
HEADERS = st.one_of(
    st.lists(st.one_of(KINDS), max_size=5),
    *(st.lists(kind, min_size=1, max_size=5) for kind in KINDS),
)


@given(HEADERS)
@settings(max_examples=many(400))
def test_loci_in_bulk_as_one_by_one(headers: list[tuple[str, str]]) -> None:
    def one_by_one() -> list[tuple[str, Region | None]]:
        return [parse_locus(name, description) for name, description in headers]

    def in_bulk() -> list[tuple[str, Region | None]]:
        names, loci, index = parse_loci(*zip(*headers, strict=True)) if headers else ((), (), [])
        assert list(loci) == list(dict.fromkeys(loci[k] for k in index if k >= 0))
        return [(name, loci[k] if k >= 0 else None) for name, k in zip(names, index, strict=True)]

    outcomes = []
    for parse in (one_by_one, in_bulk):
        try:
            outcomes.append(parse())
        except InputError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]
