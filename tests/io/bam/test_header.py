"""Headers keep all that is not changed explicitly."""

from __future__ import annotations

from collections.abc import Callable

import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.bam.header import SamHeader, encode_references
from tests.example_counts import many
from tests.io.bam import header_oracle as oracle

TEXT = (
    "@HD\tVN:1.5\tGO:query\tSO:coordinate\tSS:coordinate:queryname\n"
    "@SQ\tSN:chr1\tLN:1000\tM5:abc\n"
    "@RG\tID:a\tSM:sample\n"
    "@PG\tID:bwa\tPN:bwa\n"
    "@SQ\tSN:chr2\tLN:500\n"
    "@PG\tID:hapgpu\tPN:hapgpu\tPP:bwa\n"
    "@CO\ta comment: with\ttabs\n"
)


def test_references_are_read_in_order() -> None:
    header = SamHeader.from_text(TEXT)
    assert header.reference_names == ("chr1", "chr2")
    assert header.reference_lengths == (1000, 500)
    assert header.reference_id("chr2") == 1
    assert header.reference_id("chr3") is None
    assert header.text == TEXT


def test_from_references_is_read_by_pysam() -> None:
    made = SamHeader.from_references(["a", "b"], [5, 7])
    theirs = pysam.AlignmentHeader.from_text(made.text)
    assert theirs.references == made.reference_names == ("a", "b")
    assert theirs.lengths == made.reference_lengths == (5, 7)


def test_program_is_chained_under_a_unique_name() -> None:
    header = SamHeader.from_text(TEXT).with_program("hapgpu", "0.1", "hapgpu realign\ta\nb")
    assert header.text == (
        f"{TEXT}@PG\tID:hapgpu.1\tPN:hapgpu\tPP:hapgpu\tVN:0.1\tCL:hapgpu realign a b\n"
    )
    again = header.with_program("hapgpu", "0.1", "x").text.splitlines()[-1]
    assert again == "@PG\tID:hapgpu.2\tPN:hapgpu\tPP:hapgpu.1\tVN:0.1\tCL:x"
    alone = SamHeader.from_text("").with_program("tool", "1", "c").text
    assert alone == "@PG\tID:tool\tPN:tool\tVN:1\tCL:c\n"


def test_program_follows_the_end_of_a_chain_written_backwards() -> None:
    text = "@PG\tID:last\tPP:first\n@PG\tID:first\n"
    assert "PP:last" in SamHeader.from_text(text).with_program("t", "1", "c").text


def test_references_are_replaced_and_all_else_kept() -> None:
    header = SamHeader.from_text(TEXT).with_references(["h1"], [42])
    assert header.reference_names == ("h1",)
    kept = [line for line in TEXT.splitlines() if not line.startswith("@SQ")]
    assert header.text.splitlines() == [kept[0], "@SQ\tSN:h1\tLN:42", *kept[1:]]
    bare = SamHeader.from_text("@CO\tx\n").with_references(["h1"], [42])
    assert bare.text == "@HD\tVN:1.6\n@SQ\tSN:h1\tLN:42\n@CO\tx\n"


def test_sort_order_drops_contradicting_fields() -> None:
    lines = SamHeader.from_text(TEXT).with_sort_order("unsorted").text.splitlines()
    assert lines == ["@HD\tVN:1.5\tSO:unsorted", *TEXT.splitlines()[1:]]
    assert SamHeader.from_text("").with_sort_order("unsorted").text == (
        "@HD\tVN:1.6\tSO:unsorted\n"
    )


def test_lines_of_a_type() -> None:
    header = SamHeader.from_text(
        "@RG\tID:a\n@RG\tID:b\r\n@CO\t@RG\tID:c\n@SQ\tSN:x\tLN:9\n@RG\tID:d"
    )
    assert header.lines_of("@RG") == ["@RG\tID:a", "@RG\tID:b\r", "@RG\tID:d"]
    assert header.lines_of("@PG") == []


def test_comments_may_contain_unicode_line_ends() -> None:
    text = "@CO\ta\u2028b\x0cc\n"
    changed = SamHeader.from_text(text).with_references(["h1"], [42]).text
    assert changed == f"@HD\tVN:1.6\n@SQ\tSN:h1\tLN:42\n{text}"


@pytest.mark.parametrize(
    "line",
    ["SN:a", "SN:a\tLN:", "SN:a\tLN:x", "SN:a\tLN:0", "SN:a\tLN:2147483648", "LN:5", "SN:\tLN:5"],
)
def test_impossible_references_are_refused(line: str) -> None:
    with pytest.raises(InputError, match="@SQ line"):
        SamHeader.from_text(f"@SQ\t{line}\n")


def test_a_reference_named_twice_is_refused() -> None:
    with pytest.raises(InputError, match="two @SQ lines for a; run: samtools reheader"):
        SamHeader.from_text("@SQ\tSN:b\tLN:5\n@SQ\tSN:a\tLN:5\n@SQ\tSN:a\tLN:6\n")


