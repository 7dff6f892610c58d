"""Projection onto the reference, against GATK's cases, an oracle in Python, and invariants."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import cigar_strings, parse_cigar
from hapgpu.errors import InputError, UsageError
from hapgpu.haplotypes.pairing.extended_haplotypes import ExtendedHaplotypes
from hapgpu.io.bam.header import SamHeader
from hapgpu.realign.api import haplotype_cigars, realign_to_reference
from hapgpu.realign.projection.haplotype_cigars import end_to_end_cigars, pad_pairs
from hapgpu.realign.projection.placement import Placement, place_haplotypes
from hapgpu.realign.projection.project import PlacedHaplotypes, project_alignments
from hapgpu.realign.scoring import PRESETS, Overhang
from hapgpu.runtime.devices import CpuDevice
from tests.example_counts import many
from tests.realign import gatk_projection as gatk
from tests.realign.compiled_aligner import align
from tests.realign.made_moves import made_moves
from tests.realign.projection.gatk_cases import CALCULATE_CIGAR, LEFT_ALIGN, READ_ALIGNED_TO_REF
from tests.realign.single_pairs import haplotype_cigar, realigned


def test_all_cases_of_gatk_are_included() -> None:
    assert len(CALCULATE_CIGAR) == 114
    assert len(READ_ALIGNED_TO_REF) == 124


@pytest.mark.parametrize("overhang", ["softclip", "indel"])
@pytest.mark.parametrize(("reference", "haplotype", "expected"), CALCULATE_CIGAR)
def test_haplotype_cigar_as_gatk(
    reference: str, haplotype: str, expected: str, overhang: str
) -> None:
    assert haplotype_cigar(reference, haplotype, overhang=overhang) == expected


@pytest.mark.parametrize("case", READ_ALIGNED_TO_REF)
def test_realign_to_reference_as_gatk(
    case: tuple[str, str, str, str, int, int, int, str],
) -> None:
    *arguments, position, cigar = case
    assert realigned(*arguments) == (position, cigar)


def ragged_cigars(cigars: list[gatk.Cigar]) -> Ragged:
    elements = [parse_cigar(gatk.spell(cigar) or "*") for cigar in cigars]
    return Ragged.from_lengths(np.concatenate(elements), [cigar.size for cigar in elements])


def batch_of(alignments: list[tuple[int, gatk.Cigar]]) -> AlignmentBatch:
    offsets = np.array([offset for offset, _ in alignments], dtype=np.int32)
    cigars = ragged_cigars([cigar for _, cigar in alignments])
    return AlignmentBatch(np.zeros_like(offsets), offsets, cigars)


@st.composite
def any_cigar(draw: st.DrawFn, operations: str) -> gatk.Cigar:
    """Draw any CIGAR of the operations, sometimes with clips."""
    element = st.tuples(st.integers(1, 4), st.sampled_from(operations))
    before = [(2, "S")] * draw(st.booleans())
    after = [(1, "S")] * draw(st.booleans())
    return before + draw(st.lists(element, min_size=1, max_size=6)) + after


def text(least: int, most: int) -> st.SearchStrategy[str]:
    return st.text("AC", min_size=least, max_size=most)


@st.composite
def any_projection(draw: st.DrawFn) -> tuple[str, gatk.Cigar, int, gatk.Cigar, str]:
    """Draw a read, its CIGAR and offset on a haplotype, the haplotype's CIGAR, and a reference."""
    read_cigar = draw(any_cigar("MMMIID=X"))
    haplotype = draw(any_cigar("MMMIIDD=XN") if draw(st.booleans()) else any_cigar("MMMID"))
    if draw(st.booleans()):
        haplotype = [(length, op) for length, op in haplotype if op != "S"] or [(3, "M")]
    length = gatk.span(read_cigar, gatk.ON_READ)
    read = draw(text(length, length)) if length else "A"
    offset = draw(st.integers(0, gatk.span(haplotype, gatk.ON_READ) + 2))
    reference_length = gatk.span(haplotype, gatk.ON_REFERENCE) + draw(st.integers(-2, 8))
    reference = draw(text(max(1, reference_length), max(1, reference_length)))
    return read, read_cigar, offset, haplotype, reference


