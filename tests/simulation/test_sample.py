"""Simulated samples: bases of the reads, alignments, depth, errors and slips."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import ReadBatch
from hapgpu.io.alignments.writer import open_writer
from hapgpu.simulation.alignments import align
from hapgpu.simulation.paired_reads import PairedReadModel
from hapgpu.simulation.phased_variants import INSERTED, PhasedVariants, chromosome_copy, copy_edits
from hapgpu.simulation.sample import sample_header, simulated_reads
from hapgpu.simulation.sequences import tandem_repeats
from hapgpu.simulation.variants import VariantModel, drawn_variants
from tests.haplotypes.made_references import copy_texts, random_text, slice_of

TRUE_READS = PairedReadModel(
    depth=20, read_length=100, fragment_mean=300, fragment_deviation=40, error_factor=0, slip_rate=0
)
START = 7000
TEXT = random_text(60_000)
COMPLEMENTS = str.maketrans("ACGT", "TGCA")


def reads_of(
    text: str,
    variants: PhasedVariants,
    model: PairedReadModel,
    path: Path,
    start: int = 0,
    seed: int = 1,
) -> list[pysam.AlignedSegment]:
    """Simulate reads, and read them from a BAM with pysam."""
    reference = slice_of(text, start)
    header = sample_header("NA1", "chr1", reference.end)
    file = str(path / "reads.bam")
    with open_writer(file, header) as writer:
        for batch in simulated_reads(reference, variants, "NA1", model, seed):
            writer.write(batch)
    pysam.index(file)
    with pysam.AlignmentFile(file) as bam:
        return list(bam.fetch(until_eof=True))


def text_without_repeats(length: int, seed: int) -> str:
    """Return random bases without a unit four times in a row."""
    rng = np.random.default_rng(seed)
    text = ""
    while len(text) < length:
        text += str(rng.choice(list("ACGT")))
        if tandem_repeats(slice_of(text[-30:]).bases, 4).starts.size:
            text = text[:-1]
    return text


def no_variants() -> PhasedVariants:
    return PhasedVariants.from_rows([], [], [])


def pairs_of(
    reads: list[pysam.AlignedSegment],
) -> Iterator[tuple[pysam.AlignedSegment, pysam.AlignedSegment]]:
    """Yield the forward and the reverse read of each template."""
    templates = defaultdict(list)
    for read in reads:
        templates[read.query_name].append(read)
    for template in templates.values():
        left, right = sorted(template, key=lambda read: read.is_reverse)
        yield left, right


@pytest.fixture(scope="module")
def variants() -> PhasedVariants:
    model = VariantModel(spacing=150, neighbour_fraction=0.3)
    return drawn_variants(slice_of(TEXT, START), 2, model)[0]


@pytest.fixture(scope="module")
def true_reads(
    variants: PhasedVariants, tmp_path_factory: pytest.TempPathFactory
) -> list[pysam.AlignedSegment]:
    """Simulate reads without errors."""
    return reads_of(TEXT, variants, TRUE_READS, tmp_path_factory.mktemp("true"), START)


def test_copies_are_the_reference_with_the_variants_of_each_copy(variants: PhasedVariants) -> None:
    reference = slice_of(TEXT, START)
    texts = copy_texts(TEXT, variants, START)
    assert texts[0] != texts[1]
    for edits, text in zip(copy_edits(variants), texts, strict=True):
        copy = chromosome_copy(reference, edits, reference.start, reference.end)
        assert copy.bases.tobytes().decode() == text


def test_part_of_a_copy_equals_the_same_part_of_the_whole_copy(variants: PhasedVariants) -> None:
    reference = slice_of(TEXT, START)
    edits = copy_edits(variants)[0]
    whole = chromosome_copy(reference, edits, reference.start, reference.end)
    part = chromosome_copy(reference, edits, START + 10_000, START + 30_000)
    bounds = (START + 11_000, START + 29_000)
    first, last = (whole.first_from(at) for at in bounds)
    low, high = (part.first_from(at) for at in bounds)
    np.testing.assert_array_equal(whole.bases[first:last], part.bases[low:high])
    np.testing.assert_array_equal(whole.positions[first:last], part.positions[low:high])


@settings(max_examples=100)
@given(
    text=st.text("AC", min_size=30, max_size=30),
    at=st.integers(1, 24),
    unit=st.text("AC", min_size=1, max_size=5),
    is_insertion=st.booleans(),
)
def test_indels_of_copies_are_left_aligned_without_mismatches(
    text: str, at: int, unit: str, is_insertion: bool
) -> None:
    text = f"G{text}G"
    size = len(unit)
    old, new = (text[at], text[at] + unit) if is_insertion else (text[at : at + size + 1], text[at])
    rows = PhasedVariants.from_rows([at], [(old, new)], [[1]], ploidy=1)
    copy = chromosome_copy(slice_of(text), copy_edits(rows)[0], 0, len(text))
    changed = text[:at] + new + text[at + len(old) :]
    longer, shorter = (changed, text) if is_insertion else (text, changed)
    gaps = [gap for gap in range(1, 31) if longer[:gap] + longer[gap + size :] == shorter]
    before, gap, after = range(gaps[0]), [INSERTED] * size, range(gaps[0], len(shorter))
    if not is_insertion:
        gap, after = [], range(gaps[0] + size, len(text))
    assert copy.bases.tobytes().decode() == changed
    assert copy.positions.tolist() == [*before, *gap, *after]


def test_reads_without_errors_are_bases_of_one_copy(
    variants: PhasedVariants, true_reads: list[pysam.AlignedSegment]
) -> None:
    texts = copy_texts(TEXT, variants, START)
    seen: Counter[int] = Counter()
    for left, right in pairs_of(true_reads):
        lengths = []
        for number, text in enumerate(texts):
            at, end = text.find(left.query_sequence), text.find(right.query_sequence)
            if at >= 0 and end >= 0:
                lengths.append(end + 100 - at)
                seen[number] += 1
        assert lengths
        assert all(106 <= length <= 500 for length in lengths)
    assert min(seen.values()) > 0.9 * max(seen.values())


def test_aligned_bases_equal_the_reference_except_substitutions(
    variants: PhasedVariants, true_reads: list[pysam.AlignedSegment]
) -> None:
    changeable = set()
    for variant, start in enumerate(variants.starts.tolist()):
        alleles = variants.texts(variant)
        if len({*map(len, alleles)}) == 1:
            changeable |= set(range(start, start + len(alleles[0])))
    assert any("I" in read.cigarstring for read in true_reads)
    assert any("D" in read.cigarstring for read in true_reads)
    for read in true_reads:
        for k, position in read.get_aligned_pairs(matches_only=True):
            if position not in changeable:
                assert read.query_sequence[k] == TEXT[position - START]


def test_indels_of_reads_are_left_aligned_and_away_from_the_ends(
    true_reads: list[pysam.AlignedSegment],
) -> None:
    operations: Counter[str] = Counter()
    for read in true_reads:
        assert re.fullmatch(r"(\d+S)?\d+M(\d+[ID]\d+M)*(\d+S)?", read.cigarstring)
        elements = [(int(n), op) for n, op in re.findall(r"(\d+)([MIDS])", read.cigarstring)]
        kept = [element for element in elements if element[1] != "S"]
        operations.update(op for _, op in elements)
        if len(kept) > 1:
            assert min(kept[0][0], kept[-1][0]) >= 5
        at, position = 0, read.reference_start - START
        for size, op in elements:
            before = read.query_sequence[at - 1 : at]
            if op == "I":
                assert before != read.query_sequence[at + size - 1]
            if op == "D":
                assert before != TEXT[position + size - 1]
            at += size if op in "MIS" else 0
            position += size if op in "MD" else 0
        assert at == 100
    assert set(operations) == set("MIDS")


def test_a_read_that_ends_in_a_repeat_has_no_indel(tmp_path: Path) -> None:
    text = random_text(400, 5) + "G" + "A" * 60 + "C" + random_text(400, 6)
    shorter = PhasedVariants.from_rows([400], [("GAAA", "G")], [[1]], ploidy=1)
    for read in reads_of(text, shorter, TRUE_READS, tmp_path):
        has_indel = "D" in read.cigarstring
        spans = read.reference_start <= 395 and read.reference_end > 461
        assert has_indel == spans


def test_mates_and_order_are_as_in_a_sorted_bam(true_reads: list[pysam.AlignedSegment]) -> None:
    positions = [read.reference_start for read in true_reads]
    assert positions == sorted(positions)
    assert positions[0] >= START
    seconds = 0
    for left, right in pairs_of(true_reads):
        assert {left.is_read1, right.is_read1} == {True, False} == {left.is_read2, right.is_read2}
        for read, mate in ((left, right), (right, left)):
            assert read.is_paired
            assert read.is_proper_pair
            assert not read.is_unmapped | read.mate_is_unmapped | read.is_secondary
            assert read.next_reference_start == mate.reference_start
            assert read.next_reference_id == read.reference_id == 0
            assert read.mate_is_reverse == mate.is_reverse != read.is_reverse
            assert read.get_tag("RG") == "NA1"
        assert left.template_length == -right.template_length
        ends = max(left.reference_end, right.reference_end)
        starts = min(left.reference_start, right.reference_start)
        assert abs(left.template_length) == ends - starts
        seconds += left.is_read2
    assert 0.45 < seconds * 2 / len(true_reads) < 0.55


def test_the_same_seed_gives_the_same_reads(variants: PhasedVariants) -> None:
    def drawn(seed: int) -> ReadBatch:
        batches = simulated_reads(slice_of(TEXT, START), variants, "s", TRUE_READS, seed)
        return ReadBatch.concatenate(list(batches))

    np.testing.assert_array_equal(drawn(3).bases.data, drawn(3).bases.data)
    assert drawn(3).bases.data.tobytes() != drawn(4).bases.data.tobytes()


def test_intervals_join_without_a_seam() -> None:
    """At this depth, an interval has little more than a thousand bases."""
    model = replace(TRUE_READS, depth=4000)
    batches = list(simulated_reads(slice_of(TEXT[:12_000]), no_variants(), "s", model))
    assert len(batches) > 6
    positions = np.concatenate([batch.positions for batch in batches])
    assert (np.diff(positions) >= 0).all()
    counts = np.bincount(positions, minlength=12_000)[500:11_000].reshape(-1, 100).sum(axis=1)
    expected = 4000 / 100 * 100
    assert (np.abs(counts - expected) < 6 * expected**0.5).all()


def test_error_rates_equal_those_of_the_qualities(tmp_path: Path) -> None:
    model = replace(TRUE_READS, depth=60, error_factor=1)
    bases: Counter[int] = Counter()
    errors: Counter[int] = Counter()
    changes: Counter[str] = Counter()
    for read in reads_of(TEXT, no_variants(), model, tmp_path):
        assert read.cigarstring == "100M"
        expected = TEXT[read.reference_start : read.reference_end]
        bases.update(read.query_qualities)
        for base, true, quality in zip(
            read.query_sequence, expected, read.query_qualities, strict=True
        ):
            if base != true:
                errors[quality] += 1
                changes[true + base] += 1
    rates = {quality: 10 ** (-quality / 10) for quality in bases}
    for quality, count in bases.items():
        mean = count * rates[quality]
        assert abs(errors[quality] - mean) < 5 * mean**0.5 + 5
    assert sum(count for quality, count in bases.items() if quality >= 30) > 0.6 * bases.total()
    assert min(bases) < 20
    assert len(changes) == 12
    assert min(changes.values()) > 0.5 * max(changes.values())


def test_depth_and_fragment_lengths_follow_the_model(
    true_reads: list[pysam.AlignedSegment],
) -> None:
    inner = [r for r in true_reads if 2000 <= r.reference_start - START < len(TEXT) - 2000]
    expected = 20 / 100 * (len(TEXT) - 4000)
    assert abs(len(inner) - expected) < 5 * (2 * expected) ** 0.5 + 0.02 * expected
    lengths = np.array([r.template_length for r in true_reads if r.template_length > 0])
    assert abs(np.median(lengths) - 300) < 4
    assert 36 < lengths.std() < 44


@pytest.mark.parametrize("ploidy", [1, 2, 3, 4])
def test_every_copy_gives_the_same_fraction_of_reads(ploidy: int, tmp_path: Path) -> None:
    starts = list(range(1000, 39_000, 1000))
    alleles = [(TEXT[at], "ACGT"["ACGT".index(TEXT[at]) - 1]) for at in starts]
    genotypes = [[int(copy == k % ploidy) for copy in range(ploidy)] for k in range(len(starts))]
    rows = PhasedVariants.from_rows(starts, alleles, genotypes, ploidy)
    model = replace(TRUE_READS, depth=40)
    carried = covered = 0
    sites = dict(zip(starts, alleles, strict=True))
    for read in reads_of(TEXT[:40_000], rows, model, tmp_path):
        for at in range(-(-read.reference_start // 1000) * 1000, read.reference_end, 1000):
            if at in sites:
                covered += 1
                carried += read.query_sequence[at - read.reference_start] == sites[at][1]
    fraction = 1 / ploidy
    deviation = (2 * covered * fraction * (1 - fraction)) ** 0.5  # mates may cover a site together
    assert abs(carried - covered * fraction) <= 5 * deviation


def test_rates_of_slips_follow_the_model(tmp_path: Path) -> None:
    units = {1: "A", 2: "AC", 3: "ACG"}
    counts = {1: 20, 2: 14, 3: 12}
    flanks = [text_without_repeats(500, seed) for seed in range(4)]
    text = flanks[0]
    intervals = {}
    for size, unit in units.items():
        text += "G"
        intervals[size] = (len(text), len(text) + size * counts[size])
        text += unit * counts[size] + "T" + flanks[size]
    model = replace(TRUE_READS, depth=6000, slip_rate=4e-4)
    slips: Counter[tuple[int, int]] = Counter()
    spanning: Counter[int] = Counter()
    for read in reads_of(text, no_variants(), model, tmp_path):
        for size, (start, end) in intervals.items():
            if read.reference_start < start - 10 and read.reference_end > end + 10:
                spanning[size] += 1
                blocks = dict(read.cigartuples)
                if 1 in blocks or 2 in blocks:
                    assert blocks.get(1, blocks.get(2)) == size
                    slips[size, 1 if 1 in blocks else -1] += 1
    for size, total in spanning.items():
        rate = 4e-4 * (counts[size] - 3) ** 2
        for change, fraction in ((1, 1 / 3), (-1, 2 / 3)):
            mean = total * rate * fraction
            assert mean > 20
            assert abs(slips[size, change] - mean) < 5 * (2 * mean) ** 0.5


def test_no_read_has_other_letters(tmp_path: Path) -> None:
    text = TEXT[:3000] + "N" * 50 + TEXT[3050:6000] + "R" + TEXT[6001:9000]
    reads = reads_of(text, no_variants(), TRUE_READS, tmp_path)
    assert reads
    assert all(set(read.query_sequence) <= set("ACGT") for read in reads)
    spans = [(read.reference_start, read.reference_end) for read in reads]
    assert all(end <= 3000 or start >= 3050 for start, end in spans)


def test_a_reference_shorter_than_a_fragment_gives_no_reads() -> None:
    batches = list(simulated_reads(slice_of("ACGTTGCA" * 10), no_variants(), "s", TRUE_READS))
    assert [len(batch) for batch in batches] == [0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (([50, 20], [("A", "C")] * 2, [[0, 1]] * 2), "order"),
        (([20, 120], [("A", "C")] * 2, [[0, 1]] * 2), "outside"),
        (([20], [("A", "C")], [[0, 2]]), "does not have"),
        (([20], [("C", "A")], [[0, 1]]), "differs from the reference"),
        (([20, 22], [("AAAA", "A"), ("A", "C")], [[0, 1]] * 2), "overlap on chromosome copy 2"),
    ],
)
def test_variants_that_do_not_fit_are_errors(
    rows: tuple[list[int], list[tuple[str, str]], list[list[int]]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        next(simulated_reads(slice_of("A" * 100), PhasedVariants.from_rows(*rows), "s"))


@pytest.mark.parametrize(
    "wrong", [{"read_length": 20}, {"depth": 0}, {"slip_rate": -1}, {"error_factor": -0.5}]
)
def test_invalid_models_are_errors(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"at least|depth|negative"):
        PairedReadModel(**wrong)


@settings(max_examples=100)
@given(st.text("ACN", max_size=40))
def test_tandem_repeats_match_a_plain_search(text: str) -> None:
    repeats = tandem_repeats(slice_of(text).bases, 3)
    found = set(
        zip(repeats.starts.tolist(), repeats.ends.tolist(), repeats.units.tolist(), strict=True)
    )
    expected = set()
    for unit in range(1, 7):
        for start in range(len(text) - unit):
            end = start + unit
            while end < len(text) and text[end] == text[end - unit] != "N":
                end += 1
            word = text[start : start + unit]
            is_first = start == 0 or not text[start - 1] == text[start - 1 + unit] != "N"
            is_unit = (word + word).find(word, 1) == unit
            if end - start >= 3 * unit and is_first and is_unit:
                expected.add((start, end, unit))
    assert found == expected
    assert repeats.starts.tolist() == sorted(repeats.starts.tolist())


def test_a_read_with_more_gaps_than_its_cigar_holds_is_excluded() -> None:
    gaps = np.repeat([0, 1, 0], [5, 50, 5])
    positions = np.arange(60) + np.cumsum(gaps)
    bases, reference = np.full(60, ord("C"), np.uint8), np.full(120, ord("A"), np.uint8)
    memory = np.zeros(120, dtype=np.uint32)
    assert align(bases, positions, reference, 0, memory[:61]) == 0
    assert not memory[61:].any()
    assert align(bases, positions, reference, 0, memory) == 101
