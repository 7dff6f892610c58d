"""Reads found in a text, against the written reads, and every kind of broken record."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS, SHORT_READS, ReadLimits
from hapgpu.io.fastx.read_block import ReadBlock
from tests.example_counts import many

Row = tuple[bytes, bytes, bytes]


def parse(text: bytes, rules: ReadLimits = SHORT_READS, *, is_fasta: bool = False) -> list[Row]:
    """Return name, bases and qualities of each read (of FASTA the last is empty)."""
    array = np.frombuffer(text, dtype=np.uint8)
    spans = parse_block(ReadBlock(array, is_fasta, 11, "r.fq"), rules)
    assert spans.has_qualities is not is_fasta
    columns = (
        spans.name_starts,
        spans.name_lengths,
        spans.base_starts,
        spans.quality_starts,
        spans.lengths,
    )
    assert all(column.dtype == np.int32 and column.size == len(spans) for column in columns)
    return [
        (
            text[name : name + name_length],
            text[base : base + length],
            b"" if is_fasta else text[quality : quality + length],
        )
        for name, name_length, base, quality, length in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]


PRINTABLE = st.characters(min_codepoint=33, max_codepoint=126)
NAMES = st.text(PRINTABLE, min_size=3, max_size=60).filter(lambda name: not name.startswith("@"))
DESCRIPTIONS = st.sampled_from(["", " ", "\t1:N:0:ACGT", " a b  c ", "\tX:Z:\x7f\x01é"])
BASES = st.text("ACGTNRYSWKMBDHVacgtnryswkmbdhv", max_size=200)
READS = st.lists(
    st.tuples(NAMES, st.sampled_from(["", "/1", "/2"]), DESCRIPTIONS, BASES, st.booleans()),
    max_size=8,
)
NEWLINES = st.sampled_from(["\n", "\r\n"])
BLANKS = st.sampled_from(["", "\n", "\n \n\t\n"])


@given(READS, NEWLINES, BLANKS, st.randoms(use_true_random=False))
def test_fastq_round_trip(
    reads: list[tuple[str, str, str, str, bool]], newline: str, blank: str, random: object
) -> None:
    written = []
    text = ""
    for name, mate, description, bases, repeats in reads:
        qualities = "".join(chr(random.randint(33, 126)) for _ in bases)  # type: ignore[attr-defined]
        header = f"{name}{mate}{description}"
        plus = f"+{header}" if repeats else "+"
        text += newline.join([f"@{header}", bases, plus, qualities, ""])
        kept = name if mate or name[-2:] not in {"/1", "/2"} else name[:-2]
        written.append((kept.encode(), bases.encode(), qualities.encode()))
    assert parse((text + blank).encode()) == written


@given(READS, NEWLINES)
def test_fasta_round_trip(reads: list[tuple[str, str, str, str, bool]], newline: str) -> None:
    text = "".join(
        newline.join([f">{name}/1{description}", bases, ""])
        for name, _, description, bases, _ in reads
    )
    written = [(name.encode(), bases.encode(), b"") for name, _, _, bases, _ in reads]
    assert parse(text.encode(), is_fasta=True) == written
    assert parse(text.encode() + b"\n", is_fasta=True) == written


GOOD = [b"@b/1 x", b"ACGTNacgt", b"+b/1 x", b"IIIII!!~~"]
LINE_PATTERNS = (
    rb"@[!-?A-~][!-~]{0,253}([ \t].*)?",
    rb"[ACGTNRYSWKMBDHVacgtnryswkmbdhv]*",
    rb"\+.*",
    rb"[!-~]*",
)


def is_well_formed(text: bytes) -> bool:
    """Decide by patterns and a split into lines whether `parse_block` has to accept a text."""
    *lines, rest = text.split(b"\n")
    assert not rest
    whole = len(lines) // 4 * 4
    if b"".join(lines[whole:]).strip():
        return False
    lines = [line.removesuffix(b"\r") for line in lines]
    return all(
        all(
            re.fullmatch(pattern, line, re.DOTALL)
            for pattern, line in zip(LINE_PATTERNS, record, strict=True)
        )
        and len(record[1]) == len(record[3])
        and record[2][1:] in {b"", record[0][1:]}
        for record in (lines[at : at + 4] for at in range(0, whole, 4))
    )


@settings(max_examples=many(1000))
@given(
    st.integers(0, 70),
    st.sampled_from(b"\n\r\t @+>/A*!~\x00\x0b\x1b\x1f\x7f\x80\xffEe"),
    st.sampled_from(["replace", "insert", "delete"]),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_any_change_of_a_byte_is_accepted_or_refused(
    at: int, byte: int, change: str, newline: bytes
) -> None:
    text = newline.join([*GOOD, b"@c", b"AC", b"+", b"II", b""])
    at %= len(text) - 1
    put = b"" if change == "delete" else bytes([byte])
    text = text[:at] + put + text[at + (change != "insert") :]
    if not text.endswith(b"\n"):
        text += b"\n"
    if is_well_formed(text):
        parse(text)
    else:
        with pytest.raises(InputError, match=r"record 1[123]"):
            parse(text)


def changed(line: int, text: bytes) -> bytes:
    """Return the good record with another line."""
    return b"\n".join([*GOOD[:line], text, *GOOD[line + 1 :], b""])


FAULTS = {
    "no at": (changed(0, b"b/1 x"), "its first line does not start with '@'"),
    "fasta": (changed(0, b">b/1 x"), "its first line does not start with '@'"),
    "empty header": (changed(0, b""), "its first line does not start with '@'"),
    "no name": (changed(0, b"@"), "it has no name"),
    "blank name": (changed(0, b"@ b"), "'b': it has no name"),
    "long name": (changed(0, b"@" + b"b" * 255), "its name is longer than 254 characters"),
    "at in name": (changed(0, b"@@b/1 x"), "'@b/1': its name starts with '@', which SAM does not"),
    "at for name": (changed(0, b"@@"), "'@': its name starts with '@', which SAM does not allow"),
    "name with null": (changed(0, b"@b\0c"), r"invalid character '\x00' in its name"),
    "name with return": (changed(0, b"@b\r\r"), r"'b': invalid character '\r' in its name"),
    "name not ASCII": (changed(0, "@é".encode()), "invalid character 'Ã' in its name"),
    "diff_ids": (changed(2, b"+c/1 x"), "'b/1': its third line has another name"),
    "description not repeated": (changed(2, b"+b/1"), "its third line has another name"),
    "third line longer": (changed(2, b"+b/1 xy"), "its third line has another name"),
    "third line blank": (changed(2, b"+ "), "its third line has another name"),
    "no plus": (changed(2, b""), "its third line does not start with '+'"),
    "two lines of bases": (changed(1, b"ACG\nTNacgt"), "its third line does not start with '+'"),
    "double_seq": (changed(1, GOOD[1] + b"\n" + GOOD[1]), "third line does not start with '+'"),
    "double_qual": (b"@a\nA\n+\nI\nI\n" + changed(0, b"@c"), ": its first line does not start"),
    "no_qual": (changed(3, b""), "its sequence and its qualities differ in length"),
    "short_qual": (changed(3, GOOD[3][:-1]), "its sequence and its qualities differ in length"),
    "long_qual": (changed(3, GOOD[3] + b"I"), "its sequence and its qualities differ in length"),
    "trunc_in_qual": (b"\n".join(GOOD)[:-2] + b"\n", "qualities differ in length"),
    "spaces": (changed(1, b"ACGT Nacgt"), "invalid character ' ' in its sequence"),
    "tabs": (changed(1, b"ACGT\tNacgt"), r"invalid character '\t' in its sequence"),
    "no base": (changed(1, b"ACGT.acgt"), "invalid character '.' in its sequence"),
    "no letter of IUPAC": (changed(1, b"ACGTEacgt"), "invalid character 'E' in its sequence"),
    "qual_null": (changed(3, b"IIII\0IIII"), r"invalid character '\x00' in its qualities"),
    "qual_del": (changed(3, b"IIII\x7fIIII"), r"invalid character '\x7f' in its qualities"),
    "qual_escape": (changed(3, b"IIII\x1bIIII"), r"invalid character '\x1b' in its qualities"),
    "qual_unit_sep": (changed(3, b"IIII\x1fIIII"), r"invalid character '\x1f' in its qualities"),
    "qual_vtab": (changed(3, b"IIII\x0bIIII"), r"invalid character '\x0b' in its qualities"),
    "qual_space": (changed(3, b"IIII IIII"), "invalid character ' ' in its qualities"),
    "qual_tab": (changed(3, b"IIII\tIIII"), r"invalid character '\t' in its qualities"),
    "qual not ASCII": (changed(3, b"IIII\xa0IIII"), r"invalid character '\xa0' in its qualities"),
    "trunc_in_title": (b"@b\n", "'b': the file ends within it"),
    "trunc_at_seq": (b"@b/1 x\n", "'b/1': the file ends within it"),
    "trunc_in_seq": (b"@b\nAC\n", "'b': the file ends within it"),
    "trunc_in_plus": (b"@b\nAC\n+b\n", "'b': the file ends within it"),
    "trunc_at_plus": (b"@b\nAC\n\n", "'b': the file ends within it"),
    "trunc_at_qual": (b"@b\nAC\n+\n", "'b': the file ends within it"),
    "blank lines as many as a record": (b"\n" * 4, "its first line does not start with '@'"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("before", [b"", b"@first\nACGTNACGT\n+\nIIIIIIIII\n"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_fault_names_file_and_record(fault: str, before: bytes, newline: bytes) -> None:
    text, message = FAULTS[fault]
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        parse((before + text).replace(b"\n", newline))
    number = 11 + bool(before) + (fault == "double_qual")
    assert str(caught.value).startswith(f"r.fq, record {number}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"@a\nACGT\n", "r.fq, record 11: its first line does not start with '>'"),
        (b">a\nAC\nAC\nAC\n", "r.fq, record 12: its first line does not start with '>'"),
        (b">@a\nAC\n", "r.fq, record 11 '@a': its name starts with '@', which SAM does not allow"),
        (b">a\nAC*\n", "r.fq, record 11 'a': invalid character '*' in its sequence"),
        (b">a\nAC-T\n", "r.fq, record 11 'a': invalid character '-' in its sequence"),
        (b">a\nAC\n>b\n", "r.fq, record 12 'b': the file ends within it"),
        (b"> a\nAC\n", "r.fq, record 11 'a': it has no name"),
    ],
)
def test_fault_in_fasta(text: bytes, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        parse(text, is_fasta=True)


def test_longest_read() -> None:
    bases = b"A" * SHORT_READS.max_bases
    ((_, found, _),) = parse(b">a\n" + bases + b"\n", is_fasta=True)
    assert found == bases
    with pytest.raises(InputError, match="'a': its sequence is longer than 1,000,000 bases"):
        parse(b"@a\n" + bases + b"C\n+\n" + bases + b"I\n")


def test_star_stands_for_no_name_as_in_sam() -> None:
    names = [name for name, _, _ in parse(b"@*\nA\n+\nI\n@*/1\nA\n+\nI\n@a@b*\nA\n+\nI\n")]
    assert names == [b"*", b"*", b"a@b*"]


def test_names_that_are_a_mate_number() -> None:
    names = [name for name, _, _ in parse(b">/1\nA\n>/\nA\n>a/3\nA\n>a/2/1\nA\n", is_fasta=True)]
    assert names == [b"/1", b"/", b"a/3", b"a/2"]


def test_name_of_254_characters_before_the_mate_number() -> None:
    name = b"n" * 254
    assert parse(b">" + name + b"/2\nA\n", is_fasta=True) == [(name, b"A", b"")]


def test_long_reads_keep_their_names_whole_and_may_be_of_rna() -> None:
    rows = parse(b"@@a/1 x\nACGU\n+\nIIII\n@b/2\nu-*.\n+\nIIII\n", LONG_READS)
    assert rows == [(b"@a/1", b"ACGU", b"IIII"), (b"b/2", b"u-*.", b"IIII")]
    with pytest.raises(InputError, match="invalid character 'U' in its sequence"):
        parse(b">a\nACGU\n", is_fasta=True)


def test_longest_name_of_long_reads() -> None:
    name = b"n" * 65_535
    ((found, _, _),) = parse(b">" + name + b"\nA\n", LONG_READS, is_fasta=True)
    assert found == name
    with pytest.raises(InputError, match="its name is longer than 65,535 characters"):
        parse(b">" + name + b"n\nA\n", LONG_READS, is_fasta=True)


def test_long_reads_may_be_longer() -> None:
    bases = b"ACGT" * 500_000
    ((_, found, _),) = parse(b">a\n" + bases + b"\n", LONG_READS, is_fasta=True)
    assert found == bases
