"""`hapgpu realign` from end to end: every column of real reads is checked."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pysam
import pytest

from hapgpu.realign.scoring import PRESETS
from tests.cli.realign.command import (
    body,
    haplotypes_of,
    header_of,
    key,
    lines_of,
    make_example,
    realign,
    records,
    sam_of,
    with_mismatches_of_samtools,
)
from tests.realign.move_oracle import (
    Loci,
    apart_from_mates,
    expected_on_reference,
    movable_read,
)
from tests.realign.realign_oracle import (
    COMPLEMENTS,
    Haplotype,
    Read,
    Record,
    Rules,
    expected,
    record_of,
    score_of,
)
from tests.truth_haplotypes import truth_loci, write_haplotypes

THREADS = (1, 2)


@dataclass(frozen=True)
class Sample:
    """Reads, haplotypes with loci, the reference, and the reads to check."""

    bam: Path
    fasta: Path
    reference: Path
    haplotypes: list[Haplotype]
    lines: list[str]
    chosen: list[str]

    @cached_property
    def loci(self) -> Loci:
        return Loci(self.haplotypes, self.reference)

    @property
    def within_loci(self) -> list[Record]:
        """The reads that the command must write, in their order."""
        loci = {h.locus for h in self.haplotypes if h.locus}
        reads = [Read(line.split("\t")) for line in self.lines]
        return [
            record_of("\t".join(read.columns))
            for read in reads
            if not read.flag & 0xF00 and any(read.overlaps(locus) for locus in loci)
        ]


def chosen_of(lines: Sequence[str], haplotypes: Sequence[Haplotype], count: int) -> list[str]:
    """Choose reads at loci: plain, with indels or clips in the input, and unmapped."""
    loci = {h.locus for h in haplotypes if h.locus}
    times = Counter(key(record_of(line)) for line in lines)
    kinds: dict[str, list[str]] = {"plain": [], "odd": [], "unmapped": []}
    for line in lines:
        read = Read(line.split("\t"))
        if any(read.overlaps(x) for x in loci) and times[key(record_of(line))] == 1:
            mapped = "odd" if set("IDS") & set(read.columns[5]) else "plain"
            kinds[mapped if read.is_mapped else "unmapped"].append(line)
    return [
        line
        for kind, size in zip(kinds.values(), (count // 2, count // 2, 8), strict=True)
        for line in kind[:: max(1, len(kind) // size)][:size]
    ]


def sample_of(bam: Path, fasta: Path, reference: Path, count: int) -> Sample:
    haplotypes = haplotypes_of(fasta)
    lines = lines_of(bam)
    return Sample(bam, fasta, reference, haplotypes, lines, chosen_of(lines, haplotypes, count))


@pytest.fixture(scope="module")
def example_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_example(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def example(example_directory: Path) -> Sample:
    names = ("reads.bam", "haplotypes.fa", "reference.fa")
    return sample_of(*(example_directory / name for name in names), count=40)


@pytest.fixture(
    scope="module",
    params=["example", "HG002", pytest.param("NA12878", marks=pytest.mark.exhaustive)],
)
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    if request.param == "example":
        return request.getfixturevalue("example")
    directory = request.getfixturevalue("data_dir") / "illumina_na12878"
    reference = directory / "chr20.hg19.fa.gz"
    loci = truth_loci(reference, directory / f"{request.param}.truth.dev.vcf.gz")
    assert len(loci) > 40
    fasta = tmp_path_factory.mktemp("haplotypes") / "haplotypes.fa"
    write_haplotypes(fasta, loci)
    return sample_of(directory / f"{request.param}.chr20.dev.bam", fasta, reference, count=48)


def assert_as_expected(
    lines: Sequence[str], sample: Sample, rules: Rules, chosen: Sequence[str] | None = None
) -> None:
    """Compare all columns of the records that the chosen reads became."""
    found: dict[tuple[str, int], list[Record]] = {}
    for record in records(lines):
        found.setdefault(key(record), []).append(record)
    for line in chosen or sample.chosen:
        assert found.get(key(record_of(line)), []) == expected(line, sample.haplotypes, rules)


@pytest.mark.parametrize("threads", THREADS)
def test_haplotype_coordinates(sample: Sample, tmp_path: Path, threads: int) -> None:
    lines = sam_of(tmp_path, sample.bam, sample.fasta, threads=threads)
    assert_as_expected(lines, sample, Rules())
    assert [key(record) for record in records(lines)] == [key(r) for r in sample.within_loci]


ON_REFERENCE = [
    pytest.param([], Rules(), id="score"),
    pytest.param(["--always"], Rules(always=True), id="always"),
    pytest.param(["--best-by", "likelihood"], Rules(by_likelihood=True), id="likelihood"),
]


@pytest.mark.parametrize(("options", "rules"), ON_REFERENCE)
def test_reference_coordinates(
    sample: Sample, tmp_path: Path, options: list[str], rules: Rules
) -> None:
    """Some of the reads that may move are compared; all other records stay unchanged."""
    reference = ("--reference", sample.reference)
    found = body(sam_of(tmp_path, sample.bam, sample.fasta, *reference, *options))
    assert len(found) == len(sample.lines)
    chosen = movable_reads_of(sample, found, rules, 6 if rules.by_likelihood else 12)
    moved = 0
    for line, other in matched(sample.lines, found):
        if movable_read(line, sample.loci, rules) is None:
            assert apart_from_mates(record_of(other)) == apart_from_mates(record_of(line))
        elif line in chosen:
            correct = expected_on_reference(line, sample.loci, rules)
            assert apart_from_mates(record_of(other)) == apart_from_mates(correct)
            moved += correct != record_of(line)
    assert moved >= len(chosen) // 3


def movable_reads_of(sample: Sample, found: Sequence[str], rules: Rules, count: int) -> set[str]:
    """Choose reads that may move: half of them moved, half stayed."""
    kinds: dict[bool, list[str]] = {True: [], False: []}
    for line, other in matched(sample.lines, found):
        if movable_read(line, sample.loci, rules):
            kinds["\tOC:Z:" in other].append(line)
    assert kinds[True]
    return {
        line
        for kind in kinds.values()
        for line in kind[:: max(1, len(kind) // (count // 2))][: count // 2]
    }


def matched(lines: Sequence[str], found: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pair records before and after, of equal names and flags in the order of the file."""
    after: dict[tuple[str, int, str], list[str]] = {}
    for other in found:
        after.setdefault(identity(other), []).append(other)
    for line in lines:
        yield line, after[identity(line)].pop(0)
    assert not any(after.values())