def as_gatk(case: tuple[str, gatk.Cigar, int, gatk.Cigar, str]) -> tuple[int, str]:
    try:
        start, cigar = gatk.project(*case)
    except gatk.GatkError:
        return -1, "*"
    return 1000 + start, gatk.spell([(3, "S"), *cigar])


def assert_as_gatk(cases: list[tuple[str, gatk.Cigar, int, gatk.Cigar, str]]) -> None:
    rows = np.arange(len(cases), dtype=np.int32)
    placed = PlacedHaplotypes(
        cigars=ragged_cigars([case[3] for case in cases]),
        starts=np.full(rows.size, 100),
        reference_index=rows,
        references=Ragged.from_sequences(case[4] for case in cases),
        reference_starts=np.full(rows.size, 900),
    )
    projected = project_alignments(
        Ragged.from_sequences(case[0] for case in cases),
        batch_of([(offset, cigar) for _, cigar, offset, _, _ in cases]),
        rows,
        placed,
        np.full_like(rows, 3),
        np.zeros_like(rows),
    )
    found = list(zip(projected.positions.tolist(), cigar_strings(projected.cigars), strict=True))
    assert found == [as_gatk(case) for case in cases]
    assert projected.ok.tolist() == [cigar != "*" for _, cigar in found]


@settings(max_examples=many(150))
@given(st.lists(any_projection(), min_size=1, max_size=8))
def test_projection_of_anything_as_gatk(
    cases: list[tuple[str, gatk.Cigar, int, gatk.Cigar, str]],
) -> None:
    assert_as_gatk(cases)


def test_every_match_within_small_haplotypes() -> None:
    """A read of one M at every offset, which keeps its CIGAR inside an M of the haplotype."""
    haplotypes = [
        [(2, op) for op in operations]
        for count in (1, 2, 3, 4)
        for operations in product("MIDS" if count < 4 else "MID", repeat=count)
    ]
    assert_as_gatk(
        [
            ("A" * length, [(length, "M")], offset, haplotype, "ACAAACAA")
            for haplotype in haplotypes
            for length in (1, 2, 3)
            for offset in range(gatk.span(haplotype, gatk.ON_READ) + 2)
        ]
    )


@st.composite
def edited(draw: st.DrawFn, bases: str, most: int) -> str:
    """Draw a sequence with a few substitutions, insertions and deletions."""
    for _ in range(draw(st.integers(0, most))):
        at = draw(st.integers(0, len(bases)))
        removed, put = draw(st.sampled_from([(1, 1), (0, 1), (0, 3), (1, 0), (4, 0)]))
        bases = (
            bases[:at] + draw(st.text("ACGT", min_size=put, max_size=put)) + bases[at + removed :]
        )
    return bases


@st.composite
def repetitive(draw: st.DrawFn) -> str:
    """Draw a sequence of repeats, where indels have many equivalent positions."""
    unit = st.text("ACGT", min_size=1, max_size=4)
    return "".join(
        draw(unit) * copies for copies in draw(st.lists(st.integers(1, 5), min_size=4, max_size=9))
    )


@settings(max_examples=many(150))
@given(st.data())
def test_haplotype_cigars_as_gatk(data: st.DataObject) -> None:
    references = [data.draw(repetitive()) for _ in range(3)]
    haplotypes = [data.draw(edited(reference, 4)) for reference in references]
    rows = np.arange(3, dtype=np.int32)
    pairs = PairBatch(
        Ragged.from_sequences(references), Ragged.from_sequences(haplotypes), rows, rows
    )
    padded = pad_pairs(pairs)
    scoring = PRESETS["haplotype-to-reference"]
    for strategy in Overhang:
        alignments = [
            align(reference.tobytes(), query.tobytes(), scoring, strategy)
            for reference, query in zip(padded.references, padded.queries, strict=True)
        ]
        cigars, ok = end_to_end_cigars(
            pairs, batch_of([(offset, cigar) for _, offset, cigar in alignments])
        )
        expected = [
            gatk.calculate_cigar(reference, haplotype, scoring, strategy)
            for reference, haplotype in zip(references, haplotypes, strict=True)
        ]
        assert cigar_strings(cigars) == [gatk.spell(cigar or []) or "*" for cigar in expected]
        assert ok.tolist() == [cigar is not None for cigar in expected]


