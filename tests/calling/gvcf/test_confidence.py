"""Confidence of reference positions: GATK's cases, and random reads against the reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.memory import memory_of
from hapgpu.calling.batches import ActiveRegions, RegionReads
from hapgpu.calling.output.copy_likelihoods import DIFFERENT, element_table
from hapgpu.calling.output.informative import GAP, Row, find_informative
from hapgpu.calling.output.reference_confidence import Confidence, reference_confidence
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.runtime.jit import njit
from tests.calling.gvcf.made_reads import Alignment, region_reads
from tests.calling.gvcf.reference import base_likelihoods, confidence, informative_bases

MAX_INDEL = 10  # GATK's --indel-size-to-eliminate-in-ref-model


def text(letters: str) -> NDArray[np.uint8]:
    return np.frombuffer(letters.encode(), dtype=np.uint8)


@njit
def find_in_arrays(
    bases: NDArray[np.uint8],
    qualities: NDArray[np.uint8],
    window: NDArray[np.uint8],
    max_size: int,
    limits: tuple[int, int],
    sums: NDArray[np.int64],
    out: NDArray[np.bool_],
) -> None:
    """Find the informative positions of a row within limits."""
    size, gaps = bases.size, (bases == GAP).sum()
    row = Row(memory_of(bases), memory_of(qualities), size, size - gaps, memory_of(window))
    find_informative(row, *limits, max_size, memory_of(sums), memory_of(out))


def found_informative(
    read: str, qualities: Sequence[int], reference: str, max_size: int, first: int = 0
) -> list[bool]:
    out = np.empty(len(read), dtype=np.bool_)
    columns = text(read), np.array(qualities, dtype=np.uint8)
    sums = np.empty(len(read), dtype=np.int64)
    find_in_arrays(*columns, text(reference), max_size, (first, len(read)), sums, out)
    return [bool(value) for value in out[first : len(reference)]]


@pytest.mark.parametrize(
    ("reference", "read", "max_size", "expected"),
    [
        ("TTAAAATT", "TTAAAAT", 1, "1111110"),
        ("TTAAAATT", "TTAA", 1, "1100"),
        ("ACGT", "ACGT", 1, "1110"),
        ("ACGT", "ACGT", 2, "1100"),
        # By the same rules.
        ("ACC", "ACA", 1, "000"),  # without the first base of the reference as many mismatches
        ("ACGT", "ACGTA", 1, "1110"),  # no base of the reference is left after the last
    ],
)
def test_cases_of_gatk(reference: str, read: str, max_size: int, expected: str) -> None:
    qualities = [30] * len(read)
    wanted = [letter == "1" for letter in expected]
    assert found_informative(read, qualities, reference, max_size) == wanted
    assert informative_bases(read, qualities, reference, max_size) == wanted


@pytest.mark.parametrize(("max_size", "expected"), [(2, [True, False, False]), (3, [False] * 3)])
def test_bases_that_are_left_count(max_size: int, expected: list[bool]) -> None:
    """From the first base on, the read has to have `max_size` bases; deleted ones are none."""
    assert found_informative("A-C", [30] * 3, "AGCTTACT", max_size) == expected


@given(
    st.text("ACN", min_size=1, max_size=12),
    st.text("ACN", min_size=1, max_size=12),
    st.lists(st.integers(1, 3), min_size=12, max_size=12),
    st.integers(1, 3),
)
def test_informative_bases(read: str, reference: str, qualities: list[int], max_size: int) -> None:
    expected = informative_bases(read, qualities, reference, max_size)
    assert found_informative(read, qualities, reference, max_size) == expected


@given(
    st.text("AC", min_size=12, max_size=40),
    st.integers(1, 10),
    st.dictionaries(st.integers(0, 39), st.sampled_from("ACN"), max_size=2),
    st.lists(st.sampled_from([0, 2, 30]), min_size=40, max_size=40),
    st.integers(1, 40),
    st.integers(0, 20),
)
def test_reads_that_almost_equal_the_reference(
    reference: str,
    unit: int,
    changes: dict[int, str],
    qualities: list[int],
    length: int,
    first: int,
) -> None:
    """Repeats, with no or few mismatches; from any first position the answers are the same."""
    reference = (reference[:unit] * 40)[:30] + reference
    read = "".join(changes.get(k, base) for k, base in enumerate(reference[:length]))
    scores = [qualities[k] for k in range(len(read))]
    expected = informative_bases(read, scores, reference, MAX_INDEL)
    assert found_informative(read, scores, reference, MAX_INDEL) == expected
    first = min(first, len(read) - 1)
    assert found_informative(read, scores, reference, MAX_INDEL, first) == expected[first:]


@st.composite
def alignments(draw: st.DrawFn, size: int) -> Alignment:
    """Draw a read aligned within a reference."""
    operations: list[tuple[str, int]] = [("M", draw(st.integers(1, 15)))]
    for _ in range(draw(st.integers(0, 2))):
        operations.append((draw(st.sampled_from("ID")), draw(st.integers(1, 3))))
        operations.append(("M", draw(st.integers(1, 15))))
    span = sum(length for operation, length in operations if operation != "I")
    bases = sum(length for operation, length in operations if operation != "D")
    return Alignment(
        draw(st.integers(0, max(size - span, 0))),
        operations,
        draw(st.text("AC", min_size=bases, max_size=bases)),
        draw(st.lists(st.sampled_from([2, 6, 7, 20, 30]), min_size=bases, max_size=bases)),
    )


def expected_confidence(
    reads: list[Alignment], reference: str, start: int, end: int, ploidy: int
) -> list[tuple[int, ...]]:
    """Return DP, its part that differs from REF, and PL of copies of ALT, by the plain rules.

    The positions are from start to end of a reference.
    """
    elements: list[list[tuple[bool, int]]] = [[] for _ in reference]
    counts = [0] * len(reference)
    for read in reads:
        columns = read.columns()
        row = "".join(base for base, _, _ in columns)
        scores = [quality for _, quality, _ in columns]
        usable = _informative_columns(row, scores, len(read.bases), reference[read.start :])
        for k, (base, quality, is_before_indel) in enumerate(columns):
            position = read.start + k
            if base == "-":
                elements[position].append((False, 30))
            elif quality > 6:
                elements[position].append((base == reference[position], quality))
            if base != "-" and not is_before_indel:
                counts[position] += usable[k]
    found = []
    for position in range(start, end):
        _, *phreds = confidence(elements[position], counts[position], ploidy)
        different = sum(not is_same for is_same, _ in elements[position])
        found.append((len(elements[position]), different, *phreds))
    return found


def _informative_columns(
    row: str, scores: list[int], read_bases: int, reference: str
) -> list[bool]:
    """Return which columns of a read are informative; a deleted base equals any base."""
    found = []
    for at in range(len(row)):
        if min(read_bases, len(row), len(reference)) - at < MAX_INDEL:
            found.append(False)
            continue

        def cost(inserted: int, deleted: int, at: int = at) -> int:
            pairs = zip(
                row[at + inserted :],
                scores[at + inserted :],
                reference[at + deleted :],
                strict=False,
            )
            return sum(score for base, score, other in pairs if base not in ("-", other))

        shifted = [
            cost(*shift) for size in range(1, MAX_INDEL + 1) for shift in ((size, 0), (0, size))
        ]
        found.append(cost(0, 0) < min(shifted))
    return found


def computed(
    reads: list[Alignment], reference: str, start: int, end: int, ploidy: int = 2
) -> Confidence:
    return computed_of(*region_reads(reads), reference, (start, end), ploidy)


def computed_of(
    reads: RegionReads, records: ReadBatch, reference: str, span: tuple[int, int], ploidy: int = 2
) -> Confidence:
    spans = ActiveRegions(*(np.array([value]) for value in (*span, 0, len(reference))))
    is_used = np.ones(len(reads), dtype=np.bool_)
    whole = ReferenceSlice(0, text(reference))
    return reference_confidence(reads, records, spans, whole, is_used, ploidy)


@given(st.data(), st.text("AC", min_size=40, max_size=60), st.sampled_from([2, 1, 3, 4, 10]))
def test_random_reads(data: st.DataObject, reference: str, ploidy: int) -> None:
    reads = data.draw(st.lists(alignments(40), max_size=6))
    reads = [read for read in reads if read.start + len(read.columns()) <= len(reference)]
    start = data.draw(st.integers(0, 20))
    found = computed(reads, reference, start, 35, ploidy)
    table = np.column_stack([found.depths, found.alternate_depths, found.phreds]).tolist()
    expected = expected_confidence(reads, reference, start, 35, ploidy)
    assert [tuple(row) for row in table] == expected


@pytest.mark.parametrize(
    ("reference", "alternate", "expected"),
    [
        (10, 0, [(0, 348), (0, 30, 348), (0, 18, 48, 348), (0, 12, 30, 60, 348)]),
        (9, 1, [(0, 278), (5, 0, 283)]),
        (5, 5, [(0, 0), (144, 0, 144), (141, 0, 0, 141)]),
    ],
)
def test_cases_of_ploidies(reference: int, alternate: int, expected: list[tuple[int, ...]]) -> None:
    """PL of bases of quality 30 alone, of ploidy 1, 2, ..., before REF limits the others."""
    for ploidy, phreds in enumerate(expected, 1):
        table = element_table(ploidy)
        sums = reference * table[30] + alternate * table[DIFFERENT + 30]
        elements = [(True, 30)] * reference + [(False, 30)] * alternate
        for values in (sums[:-1], np.array(base_likelihoods(elements, ploidy))):
            scaled = -10 * (values - values.max())
            assert tuple(np.floor(scaled + 0.5).astype(int).tolist()) == phreds


@pytest.mark.parametrize("ploidy", [1, 2, 3, 4])
@pytest.mark.parametrize("alternate", [0, 1, 5, 10])
def test_alternate_reads_limit_the_confidence(ploidy: int, alternate: int) -> None:
    """No likelihood is above REF's; the depths of both kinds of bases are told apart."""
    reference = "ACGTTGCAAGCTTAGGCATCAGGATTACCA" * 2
    other = reference[:20] + "T" + reference[21:]
    assert other != reference
    reads = [
        Alignment(0, [("M", 60)], other if k < alternate else reference, [30] * 60)
        for k in range(10)
    ]
    found = computed(reads, reference, 20, 21, ploidy)
    elements = [(k >= alternate, 30) for k in range(10)]
    _, *phreds = confidence(elements, 10, ploidy)
    assert found.phreds.tolist() == [phreds]
    assert (found.depths.tolist(), found.alternate_depths.tolist()) == ([10], [alternate])