def identity(line: str) -> tuple[str, int, str]:
    columns = line.split("\t")
    return columns[0], int(columns[1]) & ~2, columns[9]


def test_bases_and_qualities_stay(sample: Sample, tmp_path: Path) -> None:
    lines = sam_of(tmp_path, sample.bam, sample.fasta)
    assert [sequenced(r) for r in records(lines)] == [sequenced(r) for r in sample.within_loci]


def sequenced(record: Record) -> tuple[str, str]:
    """Return bases and qualities in the order in which they were sequenced."""
    bases, qualities = record.columns[9:]
    if int(record.columns[1]) & 16:
        return bases.translate(COMPLEMENTS)[::-1], qualities[::-1]
    return bases, qualities


def test_scores_equal_the_alignments(sample: Sample, tmp_path: Path) -> None:
    bases = {h.name: h.bases for h in sample.haplotypes}
    for record in records(sam_of(tmp_path, sample.bam, sample.fasta)):
        if record.columns[2] == "*":
            continue
        read = Read(list(record.columns))
        tags = {text[:2]: text[5:] for text in record.fields}
        haplotype = bases[record.columns[2]]
        start = int(record.columns[3]) - 1
        score = score_of(read.bases, read.cigar, start, haplotype, Rules().scoring)
        assert score == int(tags["AS"])
        assert int(tags["XS"]) <= score


def test_mismatches_as_samtools_counts_them(sample: Sample, tmp_path: Path) -> None:
    plain = tmp_path / "reference.fa"
    with pysam.FastaFile(str(sample.reference)) as fasta:
        plain.write_text("".join(f">{n}\n{fasta.fetch(n)}\n" for n in fasta.references))
    copy = Path(shutil.copy(sample.fasta, tmp_path / "haplotypes.fa"))
    for fasta_path, options in ((copy, []), (plain, ["--reference", sample.reference])):
        lines = body(sam_of(tmp_path, sample.bam, sample.fasta, *options))
        checked = body(with_mismatches_of_samtools(tmp_path, tmp_path / "out.sam", fasta_path))
        for line, other in zip(lines, checked, strict=True):
            if "OC:Z:" in line:  # the others stayed as in the input
                assert record_of(line) == record_of(other)


def test_all_writes_every_candidate(example: Sample, tmp_path: Path) -> None:
    lines = sam_of(tmp_path, example.bam, example.fasta, "--all")
    assert_as_expected(lines, example, Rules(write_all=True))
    primary = [key(r) for r in records(lines) if not int(r.columns[1]) & 0x100]
    assert primary == [key(r) for r in example.within_loci]


