"""Events of haplotypes: cases of GATK's tests, the rules on strings, and bcftools."""

from __future__ import annotations

import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hapgpu.calling.events.events import events_of
from tests.calling.events.event_oracle import expected_events
from tests.calling.events.made_haplotypes import (
    Event,
    Haplotype,
    haplotypes_of,
    random_haplotype,
    random_reference,
    reference_of,
    rows_of,
)

AFTER_START = 7
"""Offset of the first base of these haplotypes."""


def events_from(
    reference: str, *haplotypes: Haplotype, start: int = 0, distance: int = 0
) -> list[list[Event]]:
    own = reference_of(reference)
    starts = np.full(len(haplotypes), start, dtype=np.int64)
    return rows_of(events_of(haplotypes_of([haplotypes]), starts, own, distance), own)


@pytest.mark.parametrize("cigar", ["3M3X3M", "9M", "3=3X3="])
def test_mismatches_near_to_each_other(cigar: str) -> None:
    haplotype = ("TTTCCCAAA", cigar)
    (events,) = events_from("TTTGGGAAA", haplotype)
    assert events == [(3, "G", "C"), (4, "G", "C"), (5, "G", "C")]
    for distance in (1, 2, 9):
        assert events_from("TTTGGGAAA", haplotype, distance=distance) == [[(3, "GGG", "CCC")]]


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (0, [(0, "A", "C"), (1, "C", "A"), (4, "G", "C"), (5, "C", "G")]),
        (1, [(0, "AC", "CA"), (4, "GC", "CG")]),
        (2, [(0, "AC", "CA"), (4, "GC", "CG")]),
        (3, [(0, "ACTTGC", "CATTCG")]),
        (4, [(0, "ACTTGC", "CATTCG")]),
    ],
)
def test_two_groups_of_mismatches(distance: int, expected: list[Event]) -> None:
    assert events_from("ACTTGC", ("CATTCG", "6M"), distance=distance) == [expected]


def test_near_mismatches_end_with_their_element() -> None:
    """An inserted base is none, though it differs from the reference after the element."""
    assert events_from("AACC", ("AGTCC", "2M1I2M"), distance=1) == [[(1, "A", "GT")]]
    assert events_from("AACC", ("AGC", "2M1D1M"), distance=1) == [[(1, "AC", "G")]]


@pytest.mark.parametrize(
    ("haplotype", "expected"),
    [
        (("AAATTTCA", "3M3D2I3M"), [(9, "ACGG", "A"), (12, "G", "GTT")]),
        (("AAATCA", "3M3D3M"), [(9, "ACGG", "A")]),
        (("AAACGATCA", "9M"), [(12, "G", "A")]),
    ],
)
def test_deletions_and_insertions(haplotype: Haplotype, expected: list[Event]) -> None:
    """Positions are one less than in the literal cases, which count from 1."""
    assert events_from("AAAAAAAAAACGGTCA", haplotype, start=AFTER_START, distance=1) == [expected]


@pytest.mark.parametrize(
    ("haplotype", "expected"),
    [
        (("TGGTT", "2M2I1M"), (1, "A", "GGT")),  # A>G and A>AGT, of TAT
        (("TGT", "2M2D1M"), (1, "AGT", "G")),  # A>G and AGT>A, of TAGTT
        (("TAGTT", "2M2I1D1M"), (1, "AC", "AGT")),  # A>AGT and AC>A, of TACT
    ],
)
def test_events_of_one_start_are_merged(haplotype: Haplotype, expected: Event) -> None:
    references = {"2M2I1M": "TAT", "2M2D1M": "TAGTT", "2M2I1D1M": "TACT"}
    assert events_from(references[haplotype[1]], haplotype) == [[expected]]


@pytest.mark.parametrize(
    ("reference", "haplotype", "expected"),
    [
        ("TAGT", ("TACGT", "2M2I1D1M"), [(1, "A", "AC")]),  # AG>ACG loses its G
        ("TAGT", ("TAGT", "2M1I1D1M"), []),  # G inserted and G deleted
        ("TAGGT", ("TACGT", "2M2I2D1M"), [(1, "AG", "AC")]),
        ("TAGT", ("TCCAT", "2M2I1D1M"), [(1, "AG", "CCA")]),  # SNP, insertion and deletion
    ],
)
def test_merged_alleles_lose_their_common_suffix(
    reference: str, haplotype: Haplotype, expected: list[Event]
) -> None:
    assert events_from(reference, haplotype) == [expected]


def test_insertions_at_the_ends_and_deletions_at_the_start() -> None:
    inserted = ("GGACGTGG", "2I4M2I")
    assert events_from("TACGTT", inserted, start=1) == [[]]
    assert events_from("ACGTT", ("GGACG", "1I1I3M")) == [[]]  # nothing is before the second
    assert events_from("TACGTT", ("CGT", "1D3M"), start=1) == [[(0, "TA", "T")]]
    assert events_from("ACGTT", ("CGT", "1D3M")) == [[]]  # nothing is before the contig
    assert events_from("TACGTT", ("ACG", "3M1D"), start=1) == [[(3, "GT", "G")]]