def test_depths_are_exact_at_any_depth() -> None:
    read = Alignment(0, [("M", 1)], "A", [30])
    found = computed([read] * 70_000, "C", 0, 1)
    assert (found.depths.tolist(), found.alternate_depths.tolist()) == ([70_000], [70_000])


def test_many_reads_without_indels_count_as_forty() -> None:
    reference = "ACGTTGCAAGCTTAGGCATCAGGATTACCA" * 2
    read = Alignment(0, [("M", len(reference))], reference, [40] * len(reference))
    found = computed([read] * 60, reference, 0, 2)
    _, one, other = confidence([(True, 40)] * 60, 60)
    assert found.depths.tolist() == [60, 60]
    assert found.phreds.tolist() == [[120, 1800]] * 2 == [[one, other]] * 2


@pytest.mark.parametrize(("unit", "is_informative"), [(9, False), (10, False), (11, True)])
def test_indels_of_ten_bases_are_considered(unit: int, *, is_informative: bool) -> None:
    """A shift by one unit of a repeat explains a read as well as no shift."""
    reference = "ACGTTGCAAGC"[:unit] * 5
    read = Alignment(0, [("M", len(reference))], reference, [40] * len(reference))
    found = computed([read] * 20, reference, 0, 1)
    assert (found.phreds[0, 0] > 0) == is_informative