@pytest.mark.parametrize(
    ("options", "rules"),
    [
        (["--min-score", "0.9"], Rules(min_score=0.9)),
        (["--min-score", "1"], Rules(min_score=1)),
        (["--min-score", "0"], Rules(min_score=0)),
        (["-f", "16"], Rules(required=16)),
        (["-F", "0"], Rules(excluded=0)),
        (["-F", "DUP,READ2"], Rules(excluded=0x480)),
        (["-f", "REVERSE", "-F", "0x40"], Rules(required=16, excluded=0x40)),
    ],
)
def test_options_that_choose_reads(
    example: Sample, tmp_path: Path, options: list[str], rules: Rules
) -> None:
    lines = sam_of(tmp_path, example.bam, example.fasta, *options)
    duplicates = [line for line in example.lines if int(line.split("\t")[1]) & 0x400]
    assert_as_expected(lines, example, rules, [*example.chosen, *duplicates[:5]])
    if rules.min_score == 1:
        assert any(int(r.columns[1]) & 4 for r in records(lines))


@pytest.mark.parametrize("scoring", ["original", "3,-1,-4,-3"])
def test_scoring(example: Sample, tmp_path: Path, scoring: str) -> None:
    lines = sam_of(tmp_path, example.bam, example.fasta, "--scoring", scoring)
    assert_as_expected(lines, example, Rules(scoring=PRESETS["original"]), example.chosen[:20])
    assert_as_expected(lines, example, Rules(scoring=PRESETS["original"]), example.chosen[-20:])


REGIONS = (("chr20", 4_999, 5_050), ("chr20", 15_250, 16_000))


@pytest.mark.parametrize("as_bed", [False, True])
def test_regions(example: Sample, tmp_path: Path, as_bed: bool) -> None:
    if as_bed:
        bed = tmp_path / "targets.bed"
        bed.write_text("".join(f"{c}\t{start}\t{end}\n" for c, start, end in REGIONS))
        options = ["-L", str(bed)]
    else:
        options = [o for c, start, end in REGIONS for o in ("-r", f"{c}:{start + 1:,}-{end}")]
    lines = sam_of(tmp_path, example.bam, example.fasta, *options)
    keys = {
        key(record_of(line))
        for line in example.lines
        if any(Read(line.split("\t")).overlaps(region) for region in REGIONS)
    }
    everything = sam_of(tmp_path, example.bam, example.fasta)
    assert keys
    assert body(lines) == [x for x in body(everything) if key(record_of(x)) in keys]


def test_true_haplotypes_explain_the_reads(sample: Sample, tmp_path: Path) -> None:
    """Mismatches and gaps are fewer with the true haplotypes."""
    only_reference = tmp_path / "reference_haplotypes.fa"
    by_locus = {h.locus: h for h in reversed(sample.haplotypes)}
    only_reference.write_text(
        "".join(f">{h.name} {c}:{s + 1}-{e}\n{h.bases}\n" for (c, s, e), h in by_locus.items())
    )
    totals = []
    for fasta in (only_reference, sample.fasta):
        tags = [
            {text[:2]: text[5:] for text in record.fields}
            for record in records(sam_of(tmp_path, sample.bam, fasta))
        ]
        totals.append(
            (sum(int(t.get("NM", 0)) for t in tags), sum(int(t.get("AS", 0)) for t in tags))
        )
    (mismatches_before, score_before), (mismatches, score) = totals
    assert mismatches < 0.8 * mismatches_before
    assert score > score_before


def test_formats_have_the_same_records(example: Sample, tmp_path: Path) -> None:
    lines = sam_of(tmp_path, example.bam, example.fasta)
    for name, options in {
        "extension.bam": [],
        "chosen": ["-O", "bam"],
        "uncompressed.bam": ["-u"],
        "out.cram": [],
    }.items():
        path = tmp_path / name
        realign(example.bam, example.fasta, *options, "--no-PG", "-o", path, "-t", "2")
        pysam.quickcheck(str(path))
        with pysam.AlignmentFile(str(path), reference_filename=str(example.fasta)) as file:
            assert records([r.to_string() for r in file.fetch(until_eof=True)]) == records(lines)
            header = re.sub(r"\t(M5|UR):\S+", "", str(file.header))  # CRAM has them
            assert header.splitlines() == lines[: -len(body(lines))]
    sizes = [(tmp_path / name).stat().st_size for name in ("uncompressed.bam", "chosen")]
    assert sizes[0] > 1.5 * sizes[1]


def test_input_formats_give_the_same_records(example: Sample, tmp_path: Path) -> None:
    lines = sam_of(tmp_path, example.bam, example.fasta)
    sam, cram = tmp_path / "reads.sam", tmp_path / "reads.cram"
    pysam.view("-h", "--no-PG", "-o", str(sam), str(example.bam), catch_stdout=False)
    assert sam_of(tmp_path, sam, example.fasta) == lines
    fasta = str(example.reference)
    pysam.view("-C", "--no-PG", "-T", fasta, "-o", str(cram), str(example.bam), catch_stdout=False)
    pysam.index(str(cram))
    found = sam_of(tmp_path, cram, example.fasta, "--reference", example.reference)
    lines = sam_of(tmp_path, example.bam, example.fasta, "--reference", example.reference)
    assert [_without_edits(r) for r in records(found)] == [
        _without_edits(r) for r in records(lines)
    ]


