"""Haplotypes that are made of given alleles, against a plain implementation on strings."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import ForcedEvents, GivenAlleles, TrimmedRegions
from hapgpu.calling.events.alleles import call_sites
from hapgpu.calling.events.forced_events import RegionAlleles
from hapgpu.calling.events.trimming import trimmed_to_variants
from hapgpu.cigar.encoding import cigar_strings
from tests.calling.events.event_oracle import (
    Region,
    columns_of,
    expected_cut,
    expected_events,
    expected_span,
)
from tests.calling.events.made_haplotypes import (
    Event,
    Haplotype,
    alleles_of,
    haplotypes_of,
    random_haplotype,
    random_reference,
    reference_of,
    regions_of,
)

REFERENCE = "ACGTTGCATCAGGTCATGCC" * 25
REGION = (200, 300, 100, 400)


def given_of(events: Sequence[Event]) -> GivenAlleles:
    rows = sorted(events)
    starts = np.array([row[0] for row in rows], dtype=np.int64)
    lengths = np.array([len(row[1]) for row in rows], dtype=np.int64)
    return GivenAlleles(starts, starts + lengths, Ragged.from_sequences([row[2] for row in rows]))


def trimmed_with(
    given: Sequence[Event],
    rows: Sequence[Haplotype],
    scores: Sequence[float],
    *,
    region: Region = REGION,
    reference: str = REFERENCE,
    distance: int = 0,
    has_reads: bool = True,
) -> TrimmedRegions:
    """Trim a region whose last haplotype is the reference; the contig starts at position 0."""
    own = reference[region[2] : region[3]]
    regions = regions_of(region)
    return trimmed_to_variants(
        haplotypes_of([rows], [own], scores),
        regions,
        reference_of(reference),
        own=RegionAlleles.of(given_of(given), regions, np.array([has_reads])),
        max_mnp_distance=distance,
    )


def haplotypes_in(trimmed: TrimmedRegions) -> list[Haplotype]:
    texts = [bytes(row).decode() for row in trimmed.haplotypes.bases]
    return list(zip(texts, cigar_strings(trimmed.haplotypes.cigars), strict=True))


def forced_in(trimmed: TrimmedRegions, reference: str) -> list[tuple[Event, int, bool]]:
    forced = trimmed.forced
    assert isinstance(forced, ForcedEvents)
    return [
        (
            (int(start), reference[start:end], bytes(forced.alternates[k]).decode()),
            int(forced.rows[k]),
            bool(forced.is_given[k]),
        )
        for k, (start, end) in enumerate(zip(forced.starts, forced.ends, strict=True))
    ]


def inserted(haplotype: Haplotype, start: int, event: Event, events: list[Event]) -> str | None:
    """Put an event into a haplotype that has no other event there."""
    first, last = event[0], event[0] + len(event[1])
    if any(other[0] < last and other[0] + len(other[1]) > first for other in events):
        return None
    bases, offset = haplotype[0], 0
    for operation, position, base in columns_of(haplotype, start):
        if operation not in {"I", "D"} and position == first:
            end = offset + len(event[1])
            return bases[:offset] + event[2] + bases[end:] if end <= len(bases) else None
        offset += base != "-"
    return None


def expected_bases(
    given: Sequence[Event],
    rows: Sequence[Haplotype],
    scores: Sequence[float],
    region: Region,
    reference: str,
) -> tuple[list[str], Region] | None:
    """Return the haplotypes in order, and the spans before they are widened."""
    own = [event for event in sorted(given) if region[0] <= event[0] < region[3]]
    found = [event for row in rows for event in expected_events(row, region[2], reference)]
    span = expected_span(found + own, region, reference)
    if span is None:
        return None
    cut: dict[str, tuple[Haplotype, float]] = {}
    for k, (row, score) in enumerate(zip(rows, scores, strict=True)):
        part = expected_cut(row, region[2], *span[2:])
        if part and (part[0] not in cut or k == len(rows) - 1):
            cut[part[0]] = part, math.inf if k == len(rows) - 1 else score
    left = sorted(cut.values(), key=lambda item: (len(item[0][0]), item[0][0]))
    events = {part[0]: expected_events(part, span[2], reference) for part, _ in left}
    assembled = {event for some in events.values() for event in some}
    best = sorted(left, key=lambda item: -item[1])[:5]  # ties: their order
    bases = [part[0] for part, _ in left]
    for event in own:
        if event not in assembled:
            for part, _ in best:
                made = inserted(part, span[2], event, events[part[0]])
                if made is not None and made not in bases:
                    bases.append(made)
    return (bases, span) if len(bases) > 1 else None


def check(
    given: Sequence[Event],
    rows: Sequence[Haplotype],
    scores: Sequence[float],
    region: Region = REGION,
    reference: str = REFERENCE,
) -> TrimmedRegions:
    trimmed = trimmed_with(given, rows, scores, region=region, reference=reference)
    expected = expected_bases(given, rows, scores, region, reference)
    assert trimmed.kept.tolist() == ([] if expected is None else [0])
    if expected is None:
        return trimmed
    bases, span = expected
    found = haplotypes_in(trimmed)
    assert [row[0] for row in found] == bases
    assert trimmed.haplotypes.is_reference.sum() == 1
    (reference_row,) = np.flatnonzero(trimmed.haplotypes.is_reference)
    assert bases[reference_row] == reference[span[2] : span[3]]
    for row in found:
        length = sum(operation != "I" for operation, _, _ in columns_of(row, 0))
        assert length == span[3] - span[2]
    check_forced(trimmed, sorted(given), region, reference, span)
    return trimmed


def check_forced(
    trimmed: TrimmedRegions, given: list[Event], region: Region, reference: str, span: Region
) -> None:
    """Check the forced events: the given ones, and those of the reference with one instead."""
    own, start = reference[span[2] : span[3]], span[2]
    found = dict(haplotypes_in(trimmed))
    rows = {(event, k, True) for k, event in enumerate(given) if region[0] <= event[0] < region[3]}
    others: set[tuple[Event, int, bool]] = set()
    for event, k, _ in rows:
        made = inserted((own, f"{len(own)}M"), start, event, [])
        if made is not None:
            events = expected_events((made, found.get(made, "")), start, reference)
            others |= {(other, k, False) for other in events if other != event}
    forced = set(forced_in(trimmed, reference))
    assert {item for item in forced if item[2]} == rows
    assert {item for item in forced if not item[2]} <= others
    starts = [event[0] for event, _, is_given in forced if not is_given]
    ends = [event[0] + len(event[1]) for event, _, is_given in forced if not is_given]
    assert trimmed.regions.starts[0] == max(min([span[0], *starts]), region[0])
    assert trimmed.regions.ends[0] == min(max([span[1], *ends]), region[1])


OWN = REFERENCE[100:400]
PLAIN = (OWN, "300M")


def snp(position: int, base: str) -> Event:
    return position, REFERENCE[position], base


def with_snp(position: int, base: str) -> Haplotype:
    return OWN[: position - 100] + base + OWN[position - 99 :], "300M"


def test_an_allele_without_an_event_makes_a_region() -> None:
    trimmed = check([snp(250, "T")], [PLAIN], [math.nan])
    assert len(trimmed.haplotypes) == 2
    sites = call_sites(trimmed, reference_of(REFERENCE))
    assert sites.starts.tolist() == [250]
    assert alleles_of(sites, 0) == [REFERENCE[250], "T"]


def test_without_reads_or_before_the_active_span_nothing_is_made() -> None:
    given = [snp(250, "T")]
    assert not trimmed_with(given, [PLAIN], [math.nan], has_reads=False).kept.size
    check([snp(199, "A")], [PLAIN], [math.nan])
    assert not trimmed_with([snp(199, "A")], [PLAIN], [math.nan]).kept.size
    assert not trimmed_with([snp(350, "T")], [PLAIN], [math.nan]).kept.size


def test_an_assembled_allele_is_not_put_in_again() -> None:
    rows = [with_snp(250, "T"), PLAIN]
    trimmed = check([snp(250, "T")], rows, [-1.0, math.nan])
    assert len(trimmed.haplotypes) == 2
    assert forced_in(trimmed, REFERENCE) == [(snp(250, "T"), 0, True)]


def test_five_haplotypes_at_most_the_best() -> None:
    rows = [
        *(with_snp(240 + k, "A" if REFERENCE[240 + k] != "A" else "C") for k in range(8)),
        PLAIN,
    ]
    scores = [-3.0, -1.0, -7.0, -2.0, -1.0, -6.0, -5.0, -4.0, math.nan]
    trimmed = check([snp(260, "T")], rows, scores)
    assert len(trimmed.haplotypes) == 14


def test_an_event_at_the_allele_is_in_the_way() -> None:
    deletion = (OWN[:146] + OWN[156:], "146M10D144M")  # 245: REF has 11 bases
    trimmed = check([snp(250, "T"), snp(256, "A")], [deletion, PLAIN], [-1.0, math.nan])
    assert len(trimmed.haplotypes) == 2 + 1 + 2


def test_a_deletion_longer_than_the_padded_span_is_left_out() -> None:
    allele = (250, REFERENCE[250:420], REFERENCE[250])
    assert not trimmed_with([allele], [PLAIN], [math.nan]).kept.size


def test_several_substitutions_stand_for_a_given_one() -> None:
    """GATK keeps only the first of them."""
    ref, alt = REFERENCE[250:252], "TT"
    trimmed = check([(250, ref, alt)], [PLAIN], [math.nan])
    forced = forced_in(trimmed, REFERENCE)
    single = [(250 + k, ref[k], alt[k]) for k in range(2)]
    assert forced == [((250, ref, alt), 0, True), *((event, 0, False) for event in single)]
    joined = trimmed_with([(250, ref, alt)], [PLAIN], [math.nan], distance=1)
    assert forced_in(joined, REFERENCE) == forced[:1]


@pytest.mark.parametrize("seed", range(60))
def test_random_regions(seed: int) -> None:
    source = np.random.default_rng(seed)
    reference = random_reference(source, 400).replace("N", "A")
    region = (150, 250, 50, 350)
    own = reference[50:350]
    rows = [random_haplotype(source, own, int(source.integers(1, 4))) for _ in range(7)]
    unique = {bases: (bases, cigar) for bases, cigar in rows if bases != own}
    rows = [*unique.values(), (own, "300M")]
    scores = [*(-float(source.integers(1, 5)) for _ in rows[1:]), math.nan]
    given = []
    for _ in range(int(source.integers(1, 6))):
        start = int(source.integers(140, 345))
        ref = reference[start : start + int(source.choice([1, 1, 1, 2, 5, 30]))]
        alt = "".join(source.choice(list("ACGT"), size=int(source.choice([1, 1, 2, 6]))))
        if ref[0] != alt[0] and ref[-1] != alt[-1]:
            given.append((start, ref, alt))
        elif len(ref) > 1:
            given.append((start, ref, ref[0]))
    given = sorted(set(given))
    if given:
        check(given, rows, scores, region, reference)


@pytest.mark.parametrize("has_spanning", [True, False])
def test_spanning_alleles(*, has_spanning: bool) -> None:
    """Case of AssemblyBasedCallerUtils.createAlleleMapper: without `*`, they count as REF."""
    deletion = (OWN[:146] + OWN[156:], "146M10D144M")
    rows = [deletion, with_snp(250, "T"), PLAIN]
    regions = regions_of(REGION)
    trimmed = trimmed_to_variants(
        haplotypes_of([rows], [OWN], [-1.0, -2.0, math.nan]), regions, reference_of(REFERENCE)
    )
    sites = call_sites(trimmed, reference_of(REFERENCE), has_spanning_alleles=has_spanning)
    assert sites.starts.tolist() == [245, 250]
    ref = REFERENCE[250]
    assert alleles_of(sites, 1) == ([ref, "*", "T"] if has_spanning else [ref, "T"])
    by_length = sites.haplotype_alleles[1].tolist()  # the deletion is the shortest
    assert by_length[0] == (1 if has_spanning else 0)
    assert sorted(by_length[1:]) == ([0, 2] if has_spanning else [0, 1])