@pytest.mark.parametrize(("left", "is_informative"), [(9, False), (10, False), (11, True)])
def test_the_last_ten_bases_are_not_informative(left: int, *, is_informative: bool) -> None:
    reference = "ACGTTGCAAGCTTAGGCATG" + "C" + "T" * (left - 2) + "A"
    read = Alignment(0, [("M", len(reference))], reference, [40] * len(reference))
    found = computed([read] * 20, reference, 20, 21)
    assert (found.phreds[0, 0] > 0) == is_informative


def test_the_base_before_an_indel_is_not_informative() -> None:
    reference = "ACGTTGCAAGCTTAGGCATCAGGATTACCA" * 2
    qualities = [40] * 60
    deletion = Alignment(
        0, [("M", 30), ("D", 2), ("M", 28)], reference[:30] + reference[32:], qualities[:58]
    )
    insertion = Alignment(
        0, [("M", 30), ("I", 2), ("M", 28)], reference[:30] + "TT" + reference[30:58], qualities
    )
    for read in (deletion, insertion):
        found = computed([read] * 20, reference, 28, 30)
        assert found.phreds[:, 0].tolist() == [60, 0]


@pytest.mark.parametrize(("length", "depth"), [(99, 99), (100, 100), (101, 120)])
def test_bases_after_fragments_of_at_most_100_bases(length: int, depth: int) -> None:
    """GATK's ReadUtils.isBaseInsideAdaptor."""
    reads, records = region_reads([Alignment(0, [("M", 120)], "A" * 120, [30] * 120)])
    records.flags[:] = 1 | 32
    records.mate_positions[:], records.mate_reference_ids[:] = 0, 0
    records.template_lengths[:] = length
    found = computed_of(reads, records, "A" * 150, (0, 150))
    assert found.depths.tolist() == [1] * depth + [0] * (150 - depth)


