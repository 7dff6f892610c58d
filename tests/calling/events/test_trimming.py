"""Active regions trimmed to their variants, and haplotypes cut with them."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import ActiveRegions, TrimmedRegions
from hapgpu.calling.events.events import events_of
from hapgpu.calling.events.spans import ANY_UNIT, LONGEST_UNIT, variant_spans
from hapgpu.calling.events.trimming import cut_haplotypes, trimmed_to_variants
from hapgpu.cigar.encoding import cigar_strings, parse_cigar, query_lengths, reference_lengths
from tests.calling.events.event_oracle import (
    Region,
    expected_cut,
    expected_events,
    expected_span,
)
from tests.calling.events.made_haplotypes import (
    Haplotype,
    haplotypes_of,
    random_bases,
    random_haplotype,
    random_reference,
    reference_of,
    regions_of,
    rows_of,
)


def cut(haplotype: Haplotype, start: int, end: int) -> Haplotype | None:
    """Cut a haplotype to bases start to end, half-open, of its reference."""
    elements = parse_cigar(haplotype[1])
    made = cut_haplotypes(
        Ragged.from_lengths(elements, [elements.size]), np.array([start]), np.array([end])
    )
    first, last = int(made.base_starts[0]), int(made.base_ends[0])
    if first < 0:
        assert last < 0
        assert cigar_strings(made.cigars) == ["*"]
        return None
    return haplotype[0][first:last], cigar_strings(made.cigars)[0]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (1, 5, ("CGTACGT", "1M2I4M")),
        (2, 5, ("ACGT", "4M")),
        (0, 1, ("AC", "2M")),
        (0, 5, ("ACGTACGT", "2M2I4M")),
        (1, 2, ("CGTA", "1M2I1M")),
        (3, 3, ("C", "1M")),
    ],
)
def test_cuts_at_an_insertion(first: int, last: int, expected: Haplotype) -> None:
    assert cut(("ACGTACGT", "2M2I4M"), first, last + 1) == expected


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (11, 12, None),
        (10, 12, None),
        (11, 13, None),
        (10, 13, ("AC", "1M2D1M")),
        (13, 14, ("CT", "2M")),
        (10, 10, ("A", "1M")),
    ],
)
def test_cuts_at_a_deletion(first: int, last: int, expected: Haplotype | None) -> None:
    assert cut(("ACT", "1M2D2M"), first - 10, last + 1 - 10) == expected


def test_insertions_at_the_ends_of_a_haplotype_are_cut() -> None:
    assert cut(("GGACGTC", "2I4M1I"), 0, 4) == ("ACGT", "4M")


def trimmed_of(
    reference: str,
    region: Region,
    haplotypes: list[Haplotype],
    scores: list[float] | None = None,
    longest_unit: int = ANY_UNIT,
) -> TrimmedRegions:
    """Trim one active region; the reference starts at position 0."""
    own = reference[region[2] : region[3]]
    rows = haplotypes_of([haplotypes], [own], scores)
    return trimmed_to_variants(rows, regions_of(region), reference_of(reference), longest_unit)


def spans_of(regions: ActiveRegions) -> list[Region]:
    columns = (regions.starts, regions.ends, regions.padded_starts, regions.padded_ends)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def haplotype_list(trimmed: TrimmedRegions) -> list[Haplotype]:
    texts = [bytes(row).decode() for row in trimmed.haplotypes.bases]
    return list(zip(texts, cigar_strings(trimmed.haplotypes.cigars), strict=True))


REFERENCE = "ACGTTGCATCAGGTCATGCC" * 25
"""500 bases in which no unit of up to 19 bases repeats."""


def with_snp(reference: str, offset: int) -> Haplotype:
    base = "A" if reference[offset] != "A" else "C"
    return reference[:offset] + base + reference[offset + 1 :], f"{len(reference)}M"


def with_deletion(reference: str, offset: int, length: int) -> Haplotype:
    """Delete bases after `offset`."""
    after = offset + 1 + length
    cigar = f"{offset + 1}M{length}D{len(reference) - after}M"
    return reference[: offset + 1] + reference[after:], cigar


def test_padding_of_a_snp() -> None:
    own = REFERENCE[100:400]
    rows = [with_snp(own, 150), (own, "300M")]
    trimmed = trimmed_of(REFERENCE, (200, 300, 100, 400), rows)
    assert spans_of(trimmed.regions) == [(250, 251, 230, 271)]
    assert haplotype_list(trimmed) == sorted((bases[130:171], "41M") for bases, _ in rows)
    assert trimmed.kept.tolist() == [0]


def test_padding_of_a_deletion_and_hull() -> None:
    own = REFERENCE[100:400]
    rows = [with_snp(own, 110), with_deletion(own, 150, 3), (own, "300M")]
    trimmed = trimmed_of(REFERENCE, (200, 300, 100, 400), rows)
    assert spans_of(trimmed.regions) == [(210, 254, 175, 329)]
    assert [len(bases) for bases, _ in haplotype_list(trimmed)] == [151, 154, 154]
    assert trimmed.haplotypes.is_reference.sum() == 1


def test_padding_in_a_repeat_includes_the_longer_repeat() -> None:
    reference = "".join([REFERENCE[:250], "CA" * 9, REFERENCE[:250]])
    own = reference[:500]
    rows = [with_deletion(own, 249, 4), (own, "500M")]
    trimmed = trimmed_of(reference, (200, 300, 0, 500), rows)
    padding = 75 + 9 * 2
    assert spans_of(trimmed.regions) == [(249, 254, 249 - padding, 254 + padding)]


@pytest.mark.parametrize("unit", [50, 51, 120])
def test_padding_of_a_duplication_is_its_unit_after_it(unit: int) -> None:
    """GATK's is 75 bases and two units, on both sides."""
    reference = random_bases(np.random.default_rng(unit), 1000).replace("N", "A")
    own = reference[:900]
    duplicated = own[: 400 + unit] + own[400:]
    rows = [(duplicated, f"400M{unit}I500M"), (own, "900M")]
    region = (300, 600, 0, 900)
    gatk = (399, 400, 399 - 75 - 2 * unit, 400 + 75 + 2 * unit)
    assert spans_of(trimmed_of(reference, region, rows).regions) == [gatk]
    expected = (399, 400, 399 - 75, 400 + 75 + unit) if unit > LONGEST_UNIT else gatk
    trimmed = trimmed_of(reference, region, rows, longest_unit=LONGEST_UNIT)
    assert spans_of(trimmed.regions) == [expected]