def test_bases_that_are_not_regular() -> None:
    assert events_from("ANNCGT", ("CNGCNT", "6M")) == [[(0, "A", "C")]]
    assert events_from("ANCGT", ("ANACGT", "2M1I3M")) == [[]]
    assert events_from("AACGT", ("AANCGT", "2M1I3M")) == [[]]
    assert events_from("AANGT", ("AAGT", "2M1D2M")) == [[]]
    assert events_from("TACGTT", ("TGNCGTT", "2M1I4M")) == [[(1, "A", "G")]]


def test_positions_count_from_the_start_of_the_reference() -> None:
    reference = reference_of("TACGTT", start=1000)
    starts = np.array([1001, 1000], dtype=np.int64)
    haplotypes = haplotypes_of([[("AGGT", "4M")], [("TACCGTT", "3M1I3M")]])
    rows = rows_of(events_of(haplotypes, starts, reference), reference)
    assert rows == [[(1002, "C", "G")], [(1002, "C", "CC")]]


def test_no_haplotypes() -> None:
    assert events_from("ACGT") == []


def cases(seed: int, count: int) -> list[tuple[str, Haplotype]]:
    source = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        reference = random_reference(source, int(source.integers(4, 60)))
        edits = int(source.choice([1, 3, 10]))
        made.append((reference, random_haplotype(source, reference, edits)))
    return made


@pytest.mark.parametrize("seed", range(5))
def test_random_haplotypes_by_the_rules(seed: int) -> None:
    for reference, haplotype in cases(seed, 200):
        for start in (0, 1):
            events = events_from("T" * start + reference, haplotype, start=start)
            assert events == [expected_events(haplotype, start, "T" * start + reference)]


@pytest.mark.parametrize("seed", range(5))
def test_events_make_the_haplotype(seed: int) -> None:
    """Two events may overlap in one base: an insertion directly after a deletion."""
    for drawn, (bases, cigar) in cases(seed + 10, 200):
        reference = drawn.replace("N", "A")
        haplotype = (bases.replace("N", "A"), cigar)
        (events,) = events_from(reference, haplotype)
        positions = [event[0] for event in events]
        assert positions == sorted(set(positions))
        assert applied(reference, events) == haplotype[0]


def applied(reference: str, events: list[Event]) -> str:
    """Apply events; an insertion at the last deleted base is after the deletion."""
    made, end = "", 0
    for start, ref, alt in events:
        if start < end:
            assert start == end - 1
            assert len(ref) >= 1
            made += alt[1:]
        else:
            made += reference[end:start] + alt
        end = max(end, start + len(ref))
    return made + reference[end:]


@pytest.mark.skipif(shutil.which("bcftools") is None, reason="bcftools is not installed")
def test_bcftools_makes_the_haplotypes(tmp_path: Path) -> None:
    """Each case is a contig; cases in which two events overlap are left to the other tests."""
    drawn = [
        (reference.replace("N", "A"), (haplotype[0].replace("N", "A"), haplotype[1]))
        for reference, haplotype in cases(100, 300)
    ]
    made = [(ref, row, events_from(ref, row)[0]) for ref, row in drawn]
    kept = [
        (ref, row, events)
        for ref, row, events in made
        if all(first[0] + len(first[1]) <= second[0] for first, second in pairwise(events))
    ]
    assert len(kept) > 100
    fasta, vcf = tmp_path / "ref.fa", tmp_path / "events.vcf"
    fasta.write_text("".join(f">c{k}\n{ref}\n" for k, (ref, _, _) in enumerate(kept)))
    header = [f"##contig=<ID=c{k},length={len(ref)}>\n" for k, (ref, _, _) in enumerate(kept)]
    lines = [
        f"c{k}\t{start + 1}\t.\t{ref}\t{alt}\t.\t.\t.\n"
        for k, (_, _, events) in enumerate(kept)
        for start, ref, alt in events
    ]
    columns = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    vcf.write_text("##fileformat=VCFv4.2\n" + "".join(header) + columns + "".join(lines))
    packed = f"{vcf}.gz"
    for command in (
        ["bcftools", "view", "-Oz", "-o", packed, str(vcf)],
        ["bcftools", "index", packed],
        ["bcftools", "norm", "-c", "e", "-f", str(fasta), "-o", f"{vcf}.norm", packed],
    ):
        subprocess.run(command, check=True, capture_output=True)
    made_by_bcftools = subprocess.run(
        ["bcftools", "consensus", "-f", str(fasta), packed],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    sequences = ["".join(part.split("\n")[1:]) for part in made_by_bcftools.split(">")[1:]]
    assert sequences == [bases for _, (bases, _), _ in kept]