@pytest.mark.parametrize(
    ("reference", "haplotype", "padded_cigar", "expected"),
    [
        ("ACGGG", "ACG", "13M2D10M", "2M2D1M"),  # deletion beside a pad, moved off the end
        ("ACGTT", "ACG", "13M2D10M", "3M2D"),
        ("GGACG", "ACG", "10M2D13M", "2D3M"),
        ("ACGTT", "ACGAA", "13M2I2D10M", "3M2I2D"),  # a deletion at the end is added back last
        ("GGG", "GGGGG", "13M2I10M", "2I3M"),
        ("ACGT", "ACG", "5S18M", None),
    ],
)
def test_indels_beside_the_pads(
    reference: str, haplotype: str, padded_cigar: str, expected: str | None
) -> None:
    row = np.zeros(1, dtype=np.int32)
    pairs = PairBatch(
        Ragged.from_sequences([reference]), Ragged.from_sequences([haplotype]), row, row
    )
    cigars, ok = end_to_end_cigars(pairs, batch_of([(0, gatk.parse(padded_cigar))]))
    assert cigar_strings(cigars) == [expected or "*"]
    assert ok[0] == (expected is not None)


def columns(cigar: gatk.Cigar, start: int) -> list[tuple[int, int]]:
    """Return the aligned pairs of a reference base and a read base."""
    pairs = []
    on_read = 0
    for length, op in cigar:
        if op == "M":
            pairs += [(start + k, on_read + k) for k in range(length)]
        start += length if op in gatk.ON_REFERENCE else 0
        on_read += length if op in gatk.ON_READ else 0
    return pairs


def mismatches(cigar: gatk.Cigar, start: int, reference: str, read: str) -> int:
    return sum(i >= len(reference) or reference[i] != read[j] for i, j in columns(cigar, start))


def assert_left_aligned(cigar: gatk.Cigar, start: int, reference: str, read: str) -> None:
    on_read = 0
    for k, (length, op) in enumerate(cigar):
        alone = 0 < k < len(cigar) - 1 and cigar[k - 1][1] == cigar[k + 1][1] == "M"
        if alone and op == "I":
            assert read[on_read + length - 1] != read[on_read - 1] or (
                reference[start - 1] != read[on_read - 1]
            )
        if alone and op == "D":
            assert reference[start + length - 1] != reference[start - 1] or (
                reference[start - 1] != read[on_read - 1]
            )
        start += length if op in gatk.ON_REFERENCE else 0
        on_read += length if op in gatk.ON_READ else 0


@settings(max_examples=60)
@given(st.data())
def test_reads_of_haplotypes(data: st.DataObject) -> None:
    reference = data.draw(repetitive())
    haplotype = data.draw(edited(reference, 3))
    assume(haplotype)
    cigar = haplotype_cigar(reference, haplotype)
    assume(cigar is not None)
    first = data.draw(st.integers(0, len(haplotype) - 1))
    last = data.draw(st.integers(first, len(haplotype)))
    read = data.draw(edited(haplotype[first : last + 1], 2))
    assume(read)
    found = realigned(read, haplotype, str(cigar), reference, 7, 50)
    assert found == gatk.create_read_aligned_to_ref(read, haplotype, str(cigar), reference, (7, 50))
    if found is None:
        return
    start, spelled = found[0] - 57, gatk.parse(found[1])
    assert gatk.span(spelled, gatk.ON_READ) == len(read)
    assert spelled[0][1] != "D"
    assert spelled[-1][1] != "D"
    assert_left_aligned(spelled, start, reference, read)