@pytest.mark.parametrize("unit", [50, 51])
def test_padding_of_a_deleted_copy(unit: int) -> None:
    text = random_bases(np.random.default_rng(unit), 1000).replace("N", "A")
    reference = text[: 400 + unit] + text[400:]
    rows = [(text[:900], f"400M{unit}D500M"), (reference[: 900 + unit], f"{900 + unit}M")]
    trimmed = trimmed_of(reference, (300, 700, 0, 900 + unit), rows, longest_unit=LONGEST_UNIT)
    before, after = (75, 75 + unit) if unit > LONGEST_UNIT else (75 + 2 * unit, 75 + 2 * unit)
    assert spans_of(trimmed.regions) == [(399, 400 + unit, 399 - before, 400 + unit + after)]


def test_variant_span_is_cut_to_the_active_span() -> None:
    own = REFERENCE[100:400]
    rows = [with_deletion(own, 97, 10), with_snp(own, 205), with_snp(own, 20), (own, "300M")]
    trimmed = trimmed_of(REFERENCE, (200, 305, 100, 400), rows)
    assert spans_of(trimmed.regions) == [(200, 208, 122, 283)]
    assert trimmed_of(REFERENCE, (200, 305, 100, 400), rows[2:]).kept.size == 0


def test_padded_span_is_cut() -> None:
    own = REFERENCE[:60]
    trimmed = trimmed_of(REFERENCE, (0, 50, 0, 60), [with_deletion(own, 20, 2), (own, "60M")])
    assert spans_of(trimmed.regions) == [(20, 23, 0, 60)]


def test_equal_haplotypes_keep_the_first_or_the_reference() -> None:
    own = REFERENCE[100:400]
    far = with_snp(own, 10)
    near = with_snp(own, 150)
    both = (near[0][:10] + far[0][10] + near[0][11:], "300M")
    rows = [far, both, near, (own, "300M")]
    trimmed = trimmed_of(REFERENCE, (200, 300, 100, 400), rows, [-1.0, -2.0, -3.0, np.nan])
    expected = sorted([(near[0][130:171], -2.0, False), (own[130:171], np.nan, True)])
    assert [bases for bases, _ in haplotype_list(trimmed)] == [row[0] for row in expected]
    np.testing.assert_array_equal(trimmed.haplotypes.scores, [row[1] for row in expected])
    assert trimmed.haplotypes.is_reference.tolist() == [row[2] for row in expected]


def test_only_the_reference_is_left() -> None:
    """A haplotype whose deletion reaches over an end of the padded span is excluded."""
    own = REFERENCE[100:400]
    snp = with_snp(own, 150)  # its padding ends at 271
    for length, kept in ((4, 1), (5, 0), (20, 0)):
        deleted, cigar = with_deletion(own, 165, length)
        both = (snp[0][:166] + deleted[166:], cigar)
        trimmed = trimmed_of(REFERENCE, (200, 260, 100, 400), [both, (own, "300M")])
        assert trimmed.kept.size == kept