def _without_edits(record: Record) -> Record:
    """Drop the tags that samtools adds to records of CRAM."""
    fields = (text for text in record.fields if text[:2] not in {"OA", "NM", "MD"})
    return Record(record.columns, frozenset(fields))


def test_header_in_haplotype_coordinates(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "out.bam"
    realign(sample.bam, sample.fasta, "--no-PG", "-o", path)
    before, after = (header_of(p).splitlines() for p in (sample.bam, path))
    assert after[0] == "@HD\tVN:1.6\tSO:unsorted"
    assert [x for x in after if x.startswith("@SQ")] == [
        f"@SQ\tSN:{h.name}\tLN:{len(h.bases)}" for h in sample.haplotypes
    ]
    rest = [x for x in before if not x.startswith(("@HD", "@SQ"))]
    assert [x for x in after if not x.startswith(("@HD", "@SQ"))] == rest


def test_header_in_reference_coordinates(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "out.bam"
    realign(sample.bam, sample.fasta, "--reference", sample.reference, "--no-PG", "-o", path)
    before, after = (header_of(p).splitlines() for p in (sample.bam, path))
    assert after == before


def test_programs_are_chained(example: Sample, tmp_path: Path) -> None:
    first, second = tmp_path / "first.bam", tmp_path / "second.bam"
    options = ["--reference", str(example.reference), "-t", "1"]
    realign(example.bam, example.fasta, *options, "-o", first)
    pysam.sort("-o", str(tmp_path / "sorted.bam"), str(first))
    pysam.index(str(tmp_path / "sorted.bam"))
    realign(tmp_path / "sorted.bam", example.fasta, *options, "-o", second)
    with pysam.AlignmentFile(str(second)) as file:
        programs = file.header.to_dict()["PG"]
    assert [(p["ID"], p.get("PP")) for p in programs] == [
        ("hapgpu", None),
        ("samtools", "hapgpu"),
        ("hapgpu.1", "samtools"),
    ]
    assert programs[2]["PN"] == "hapgpu"
    assert f"realign {tmp_path / 'sorted.bam'} {example.fasta}" in programs[2]["CL"]


@pytest.mark.parametrize(
    "clipped",
    [
        pytest.param(("5S138M7S", "9S141M", "148M2S", "140M10S"), id="soft"),
        pytest.param(("7H5S138M7S3H", "12H150M", "150M9H", "3H140M10S"), id="hard"),
    ],
)
def test_unusual_records(example: Sample, tmp_path: Path, clipped: Sequence[str]) -> None:
    """Clips, no bases, no qualities, tags of mates, no position, the other strand."""
    middle = ("chr20", 5_180, 5_220)
    within = [line for line in example.lines if Read(line.split("\t")).overlaps(middle)]
    plain = [x.split("\t") for x in within if x.split("\t")[5] == "150M"]
    made = [[f"made{number}", *columns[1:]] for number, columns in enumerate(plain[:9])]
    for columns, cigar in zip(made[:4], clipped, strict=True):
        columns[5] = cigar
    made[4][5], made[4][9:11] = "140M10S", ["*", "*"]
    made[5][10] = "*"
    made[6] += ["MQ:i:60", "ms:i:4000", "SA:Z:chr20,1,+,5M,0,0;", "XX:Z:kept", "NM:i:3"]
    made[7][1], made[7][4] = "77", "0"
    made[7][5] = "20S130M"
    made[8][1] = str(int(made[8][1]) | 0x100)
    nowhere = ["nowhere", "4", "*", "0", "0", "*", "*", "0", "0", *plain[0][9:11]]
    header = ["@SQ\tSN:chr20\tLN:20000", "@RG\tID:run1\tSM:sample"]
    sam = tmp_path / "made.sam"
    lines = ["\t".join(columns) for columns in [*made, nowhere]]
    sam.write_text("\n".join([*header, *lines, ""]))
    found = records(sam_of(tmp_path, sam, example.fasta, "-F", "0"))
    rules = Rules(excluded=0)
    correct = [r for line in lines for r in expected(line, example.haplotypes, rules)]
    assert len(correct) == len(made)
    for record, other in zip(found, correct, strict=True):
        assert record == other
    reference = ("--reference", example.reference)
    for options, moving in (([], rules), (["--always"], Rules(excluded=0, always=True))):
        found = records(sam_of(tmp_path, sam, example.fasta, "-F", "0", *reference, *options))
        for line, record in zip(lines, found, strict=True):
            assert record == expected_on_reference(line, example.loci, moving)