@settings(max_examples=60)
@given(st.data())
def test_left_alignment_spells_the_same_alignment(data: st.DataObject) -> None:
    """Left-alignment changes neither the mismatches nor the numbers of bases."""
    reference = data.draw(repetitive())
    haplotype = data.draw(edited(reference, 3))
    assume(haplotype and haplotype != reference)
    cigar = gatk.calculate_cigar(
        reference, haplotype, PRESETS["haplotype-to-reference"], Overhang.INDEL
    )
    assume(cigar is not None and cigar[0][1] == cigar[-1][1] == "M")
    row = np.zeros(1, dtype=np.int32)
    start = np.zeros(1, dtype=np.int64)
    placed = PlacedHaplotypes(
        ragged_cigars([cigar]), start, row, Ragged.from_sequences([reference]), start
    )
    read = [(len(haplotype), "M")]
    projected = project_alignments(
        Ragged.from_sequences([haplotype]), batch_of([(0, read)]), row, placed, row, row
    )
    moved = gatk.parse(cigar_strings(projected.cigars)[0])
    start_position = int(projected.positions[0])
    assert mismatches(moved, start_position, reference, haplotype) == mismatches(
        cigar, 0, reference, haplotype
    )
    assert gatk.span(moved, gatk.ON_READ) == len(haplotype)
    assert start_position + gatk.span(moved, gatk.ON_REFERENCE) <= len(reference)


@pytest.mark.parametrize("before", [0, 10])
@pytest.mark.parametrize(("reference", "read", "cigar", "expected"), LEFT_ALIGN)
def test_left_alignment_as_gatk(
    reference: str, read: str, cigar: str, expected: str, before: int
) -> None:
    """The haplotype equals the reference, so that only left-alignment has an effect."""
    row = np.zeros(1, dtype=np.int32)
    start = np.zeros(1, dtype=np.int64)
    whole = "GTTGACTCAG"[:before] + reference
    placed = PlacedHaplotypes(
        ragged_cigars([[(len(whole), "M")]]), start, row, Ragged.from_sequences([whole]), start
    )
    projected = project_alignments(
        Ragged.from_sequences([read]),
        batch_of([(before, gatk.parse(cigar))]),
        row,
        placed,
        row + 5,
        row + 2,
    )
    assert projected.positions[0] == before
    assert cigar_strings(projected.cigars) == [f"5S{expected}2S"]


def test_haplotype_without_alignment_from_end_to_end() -> None:
    assert haplotype_cigar("ACGTTGCA" * 30, "T" * 10) is None


def test_empty_haplotype_or_reference() -> None:
    assert haplotype_cigar("ACGT", "") == "4D"
    assert haplotype_cigar("", "ACGT") == "4I"
    with pytest.raises(InputError, match="pair 1: both empty"):
        haplotype_cigars(["A", ""], ["", ""], device="cpu")


@pytest.mark.parametrize("empty", range(3))
def test_realign_empty_sequence(empty: int) -> None:
    sequences = ["ACGT"] * 3
    sequences[empty] = ""
    read, haplotype, reference = sequences
    with pytest.raises(InputError, match=r"(read|haplotype) 0: no bases"):
        realigned(read, haplotype, "4M", reference, 0, 1)


def test_realign_with_cigar_of_another_haplotype() -> None:
    with pytest.raises(InputError, match="haplotype 1: 4 bases, but its CIGAR has 5; give the CIG"):
        realign_to_reference(
            ["ACGT"] * 2, ["ACGT"] * 2, ["4M", "5M"], ["ACGT"] * 2, [0, 0], [1, 1], device="cpu"
        )


def test_realign_with_a_malformed_cigar() -> None:
    with pytest.raises(InputError, match="haplotype 0: CIGAR '4Z': expected lengths"):
        realigned("ACGT", "ACGT", "4Z", "ACGT", 0, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"haplotype_cigars": ["4M"]}, "haplotype_cigars: 1 for 2 reads; give one per read"),
        ({"haplotype_cigars": "4M"}, "haplotype CIGARs: not a list; give a list"),
        ({"haplotype_cigars": ["4M", 4]}, "haplotype CIGAR 1: of type int; give str"),
        ({"reference_starts": [1, 2, 3]}, "reference_starts: 3 for 2 reads"),
        ({"haplotype_starts": [0.5, 1.0]}, "haplotype starts: of type float64; give whole"),
        ({"haplotypes": ["ACGT"]}, "haplotypes: 1 for 2 reads"),
        ({"reads": "ACGT"}, "reads: not a list"),
    ],
)
def test_arguments_that_do_not_fit(change: dict[str, Any], message: str) -> None:
    fitting: dict[str, Any] = {
        "reads": ["ACGT"] * 2,
        "haplotypes": ["ACGT"] * 2,
        "haplotype_cigars": ["4M"] * 2,
        "reference_haplotypes": ["ACGT"] * 2,
        "haplotype_starts": [0, 0],
        "reference_starts": [1, 1],
    }
    with pytest.raises(UsageError, match=message):
        realign_to_reference(**fitting | change, device="cpu")