@pytest.mark.parametrize("name", ["*", "=x", "a,b", "(1)", "a b", "", 'x"y', "<x>"])
def test_names_that_sam_does_not_allow_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="a name that SAM does not allow"):
        SamHeader.from_text(TEXT).with_references([name], [42])


def test_names_that_sam_allows() -> None:
    names = ["HLA*01:01", "chr1", "a=b", "1", "x|y.z#1", "a@b;c"]
    lengths = [9] * len(names)
    assert SamHeader.from_text("").with_references(names, lengths).reference_names == tuple(names)


@pytest.mark.parametrize(
    ("text", "is_sorted"),
    [
        (TEXT, True),
        (TEXT.replace("SO:coordinate", "SO:unsorted"), False),
        (TEXT.replace("SO:coordinate", "SO:queryname"), False),
        (TEXT.replace("SO:coordinate\t", ""), False),
        (TEXT.replace("@HD", "@CO"), False),
        ("@HD\tVN:1.6\tSO:coordinate", True),
        ("@CO\tSO:coordinate\n", False),
        ("", False),
    ],
)
def test_sort_order_is_from_the_first_line(text: str, is_sorted: bool) -> None:
    assert SamHeader.from_text(text).is_coordinate_sorted == is_sorted


FIELDS = st.sampled_from(
    ["SN:a", "SN:b", "SN:c d", "SN:", "LN:7", "LN:07", "LN:0", "LN:2147483647", "LN:2147483648",
     "LN:1234567890123", "LN:x", "M5:9", "SO:coordinate", "GO:none", "ID:p", "x", "", "@SQ", "@HD"]
)  # fmt: skip
LINES = st.one_of(
    st.builds(
        lambda kind, fields, end: "\t".join([kind, *fields]) + end,
        st.sampled_from(["@SQ", "@SQ", "@SQ", "@HD", "@PG", "@CO", "@SQX", " @SQ", ""]),
        st.lists(FIELDS, max_size=4),
        st.sampled_from(["", "", "", "\r", "\r\r", "\x85"]),
    ),
    st.integers(0, 40).map(lambda number: f"@SQ\tSN:{number}\tLN:{number + 1}"),
)
TEXTS = st.tuples(st.lists(LINES, max_size=6), st.booleans()).map(
    lambda parts: "\n".join(parts[0]) + "\n" * parts[1]
)


def found(make: Callable[[], SamHeader]) -> oracle.Header | str:
    def columns() -> oracle.Header:
        header = make()
        return header.text, list(header.reference_names), list(header.reference_lengths)

    return oracle.outcome(columns)


@settings(max_examples=many(400))
@given(TEXTS, LINES)
def test_headers_as_parsed_line_by_line(text: str, line: str) -> None:
    expected = oracle.outcome(lambda: oracle.parsed(text))
    assert found(lambda: SamHeader.from_text(text)) == expected
    if isinstance(expected, str):
        return
    header = SamHeader.from_text(text)
    assert found(lambda: header.with_line(line)) == oracle.outcome(
        lambda: oracle.with_line(header.text, line)
    )
    assert found(lambda: header.with_sort_order("unsorted")) == oracle.outcome(
        lambda: oracle.with_sort_order(header.text, "unsorted")
    )
    headings = [line for line in header.text.split("\n") if line.startswith("@HD\t")]
    is_sorted = any("SO:coordinate" in heading.rstrip("\r").split("\t") for heading in headings)
    assert header.is_coordinate_sorted <= is_sorted


@settings(max_examples=many(200))
@given(
    TEXTS,
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c", "*", "=x", "a b", "", "a\nb", "chr1:5", "é", "a*"]),
            st.sampled_from([1, 5, 2**31 - 1, 0, 2**31, -3]),
        ),
        max_size=4,
    ),
)
def test_references_replaced_as_line_by_line(text: str, rows: list[tuple[str, int]]) -> None:
    if isinstance(oracle.outcome(lambda: oracle.parsed(text)), str):
        return
    header = SamHeader.from_text(text)
    names, lengths = [name for name, _ in rows], [length for _, length in rows]
    assert found(lambda: header.with_references(names, lengths)) == oracle.outcome(
        lambda: oracle.with_references(header.text, names, lengths)
    )


@given(st.lists(st.text(min_size=1, max_size=8).filter(lambda name: not set(name) & set("\t\n\r"))))
def test_list_of_contigs_as_defined(names: list[str]) -> None:
    try:
        encoded = [name.encode("utf-8", "surrogateescape") + b"\0" for name in names]
        header = SamHeader.from_text(
            "".join(f"@SQ\tSN:{name}\tLN:{n}\n" for n, name in enumerate(names, 1))
        )
    except (InputError, UnicodeEncodeError):
        return
    expected = [
        len(name).to_bytes(4, "little") + name + n.to_bytes(4, "little")
        for n, name in enumerate(encoded, 1)
    ]
    assert encode_references(header) == len(names).to_bytes(4, "little") + b"".join(expected)
