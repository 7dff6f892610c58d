"""Intervals as text: GATK's rules, and its cases of names with colons."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.io.intervals.notation import (
    MalformedIntervalError,
    OutsideReferenceError,
    parse_interval,
    usual_intervals,
)

LENGTHS = {"chr1": 1000, "GL000192.1": 50, "prefix:": 99, "none": 0}
HLA = dict.fromkeys(
    [
        "HLA-A*01:02:03",
        "HLA-A*01:02:03:04",
        "HLA-A*01:02:03:04+",
        "HLA-A*01:02:03:04-99",
        "HLA-A*01:02:03:04:99",
        "HLA-A*01:02",
        "HLA-A*01",
    ],
    99,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("chr1", ("chr1", 0, 1000)),
        ("chr1:7", ("chr1", 6, 7)),
        ("chr1:7-9", ("chr1", 6, 9)),
        ("chr1:7-7", ("chr1", 6, 7)),
        ("chr1:1,0,0,0", ("chr1", 999, 1000)),
        ("chr1:,7-9,", ("chr1", 6, 9)),
        ("chr1:900+", ("chr1", 899, 1000)),
        (" chr1:1-1,000 ", ("chr1", 0, 1000)),
        ("chr1:0007", ("chr1", 6, 7)),
        ("GL000192.1", ("GL000192.1", 0, 50)),
        ("GL000192.1:50", ("GL000192.1", 49, 50)),
        ("prefix:", ("prefix:", 0, 99)),
    ],
)
def test_intervals(text: str, expected: tuple[str, int, int]) -> None:
    assert parse_interval(text, LENGTHS) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr1:", "malformed"),
        ("chr1:-5", "malformed"),
        ("chr1:5-", "malformed"),
        ("chr1:+", "malformed"),
        ("chr1:-", "malformed"),
        ("chr1:5-9+", "malformed"),
        ("chr1:1-2-3", "malformed"),
        ("chr1:five", "malformed"),
        ("chr1:1.5", "malformed"),
        ("chr1:1e2", "malformed"),
        ("chr1:,", "malformed"),
        ("chr1:²", "malformed"),
        ("chr1:99999999999", "malformed"),
        (f"chr1:{'9' * 5000}", "malformed"),
        ("chr1:0", "positions start at 1"),
        ("chr1:0-9", "positions start at 1"),
        ("chr1:9-5", "end 5 is before start 9"),
        ("chr1:1001", "chr1 has only 1,000 bases"),
        ("chr1:900-1001", "chr1 has only 1,000 bases"),
        ("chr1:1001+", "end 1,000 is before start 1,001"),
        ("none", "none has only 0 bases"),
        ("", "no contig ''"),
        (":5", "no contig ':5'"),
        ("1:5", "no contig '1' in the reference; found 'chr1' instead"),
        ("chr2:5-9", "no contig 'chr2'"),
        ("no such thing", "no contig 'no such thing'"),
        ("x" * 100, f"no contig '{'x' * 40}...'"),
        ("\x1b[31mchr", r"no contig '\x1b[31mchr'"),
        ("{chr1}:5", "no contig '{chr1}'"),
        ("prefix:+", "no contig 'prefix:+'"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises((MalformedIntervalError, OutsideReferenceError)) as error:
        parse_interval(text, LENGTHS)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        "HLA-A*01:02:03:04",
        "HLA-A*01:02:03:04+",
        "HLA-A*01:02:03:04:99",
        "HLA-A*01:02:03:04-99",
        "HLA-A*01:02:03",
        "HLA-A*01:02",
    ],
)
def test_names_with_two_meanings(text: str) -> None:
    """Cases of IntervalUtilsUnitTest.getAmbiguousIntervalQueries."""
    with pytest.raises(MalformedIntervalError, match="ambiguous"):
        parse_interval(text, HLA)


def test_names_with_one_meaning() -> None:
    assert parse_interval("HLA-A*01", HLA) == ("HLA-A*01", 0, 99)
    with pytest.raises(OutsideReferenceError, match="no contig 'HLA'"):
        parse_interval("HLA:02", HLA)
    both = {"contig": 99, "contig:abc-dce": 88, "contig:9-1": 77, "contig:0": 66}
    for name in list(both)[1:]:
        assert parse_interval(name, both) == (name, 0, both[name])
    grch38 = {"chr1": 248_956_422, "HLA-DRB1*15:03:01:02": 11_569, "HLA-A*01:01:01:01": 3503}
    for name, length in grch38.items():
        assert parse_interval(name, grch38) == (name, 0, length)
        assert parse_interval(f"{name}:1", grch38) == (name, 0, 1)
        assert parse_interval(f"{name}:1+", grch38) == (name, 0, length)
        assert parse_interval(f"{name}:1-{length}", grch38) == (name, 0, length)


NAME = st.sampled_from(["a", "a:1", "a:1-2", "b", ""])
TEXT = st.one_of(
    st.builds("{}:{}-{}".format, NAME, st.integers(0, 12), st.integers(0, 12)),
    st.builds("{}:{}".format, NAME, st.sampled_from(["1", "3+", "1,0-2", "x"])),
    NAME,
)


@given(st.lists(TEXT, min_size=1, max_size=3))
def test_many_at_once(texts: list[str]) -> None:
    """The same intervals as one by one, or none."""
    lengths = {"a": 10, "a:1": 11, "a:1-2": 9, "b": 12}
    found = usual_intervals(texts, lengths)
    if found is not None:
        rows = zip(found.contigs, found.starts.tolist(), found.ends.tolist(), strict=True)
        assert list(rows) == [parse_interval(text, lengths) for text in texts]


def test_usual_texts() -> None:
    found = usual_intervals(["chr1:5-9", "GL000192.1:1-50"], LENGTHS)
    assert found is not None
    assert found.starts.tolist() == [4, 0]
    assert usual_intervals(["chr1:5-9", "chr1:5-1001"], LENGTHS) is None
