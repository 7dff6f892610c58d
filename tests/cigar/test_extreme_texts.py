"""Texts of CIGARs and differences, and columns of numbers, of extreme sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar import mismatches
from hapgpu.cigar.encoding import cigar_text, parse_cigar
from hapgpu.cigar.mismatches import mismatch_tags
from hapgpu.io.bam.constants import MAX_OPERATION_BASES
from hapgpu.io.text.builder import TextBuilder
from hapgpu.io.text.columns import number_text
from tests.cigar.made_alignments import BASES, MadeAlignments, made_alignments
from tests.example_counts import many

OPERATIONS = 70_000


def texts_of(rows: Ragged) -> list[str]:
    return [row.tobytes().decode() for row in rows]


def test_numbers() -> None:
    numbers = [2**63 - 1, -(2**63), 0, 7, -10, *[2**63 - 1] * 5000]
    assert texts_of(number_text(np.array(numbers))) == list(map(str, numbers))


def test_long_cigars() -> None:
    letters = "MIDNSHP=X"
    elements = [MAX_OPERATION_BASES << 4 | k % 9 for k in range(OPERATIONS)]
    data = np.array([*elements, 16 | 15], dtype=np.uint32)
    cigars = Ragged.from_lengths(data, [0, OPERATIONS, 0, 1])
    long = "".join(f"{MAX_OPERATION_BASES}{letters[k % 9]}" for k in range(OPERATIONS))
    assert texts_of(cigar_text(cigars)) == ["*", long, "*", "1?"]


def same(base: str, other: str) -> bool:
    """Tell whether `samtools calmd` treats two bases as equal."""
    codes = {letter: code for code, letter in enumerate("=ACMGRSVTWYHKDBN")}
    codes |= {letter.lower(): code for letter, code in codes.items()} | {"U": 8, "u": 8}
    one, two = codes.get(base, 15), codes.get(other, 15)
    return one == 0 or (one == two and one != 15)


def plain_tags(read: str, cigar: list[tuple[int, str]], at: int, reference: str) -> tuple[int, str]:
    """Return NM and MD, letter by letter."""
    distance, matched, on_read, tag = 0, 0, 0, ""
    for length, operation in cigar:
        if operation == "I":
            distance += length
        if operation == "D":
            deleted = reference[at : at + length]
            tag += f"{matched}^{deleted.upper()}"
            distance, matched = distance + len(deleted), 0
            if len(deleted) < length:
                break
        if operation in "M=X":
            bases, others = read[on_read : on_read + length], reference[at : at + length]
            pairs = list(zip(bases, others, strict=False))
            for base, other in pairs:
                if same(base, other):
                    matched += 1
                else:
                    tag += f"{matched}{other.upper()}"
                    distance, matched = distance + 1, 0
            if len(pairs) < length:
                break
        on_read += length if operation in "MIS=X" else 0
        at += length if operation in "MDN=X" else 0
    return distance, f"{tag}{matched}"


def check(made: MadeAlignments) -> None:
    distances, tags = mismatch_tags(*made)
    references = texts_of(made.references)
    for row, read in enumerate(texts_of(made.bases)):
        at, reference = int(made.positions[row]), int(made.reference_index[row])
        cigar = [(int(e) >> 4, "MIDNSHP=X"[int(e) & 15]) for e in made.cigars[row]]
        expected = (0, "")
        if read and at >= 0 and reference >= 0:
            expected = plain_tags(read, cigar, at, references[reference])
        assert (distances[row], tags[row].tobytes().decode()) == expected


@settings(max_examples=many(60))
@given(st.integers(0, 2**32), st.sampled_from([3, 33, 120]))
def test_differences(seed: int, unit: int) -> None:
    check(made_alignments(seed, 30, unit=unit, letters=BASES))


@pytest.mark.parametrize("letters", ["AC", "AA", "NN"])
def test_long_differences(letters: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mismatches, "_TEXTS", TextBuilder(1))
    read, other = letters
    cigars = [parse_cigar("1M1D" * OPERATIONS), parse_cigar("50000D100M"), parse_cigar("300000M")]
    reads = [read * OPERATIONS, read * 100, read * 300_000]
    check(
        MadeAlignments(
            Ragged.from_sequences(reads),
            Ragged.from_lengths(np.concatenate(cigars), [cigar.size for cigar in cigars]),
            np.array([0, 0, 100_000], dtype=np.int32),
            Ragged.from_sequences([other * 350_000]),
            np.zeros(3, dtype=np.int32),
        )
    )