@pytest.mark.parametrize(
    ("flags", "mate", "length", "depth"),
    [
        # The read is at 10 to 30. On the forward strand: it may start right after the fragment.
        (1 | 32, 5, 5, 5),
        (1 | 32, 5, 4, 20),
        (1 | 32, 5, -4, 20),
        # On the reverse strand: its last base has to be after the first of the mate.
        (1 | 16, 28, -15, 2),
        (1 | 16, 29, -15, 20),
        (1 | 16, 30, -15, 20),
    ],
)
def test_fragments_are_well_defined(flags: int, mate: int, length: int, depth: int) -> None:
    """GATK's ReadUtils.hasWellDefinedFragmentSize; else no base is in an adaptor."""
    reads, records = region_reads([Alignment(10, [("M", 20)], "A" * 20, [30] * 20)])
    records.flags[:] = flags
    records.mate_positions[:], records.mate_reference_ids[:] = mate, 0
    records.template_lengths[:] = length
    found = computed_of(reads, records, "A" * 40, (0, 40))
    assert int(found.depths.sum()) == depth


def test_bases_in_adaptors_are_not_elements() -> None:
    reads, records = region_reads([Alignment(5, [("M", 20)], "A" * 20, [30] * 20)])
    records.flags[:] = 1 | 16
    records.mate_positions[:], records.mate_reference_ids[:] = 10, 0
    records.template_lengths[:] = -15
    found = computed_of(reads, records, "A" * 30, (0, 30))
    assert found.depths.tolist() == [0] * 10 + [1] * 15 + [0] * 5