def test_an_active_region_without_events_has_no_span() -> None:
    """An event that ends where the active span starts does not overlap it."""
    own = REFERENCE[100:400]
    haplotypes = haplotypes_of([[with_snp(own, 99), (own, "300M")], [with_snp(own, 100)]])
    regions = regions_of((200, 300, 100, 400), (200, 300, 100, 400))
    reference = reference_of(REFERENCE)
    events = events_of(haplotypes, np.array([100, 100, 100]), reference)
    spans = variant_spans(events, haplotypes.offsets, regions, reference)
    assert spans_of(spans) == [(0, 0, 0, 0), (200, 201, 180, 221)]


def test_several_active_regions() -> None:
    first, second = REFERENCE[:200], REFERENCE[150:350]
    rows = [
        [(first, "200M")],
        [with_snp(second, 100), (second, "200M")],
    ]
    regions = regions_of((50, 150, 0, 200), (200, 300, 150, 350))
    haplotypes = haplotypes_of(rows, [first, second])
    trimmed = trimmed_to_variants(haplotypes, regions, reference_of(REFERENCE))
    assert trimmed.kept.tolist() == [1]
    assert spans_of(trimmed.regions) == [(250, 251, 230, 271)]
    assert trimmed.haplotypes.offsets.tolist() == [0, 2]


def test_no_active_regions() -> None:
    trimmed = trimmed_to_variants(haplotypes_of([]), regions_of(), reference_of(REFERENCE))
    assert trimmed.kept.size == len(trimmed.regions) == len(trimmed.haplotypes) == 0


def random_regions(seed: int) -> tuple[str, list[Region], list[list[Haplotype]]]:
    """Return a reference, active regions, and their haplotypes; the last is the reference."""
    source = np.random.default_rng(seed)
    reference = random_reference(source, 700)
    regions, rows = [], []
    for _ in range(12):
        padded_start, length = int(source.integers(0, 400)), int(source.integers(60, 300))
        start, end = padded_start + 20, padded_start + length - 20
        own = reference[padded_start : padded_start + length]
        edits = float(source.choice([0.5, 2, 8]))
        made = [random_haplotype(source, own, edits) for _ in range(source.integers(0, 9))]
        regions.append((start, end, padded_start, padded_start + length))
        rows.append([*dict(row for row in made if row[0] != own).items(), (own, f"{length}M")])
    return reference, regions, rows


@pytest.mark.parametrize("longest_unit", [1, 3, ANY_UNIT])
@pytest.mark.parametrize(
    "seed",
    [*range(6), *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(6, 20))],
)
def test_random_regions_by_the_rules(seed: int, longest_unit: int) -> None:
    reference, regions, rows = random_regions(seed)
    references = [reference[region[2] : region[3]] for region in regions]
    own = reference_of(reference)
    trimmed = trimmed_to_variants(
        haplotypes_of(rows, references), regions_of(*regions), own, longest_unit
    )
    kept, spans, haplotypes, events = [], [], [], []
    for k, (region, region_rows) in enumerate(zip(regions, rows, strict=True)):
        found = [
            event for row in region_rows for event in expected_events(row, region[2], reference)
        ]
        span = expected_span(found, region, reference, longest_unit)
        if span is None:
            continue
        left: dict[str, str] = {}
        for row in region_rows:
            new = expected_cut(row, region[2], span[2], span[3])
            if new and (row is region_rows[-1] or new[0] not in left):
                left[new[0]] = new[1]
        if len(left) > 1:
            kept.append(k)
            spans.append(span)
            own_rows = sorted(left.items(), key=lambda row: (len(row[0]), row[0]))
            haplotypes += own_rows
            events += [expected_events(row, span[2], reference) for row in own_rows]
    assert trimmed.kept.tolist() == kept
    assert spans_of(trimmed.regions) == spans
    assert haplotype_list(trimmed) == haplotypes
    assert rows_of(trimmed.events, own) == events


@pytest.mark.parametrize("seed", range(5))
def test_cigars_consume_bases_and_spans(seed: int) -> None:
    reference, regions, rows = random_regions(seed + 100)
    references = [reference[region[2] : region[3]] for region in regions]
    trimmed = trimmed_to_variants(
        haplotypes_of(rows, references), regions_of(*regions), reference_of(reference)
    )
    haplotypes = trimmed.haplotypes
    spans = trimmed.regions.padded_ends - trimmed.regions.padded_starts
    np.testing.assert_array_equal(query_lengths(haplotypes.cigars), haplotypes.bases.lengths)
    np.testing.assert_array_equal(reference_lengths(haplotypes.cigars), spans[haplotypes.regions])
    assert (np.add.reduceat(haplotypes.is_reference, haplotypes.offsets[:-1]) == 1).all()
