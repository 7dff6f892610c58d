"""Stream of locus batches: batches of records, splits, masks and errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import InputError, UsageError
from hapgpu.haplotypes import locus_batches as module
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.haplotypes.locus_batches import EVERY_ROW, LocusLimits, LocusOptions, locus_batches
from hapgpu.haplotypes.sites.loci import OVERLAPPING_FACTOR, RecordLimits
from hapgpu.haplotypes.sites.record_selection import within
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import EVERYTHING, Region, RegionChoice
from hapgpu.io.vcf.batches import VcfBatch
from hapgpu.io.vcf.records import VcfRecord
from tests.haplotypes.made_records import batches_of_records

SITES_ONLY = LocusOptions(distance=20, flank=60, max_combinations=16, masks=True, phased=False)
PHASED = LocusOptions(distance=100, flank=100, max_combinations=16, masks=False, phased=True)
WHOLE_CONTIGS = RecordLimits(records=10**6, bases=10**9)
SAMPLES = "GT:PS\t{}\t{}"
GENOTYPES = ["0|1", "1|0:5", "0/1", "1/1", "0|0", ".", "1|1:5", "0|1:7"]


def made_bases(seed: int, length: int) -> str:
    random = Random(seed)  # noqa: S311  (the same data on every run)
    return "".join(random.choices("ACGT", k=length))


def made_contig(random: Random, length: int) -> str:
    """Return bases with tandem repeats, one of them longer than the longest shift."""
    parts = []
    while sum(map(len, parts)) < length:
        parts += [
            "".join(random.choices("ACGT", k=200)),
            random.choice(["A", "CA", "GAT"]) * 15,
        ]
    return "".join([*parts[: len(parts) // 2], "A" * 2500, *parts[len(parts) // 2 :]])


def made_records(
    random: Random, contig: str, bases: str, count: int, width: int
) -> list[VcfRecord]:
    """Return sites in clusters, most of them SNVs."""
    centres = [random.randrange(1000, len(bases) - 1000) for _ in range(1 + count // 8)]
    centres.append(bases.index("A" * 2500) + 1300)
    drawn = (random.choice(centres) + random.randint(-width, width) for _ in range(count))
    starts = sorted(min(max(start, 0), len(bases) - 1) for start in drawn)
    records = []
    for line, start in enumerate(starts, start=2):
        reference = bases[start : start + random.choice([1, 1, 1, 1, 2, 5, 30])]
        alternatives = {
            random.choice("ACGT")
            if random.random() < 0.7 and len(reference) == 1
            else reference[0] + "".join(random.choices("ACG", k=random.choice([0, 1, 2, 15])))
            for _ in range(random.choice([1, 1, 2]))
        } - {reference}
        text = SAMPLES.format(*random.choices(GENOTYPES, k=2)) if alternatives else "GT\t0/0\t0/0"
        records.append(
            VcfRecord(f"line {line}", contig, start, reference, (*alternatives,), (), text)
        )
    return records


def write_fasta(path: Path, contigs: dict[str, str]) -> Path:
    path.write_text("".join(f">{name}\n{bases}\n" for name, bases in contigs.items()))
    pysam.faidx(str(path))
    return path


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[VcfRecord]]:
    """Return two contigs, and records on them hundreds or thousands of bases apart."""
    random = Random(7)  # noqa: S311  (the same data on every run)
    contigs = {name: made_contig(random, 20_000) for name in ("one", "two")}
    path = write_fasta(tmp_path_factory.mktemp("reference") / "ref.fa", contigs)
    records = []
    for name, width in (("one", 150), ("two", 1500)):
        records += made_records(random, name, contigs[name], 150, width)
    return path, records


def batches_of(
    path: Path,
    records: Iterable[VcfRecord],
    options: LocusOptions = SITES_ONLY,
    limits: RecordLimits = WHOLE_CONTIGS,
    counts: Counter[str] | None = None,
    *,
    locus_limits: LocusLimits | None = None,
    rows: range = EVERY_ROW,
) -> list[LocusBatch]:
    def count(name: str, number: int) -> None:
        if counts is not None:
            counts[name] += number

    with ReferenceFasta(path) as reference:
        batches = batches_of_records(list(records))
        return list(
            locus_batches(
                batches,
                reference,
                options,
                "calls.vcf",
                count,
                limits=limits,
                locus_limits=locus_limits,
                rows=rows,
            )
        )


def loci_in(batches: Sequence[LocusBatch]) -> Iterator[tuple[object, ...]]:
    """Yield all data of each locus, regardless of its batch."""
    for batch in batches:
        haplotypes = batch.haplotypes
        for locus in range(len(batch.loci)):
            alone = batch.slice(locus, locus + 1)
            rows = range(haplotypes.offsets[locus], haplotypes.offsets[locus + 1])
            yield (
                batch.contig,
                list(alone.sites.records),
                *zip(
                    alone.shift_ranges.starts.tolist(),
                    alone.shift_ranges.ends.tolist(),
                    strict=True,
                ),
                (alone.loci.starts[0], alone.loci.ends[0]),
                (alone.haplotypes.starts[0], alone.haplotypes.ends[0]),
                [haplotypes.sequences[row].tobytes() for row in rows],
                [row.tolist() for row in alone.haplotypes.carried],
            )


@pytest.mark.parametrize("options", [SITES_ONLY, PHASED], ids=["sites only", "phased"])
@pytest.mark.parametrize("max_sites", [1000, 7])
def test_loci_do_not_depend_on_record_batches(
    example: tuple[Path, list[VcfRecord]],
    monkeypatch: pytest.MonkeyPatch,
    options: LocusOptions,
    max_sites: int,
) -> None:
    monkeypatch.setattr(module, "_MAX_SITES", max_sites)
    path, records = example
    expected_counts: Counter[str] = Counter()
    expected = list(loci_in(batches_of(path, records, options, counts=expected_counts)))
    found = [one for locus in expected for one in locus[1]]
    assert [(one.label, one.contig, one.start, one.genotypes) for one in found] == [
        (one.label, one.contig, one.start, one.genotypes) for one in records
    ]
    for limits in (RecordLimits(1, 10**9), RecordLimits(10, 10**9), RecordLimits(10**6, 300)):
        counts: Counter[str] = Counter()
        assert list(loci_in(batches_of(path, records, options, limits, counts))) == expected
        assert counts == expected_counts


@pytest.mark.parametrize("max_skipped", [0, 5, 8192])
@pytest.mark.parametrize("max_sites", [1000, 7])
def test_ranges_of_rows_together_give_all_loci(
    example: tuple[Path, list[VcfRecord]],
    monkeypatch: pytest.MonkeyPatch,
    max_skipped: int,
    max_sites: int,
) -> None:
    monkeypatch.setattr(module, "_MAX_SITES", max_sites)
    monkeypatch.setattr(module, "_MAX_SKIPPED", max_skipped)
    path, records = example
    expected_counts: Counter[str] = Counter()
    expected = list(loci_in(batches_of(path, records, counts=expected_counts)))
    random = Random(max_sites + max_skipped)  # noqa: S311  (the same data on every run)
    for parts in range(1, 5):
        cuts = sorted(random.choices(range(len(records) + 1), k=parts - 1))
        counts: Counter[str] = Counter()
        found: list[tuple[object, ...]] = []
        for start, end in pairwise([0, *cuts, len(records)]):
            limits = RecordLimits(records=random.choice([1, 10, 40, 1000]))
            rows = range(start, end)
            batches = batches_of(path, records, limits=limits, counts=counts, rows=rows)
            found += loci_in(batches)
            # The last group starts in the range, and may end after it.
            sites = sum(len(batch.sites) for batch in batches)
            assert sites == 0 if start == end else sites <= end - start + max_sites
        assert found == expected
        assert +counts == +expected_counts


def test_rows_far_before_are_not_read_from_the_reference(tmp_path: Path) -> None:
    """A wrong REF is an error of the range that contains its record."""
    bases = made_bases(3, 30_000)
    path = write_fasta(tmp_path / "ref.fa", {"chr1": bases})
    records = [record_at(bases, start) for start in range(100, 29_000, 3000)]
    records[2] = replace(records[2], reference="A" if bases[6100] != "A" else "C")
    limits = RecordLimits(records=1)
    for start in range(10):
        if start == 2:
            with pytest.raises(InputError, match="chr1:6101"):
                batches_of(path, records, limits=limits, rows=range(start, start + 1))
        else:
            (locus,) = loci_in(
                batches_of(path, records, limits=limits, rows=range(start, start + 1))
            )
            assert locus[1][0].start == 100 + 3000 * start


def test_few_records_are_kept(example: tuple[Path, list[VcfRecord]]) -> None:
    path, records = example
    contig = [one for one in records if one.contig == "one"]
    read = 0

    def counted() -> Iterator[VcfBatch]:
        nonlocal read
        for batch in batches_of_records(contig, 1):
            read += 1
            yield batch

    done = 0
    with ReferenceFasta(path) as reference:
        limits = RecordLimits(records=4)
        stream = locus_batches(counted(), reference, SITES_ONLY, "calls.vcf", limits=limits)
        for batch in stream:
            done += len(batch.sites)
            last = batch.sites.records[-1].start
            # An indel is shifted by up to 1000 bases, on either side.
            waiting = [one for one in contig[done:read] if one.start > last + 4000]
            assert len(waiting) <= 5
    assert done == len(contig)


@pytest.mark.parametrize("threads", [2, 5, 16])
def test_threads_make_the_same_batches(example: tuple[Path, list[VcfRecord]], threads: int) -> None:
    """In small batches of records, so that many are in work at once."""
    path, records = example
    found = []
    for limits in (LocusLimits(), LocusLimits(threads=threads)):
        counts = Counter[str]()
        small = RecordLimits(records=5)
        batches = batches_of(path, records, SITES_ONLY, small, counts, locus_limits=limits)
        found.append((list(loci_in(batches)), [len(batch.loci) for batch in batches], counts))
    assert found[0] == found[1]


@pytest.mark.parametrize("threads", [1, 4])
def test_loci_before_an_error_come_first(tmp_path: Path, threads: int) -> None:
    bases = made_bases(3, 50_000)
    path = write_fasta(tmp_path / "ref.fa", {"chr1": bases})
    records = [record_at(bases, start) for start in range(100, 49_000, 700)]
    other = "A" if bases[records[40].start] != "A" else "C"
    records[40] = replace(records[40], reference=other, alternatives=("G",))
    done: list[int] = []
    with ReferenceFasta(path) as reference:
        batches = locus_batches(
            batches_of_records(records),
            reference,
            SITES_ONLY,
            "calls.vcf",
            limits=RecordLimits(records=4),
            locus_limits=LocusLimits(threads=threads),
        )
        with pytest.raises(InputError, match="REF"):
            done.extend(len(batch.loci) for batch in batches)
    assert 30 <= sum(done) < 40


def test_batches_are_bounded(tmp_path: Path) -> None:
    bases = made_bases(1, 100_000) * 31
    path = write_fasta(tmp_path / "ref.fa", {"far": bases, "near": bases[:100_000]})
    far = [record_at(bases, start, "far") for start in range(50, len(bases) - 100, 6000)]
    near = [record_at(bases, start, "near") for start in range(50, 99_900, 150)]
    batches = batches_of(path, far + near)
    assert sum(len(batch.loci) for batch in batches) == len(far) + len(near)
    assert all(len(batch.loci) <= 256 for batch in batches)
    assert all(batch.loci.ends[-1] - batch.loci.starts[0] <= 10**6 for batch in batches)
    assert any(len(batch.loci) > 150 for batch in batches)
    few = batches_of(path, far + near, locus_limits=LocusLimits(loci=10, bases=20_000))
    assert all(len(batch.loci) <= 10 for batch in few)
    assert all(batch.loci.ends[-1] - batch.loci.starts[0] <= 20_000 for batch in few)
    many = batches_of(path, far + near, locus_limits=LocusLimits(loci=10_000, bases=10**8))
    assert [batch.contig for batch in many] == ["far", "near"]
    assert list(loci_in(few)) == list(loci_in(batches)) == list(loci_in(many))


def record_at(bases: str, start: int, contig: str = "chr1", genotypes: str = "") -> VcfRecord:
    """Return an SNV."""
    reference = bases[start]
    alternative = "A" if reference != "A" else "C"
    return VcfRecord("line 2", contig, start, reference, (alternative,), (), genotypes)


def test_dense_sites_are_split_after_a_thousand(tmp_path: Path) -> None:
    bases = made_bases(2, 6000)
    path = write_fasta(tmp_path / "ref.fa", {"chr1": bases})
    records = [record_at(bases, start, genotypes="GT\t1/1") for start in range(100, 5100, 2)]
    counts: Counter[str] = Counter()
    batches = batches_of(path, records, PHASED, RecordLimits(), counts)
    sizes = [len(locus[1]) for locus in loci_in(batches)]
    assert sizes == [1000, 1000, 500]
    assert counts["locus_splits"] == 2


# 0-based positions: SNVs at 100 and 150, a deletion at 130, an MNV at 175.
def test_snvs_of_other_loci_are_masked(tmp_path: Path) -> None:
    bases = "ACGT" * 100
    path = write_fasta(tmp_path / "ref.fa", {"chr1": bases})
    records = [
        record_at(bases, 100),
        VcfRecord("line 3", "chr1", 130, bases[130:133], (bases[130],), (), ""),
        record_at(bases, 150),
        VcfRecord("line 4", "chr1", 175, bases[175:177], ("AA",), (), ""),
        VcfRecord("line 5", "chr1", 220, bases[220], ("*",), (), ""),
    ]
    options = LocusOptions(distance=5, flank=50, max_combinations=64, masks=True, phased=False)
    batches = batches_of(path, records, options, RecordLimits(records=1))
    shown = {}
    for _, at, _, _, window, sequences, carried in loci_in(batches):
        start = int(window[0])
        shown[at[0].start] = {start + k for k, base in enumerate(sequences[0]) if base == ord("N")}
        assert carried[0] == []
    assert shown == {100: {150}, 130: {100, 150}, 150: {100}, 175: {150}, 220: set()}


def test_capped_loci_are_counted(tmp_path: Path) -> None:
    bases = "ACGT" * 100
    path = write_fasta(tmp_path / "ref.fa", {"chr1": bases})
    blocks = [f"GT:PS\t0|1:{k}" for k in range(6)]  # a phase set each: 64 combinations
    records = [record_at(bases, 100 + 9 * k, genotypes=text) for k, text in enumerate(blocks)]
    for max_combinations, capped in ((16, 0), (15, 1), (2, 1), (1, 1)):
        counts: Counter[str] = Counter()
        options = LocusOptions(
            distance=20, flank=20, max_combinations=max_combinations, masks=False, phased=True
        )
        (locus,) = loci_in(batches_of(path, records, options, counts=counts))
        assert counts["capped_loci"] == capped
        assert len(locus[-1]) == max(OVERLAPPING_FACTOR * max_combinations, 7)


ERRORS = {
    "another base": ("chr1", 4, "C", "T", "has C at chr1:5, where .*ref.fa has A"),
    "a base of several": ("chr1", 4, "ACGA", "T", "has A at chr1:8, where .*ref.fa has T"),
    "after the end": ("chr1", 6, "GTA", "G", "chr1:7 ends after the 8 bases"),
    "far after the end": ("chr1", 5000, "G", "A", "chr1:5001 ends after the 8 bases"),
    "no first of a code": ("codes", 0, "G", "T", "has G at codes:1, where .*ref.fa has R"),
    "N for a base": ("chr1", 4, "N", "T", "has N at chr1:5, where .*ref.fa has A"),
    "a base for N": ("codes", 3, "A", "T", "has A at codes:4, where .*ref.fa has N"),
    "unknown contig": ("1", 4, "A", "T", "contig '1' is not in .*ref.fa; found 'chr1' instead"),
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    contigs = {"chr1": "acgtACGT", "codes": "RYMNB"}
    return write_fasta(tmp_path_factory.mktemp("small") / "ref.fa", contigs)


@pytest.mark.parametrize("case", ERRORS)
def test_other_references_are_errors(small: Path, case: str) -> None:
    contig, start, reference, alternative, message = ERRORS[case]
    good = VcfRecord("line 11", contig, start, reference, (alternative,), (), "")
    with pytest.raises(InputError, match=rf"calls\.vcf, line 11: .*{message}"):
        batches_of(small, [good])


@pytest.mark.parametrize(
    ("contig", "start", "reference", "alternative"),
    [
        ("chr1", 0, "ACGT", "A"),
        ("codes", 0, "ACA", "A"),
        ("codes", 0, "NCN", "A"),
        ("codes", 1, "YM", "A"),
        ("codes", 3, "NC", "A"),
        ("chr1", 4, "N", "<DEL>"),
        ("chr1", 7, "T", "G"),
    ],
)
def test_matching_references(
    small: Path, contig: str, start: int, reference: str, alternative: str
) -> None:
    record = VcfRecord("line 11", contig, start, reference, (alternative,), (), "")
    (batch,) = batches_of(small, [record])
    (found,) = batch.sites.records
    assert (found.label, found.reference) == (record.label, record.reference)


def test_ambiguity_codes_become_the_base_of_ref(small: Path) -> None:
    """Otherwise the haplotype of REF would match no read."""
    record = VcfRecord("line 11", "codes", 1, "C", ("G",), (), "")
    (batch,) = batches_of(small, [record])
    found = {row.tobytes().decode() for row in batch.haplotypes.sequences}
    assert found == {"ACANC", "AGANC"}


@given(
    starts=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 50)), max_size=20),
    regions=st.lists(
        st.builds(
            lambda contig, start, length: Region(contig, start, start + length),
            st.sampled_from("abc"),
            st.integers(0, 50),
            st.integers(1, 20),
        ),
        max_size=6,
    ),
    length=st.integers(1, 12),
)
def test_records_within_regions(
    starts: list[tuple[str, int]], regions: list[Region], length: int
) -> None:
    records = [VcfRecord("line 1", c, s, "A" * length, ("C",), (), "") for c, s in sorted(starts)]
    expected = [
        one
        for one in records
        if any(Region(one.contig, one.start, one.start + length).overlaps(r) for r in regions)
    ]
    choice = RegionChoice(tuple(regions))
    for size in (1, 3, 100):
        batches = within(batches_of_records(records, size), choice, dict.fromkeys("abc", 100))
        found = [one for batch in batches for one in batch]
        assert [(r.contig, r.start) for r in found] == [(r.contig, r.start) for r in expected]


def test_no_regions_select_all_records_and_unknown_contigs_are_errors() -> None:
    records = batches_of_records([VcfRecord("line 1", "a", 1, "A", ("C",), (), "")])
    assert list(within(records, EVERYTHING, {})) == records
    with pytest.raises(UsageError, match=r"chr2:1-5.*'chr2'.*found '2' instead"):
        within(records, RegionChoice((Region("chr2", 0, 5),)), {"2": 100})