def test_batches_equal_single_pairs() -> None:
    """Rows do not depend on each other, nor on the number of threads."""
    references, haplotypes, cigars = zip(*CALCULATE_CIGAR, strict=True)
    for threads in (1, 3):
        found = haplotype_cigars(references, haplotypes, device="cpu", threads=threads)
        assert found == list(cigars)
    *columns, positions, expected = zip(*READ_ALIGNED_TO_REF, strict=True)
    projected = realign_to_reference(*columns, device="cpu", threads=2)
    assert len(projected) == len(expected)
    assert projected.positions.dtype == np.int64
    assert projected.positions.tolist() == list(positions)
    assert projected.cigar_strings() == list(expected)


def test_no_rows() -> None:
    assert haplotype_cigars([], [], device="cpu") == []
    found = realign_to_reference([], [], [], [], [], [], device="cpu")
    assert len(found) == 0
    assert found.cigar_strings() == []


def test_sequences_that_are_not_ascii() -> None:
    with pytest.raises(InputError, match="haplotype 0: contains a non-ASCII character"):
        haplotype_cigar("ACGT", "ACGÜ")


def test_bytes_and_text_are_the_same() -> None:
    assert haplotype_cigar(b"ACGTACGT", b"ACGTTACGT") == haplotype_cigar("ACGTACGT", "ACGTTACGT")
    assert realigned(b"ACGT", b"ACGT", "4M", b"ACGT", 0, 1) == (1, "4M")


def test_no_projections() -> None:
    row = np.zeros(0, dtype=np.int32)
    nothing = Ragged.from_sequences([])
    start = np.zeros(0, dtype=np.int64)
    empty = ragged_cigars([[(1, "M")]])[0:0]
    placed = PlacedHaplotypes(empty, start, row, nothing, start)
    projected = project_alignments(nothing, AlignmentBatch(row, row, empty), row, placed, row, row)
    assert projected.ok.size == projected.positions.size == len(projected.cigars) == 0


@pytest.mark.parametrize(
    ("cigar", "longer", "expected"),
    [
        ("4M", (0, 0), "4M"),
        ("4M1I5M", (3, 2), "7M1I7M"),
        ("2D8M", (0, 0), "2D8M"),
        ("3D2I8M", (5, 0), "5M3D2I8M"),
        ("8M2D", (0, 0), "8M2D"),
        ("8M2I", (0, 4), "8M2I4M"),
    ],
)
def test_longer_haplotypes(cigar: str, longer: tuple[int, int], expected: str) -> None:
    """A match is added at each end; no element has a length of 0."""
    elements, row = parse_cigar(cigar), np.zeros(1, dtype=np.int32)
    flanks = np.array([[6], [7]])
    # Only its CIGARs and flanks matter here.
    placement = Placement(None, Path(), Ragged.from_lengths(elements, [len(elements)]), flanks)  # type: ignore[arg-type]
    none = Ragged.from_sequences([])
    added = np.array(longer).reshape(2, 1)
    extended = ExtendedHaplotypes(row, none, row, flanks + added, row, none, row, row)
    assert cigar_strings(placement.place(extended).cigars) == [expected]


@pytest.mark.parametrize(("length", "warnings"), [(2400, 0), (2399, 1)])
def test_lengths_of_contigs_are_compared(
    length: int, warnings: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = made_moves(1, 0, tmp_path)
    header = SamHeader.from_references(["a"], [length])
    place_haplotypes(made.haplotypes, made.reference, header, CpuDevice(1))
    assert caplog.text.count(f"a has 2400 bases, but {length} in the header") == warnings


def test_a_locus_on_an_unknown_contig(tmp_path: Path) -> None:
    made = made_moves(1, 0, tmp_path)
    header = SamHeader.from_references(["b"], [2400])
    with pytest.raises(InputError, match="locus a:41-260: unknown contig 'a'"):
        place_haplotypes(made.haplotypes, made.reference, header, CpuDevice(1))
