"""`hapgpu realign --best-by likelihood`: the best haplotype by the pair-HMM, as in GATK."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pysam
import pytest

from tests.cli.realign.command import (
    body,
    haplotypes_of,
    lines_of,
    make_example,
    records,
    sam_of,
    status_of,
)
from tests.cli.realign.small_reads import write_small_reads
from tests.realign.move_oracle import Loci, expected_on_reference
from tests.realign.realign_oracle import COMPLEMENTS, Record, Rules, expected

BY_LIKELIHOOD = ("--best-by", "likelihood")
SMALL_READS = 150

# Without repeats, so that all gap opens are alike.
LEFT, RIGHT = "GATTCGCAAGTCTGACCATG", "TGCATCCGTACTAGGACTTA"
FIRST, SECOND = "ACGTCA", "CCGTCT"
HAPLOTYPES = {"first": LEFT + FIRST + RIGHT, "second": LEFT + SECOND + RIGHT}
READ = LEFT[4:] + "CCGTCA" + RIGHT[:-4]
# At this offset the read has the base of the second, and five bases later the base of the first.
AT = len(LEFT) - 4


def lines_in(directory: Path) -> list[str]:
    return body((directory / "reads.sam").read_text().splitlines())


def with_indel_qualities(line: str, random: Random) -> str:
    """Add indel qualities to a read, as base recalibration does."""
    length = len(line.split("\t")[9])
    texts = ["".join(chr(33 + random.randint(3, 60)) for _ in range(length)) for _ in range(2)]
    return f"{line}\tBI:Z:{texts[0]}\tBD:Z:{texts[1]}"


@pytest.fixture(scope="module", params=["AC", "ACGTN"])
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = write_small_reads(tmp_path_factory.mktemp("small"), request.param, SMALL_READS)
    random = Random(3)  # noqa: S311  (the same data on every run)
    header, *lines = (directory / "reads.sam").read_text().splitlines()
    lines[::3] = [with_indel_qualities(line, random) for line in lines[::3]]
    (directory / "reads.sam").write_text("\n".join([header, *lines, ""]))
    return directory


@pytest.mark.parametrize("write_all", [False, True])
def test_small_reads(small: Path, tmp_path: Path, write_all: bool) -> None:
    haplotypes = haplotypes_of(small / "haplotypes.fa")
    options = ["--all"] * write_all
    rules = Rules(by_likelihood=True, write_all=write_all)
    arguments = (small / "reads.sam", small / "haplotypes.fa", *options)
    found = records(sam_of(tmp_path, *arguments, *BY_LIKELIHOOD))
    correct = [record for line in lines_in(small) for record in expected(line, haplotypes, rules)]
    assert len(found) == len(correct) > SMALL_READS / 3
    for record, other in zip(found, correct, strict=True):
        assert record == other
    assert found != records(sam_of(tmp_path, *arguments))


@pytest.mark.parametrize("always", [False, True])
def test_small_reads_on_the_reference(small: Path, tmp_path: Path, always: bool) -> None:
    loci = Loci(haplotypes_of(small / "haplotypes.fa"), small / "reference.fa")
    rules = Rules(by_likelihood=True, always=always)
    arguments = (small / "reads.sam", small / "haplotypes.fa", "--reference", loci.reference)
    options = ["--always"] * always
    found = records(sam_of(tmp_path, *arguments, *options, *BY_LIKELIHOOD))
    for line, record in zip(lines_in(small), found, strict=True):
        assert record == expected_on_reference(line, loci, rules)
    assert found != records(sam_of(tmp_path, *arguments, *options))


def test_reads_of_a_locus(tmp_path: Path) -> None:
    """A few reads of ordinary length."""
    directory = make_example(tmp_path)
    haplotypes = haplotypes_of(directory / "haplotypes.fa")
    lines = sam_of(tmp_path, directory / "reads.bam", directory / "haplotypes.fa", *BY_LIKELIHOOD)
    found = {(r.columns[0], int(r.columns[1]) & 0xC0): r for r in records(lines)}
    rules = Rules(by_likelihood=True)
    chosen = []
    for line in lines_of(directory / "reads.bam")[::200]:
        name, flag = line.split("\t")[:2]
        for record in expected(line, haplotypes, rules):
            assert found[name, int(flag) & 0xC0] == record
            chosen.append(record.columns[2])
    assert len(set(chosen)) > 1


def write_haplotypes(directory: Path, haplotypes: dict[str, str], locus: str = "") -> Path:
    fasta = directory / "haplotypes.fa"
    fasta.write_text("".join(f">{name}{locus}\n{bases}\n" for name, bases in haplotypes.items()))
    return fasta


def sam_line(
    bases: str, qualities: Sequence[int], *tags: str, flag: int = 0, mapping_quality: int = 60
) -> str:
    text = "".join(chr(33 + quality) for quality in qualities)
    position = ("*", 0) if flag & 4 else ("chr", 5)
    cigar = "*" if flag & 4 else f"{len(bases)}M"
    columns = ("read", flag, *position, mapping_quality, cigar, "*", 0, 0, bases, text, *tags)
    return "\t".join(map(str, columns))


def chosen_by(directory: Path, fasta: Path, line: str, *options: str) -> Record:
    """Realign a read; return its primary record."""
    sam = directory / "reads.sam"
    sam.write_text(f"@SQ\tSN:chr\tLN:100\n{line}\n")
    found = records(sam_of(directory, sam, fasta, *options))
    return next(record for record in found if not int(record.columns[1]) & 0x100)


def flat(*changes: tuple[int, int]) -> list[int]:
    """Return qualities of 40 except at some positions."""
    return [dict(changes).get(k, 40) for k in range(len(READ))]


@pytest.mark.parametrize(
    ("qualities", "mapping_quality", "by_likelihood"),
    [
        pytest.param(flat(), 60, "first", id="alike: the first in the file"),
        pytest.param(flat((AT, 20)), 60, "first", id="the base that is the second's is bad"),
        pytest.param(flat((AT + 5, 20)), 60, "second", id="the base that is the first's is bad"),
        pytest.param(flat((AT + 5, 20)), 15, "first", id="MAPQ makes both bad"),
        pytest.param(flat((AT + 5, 17), (AT, 3)), 60, "first", id="below 18 all are alike"),
        pytest.param(flat((AT + 5, 18), (AT, 3)), 60, "first", id="18 is better"),
        pytest.param(flat((AT + 5, 17), (AT, 18)), 60, "second", id="17 is worse"),
    ],
)
def test_one_mismatch_each(
    tmp_path: Path, qualities: list[int], mapping_quality: int, by_likelihood: str
) -> None:
    fasta = write_haplotypes(tmp_path, HAPLOTYPES)
    line = sam_line(READ, qualities, mapping_quality=mapping_quality)
    assert chosen_by(tmp_path, fasta, line).columns[2] == "first"
    assert chosen_by(tmp_path, fasta, line, *BY_LIKELIHOOD).columns[2] == by_likelihood


@pytest.mark.parametrize("low", [10, 39])
def test_two_bad_mismatches_or_a_good_one(tmp_path: Path, low: int) -> None:
    """Score counts mismatches, likelihood weighs them; AS and XS stay scores."""
    other = LEFT + "CCGTCA" + RIGHT[:10] + "A" + RIGHT[11:]  # one mismatch, of quality 40
    fasta = write_haplotypes(tmp_path, {"one": other, "two": LEFT + "ACGTCT" + RIGHT})
    line = sam_line(READ, flat((AT, low), (AT + 5, low)))
    by_score = chosen_by(tmp_path, fasta, line)
    assert by_score.columns[2] == "one"
    assert {"AS:i:355", "XS:i:330"} < by_score.fields
    by_likelihood = chosen_by(tmp_path, fasta, line, *BY_LIKELIHOOD)
    if low == 39:
        assert by_likelihood == by_score
    else:
        assert by_likelihood.columns[2] == "two"
        assert {"AS:i:330", "XS:i:355"} < by_likelihood.fields


def test_all_writes_the_likeliest_as_primary(tmp_path: Path) -> None:
    fasta = write_haplotypes(tmp_path, HAPLOTYPES)
    line = sam_line(READ, flat((AT + 5, 20)))
    assert chosen_by(tmp_path, fasta, line, "--all", *BY_LIKELIHOOD).columns[2] == "second"
    flags = [r.columns[1] for r in records((tmp_path / "out.sam").read_text().splitlines())]
    assert flags == ["256", "0"]


@pytest.mark.parametrize(
    ("tag", "name"), [((), "mismatch"), (("BI",), "gap"), (("BD",), "mismatch")]
)
def test_qualities_of_insertions(tmp_path: Path, tag: tuple[str, ...], name: str) -> None:
    """An insertion is more likely than a mismatch if BI makes it so."""
    inserted = READ[:AT] + "T" + READ[AT:]
    haplotypes = {"gap": LEFT + "CCGTCA" + RIGHT, "mismatch": LEFT + "GCCGTCA" + RIGHT}
    fasta = write_haplotypes(tmp_path, haplotypes)
    text = "".join(chr(33 + (8 if k == AT else 45)) for k in range(len(inserted)))
    qualities = [30 if k == AT else 40 for k in range(len(inserted))]
    line = sam_line(inserted, qualities, *(f"{t}:Z:{text}" for t in tag))
    assert chosen_by(tmp_path, fasta, line).columns[2] == "mismatch"
    assert chosen_by(tmp_path, fasta, line, *BY_LIKELIHOOD).columns[2] == name


@pytest.mark.parametrize("names", [("long", "short"), ("short", "long")])
def test_uninformative_likelihoods_are_ties(tmp_path: Path, names: tuple[str, str]) -> None:
    """A shorter haplotype is slightly more likely, only by its length."""
    known = {"short": LEFT + FIRST + RIGHT, "long": LEFT + FIRST + RIGHT + "ACGGTTCA"}
    fasta = write_haplotypes(tmp_path, {name: known[name] for name in names})
    line = sam_line((LEFT + FIRST + RIGHT)[2:-2], [40] * 42)
    assert chosen_by(tmp_path, fasta, line, *BY_LIKELIHOOD).columns[2] == names[0]


def line_at(position: int, cigar: str, bases: str, qualities: Sequence[int]) -> str:
    """Return a read at a 1-based position."""
    columns = sam_line(bases, qualities).split("\t")
    columns[3], columns[5] = str(position), cigar
    return "\t".join(columns)


LOCUS = " chr:21-66"  # of both haplotypes


def test_reads_are_clipped_to_the_locus(tmp_path: Path) -> None:
    """Bases beyond the locus do not count, with or without soft clips; the read stays whole."""
    # Only the tail resembles the tail of the second haplotype, which lies after the locus.
    tail = "GGCATTACGCAGGTACCTTA"
    haplotypes = {"second": LEFT + SECOND + RIGHT + tail, "first": LEFT + FIRST + RIGHT}
    fasta = write_haplotypes(tmp_path, haplotypes, LOCUS)
    bases = (LEFT + FIRST + RIGHT)[4:] + tail
    for cigar in ("62M", "42M20S"):
        line = line_at(25, cigar, bases, [40] * 62)
        assert chosen_by(tmp_path, fasta, line).columns[2] == "second"
        record = chosen_by(tmp_path, fasta, line, *BY_LIKELIHOOD)
        assert record.columns[2] == "first"
        assert record.columns[9] == bases


def test_a_read_at_two_loci(tmp_path: Path) -> None:
    """A read is written where more of its bases align, not where they are more likely."""
    fasta = tmp_path / "haplotypes.fa"
    near, far = LEFT + FIRST + RIGHT, "TTGACGGATACCATGCAGTA"
    fasta.write_text(f">far chr:67-86\n{far}\n>near chr:21-66\n{near}\n")
    bases = (near[:30] + "G" + near[31:] + far)[20:58]  # 26 bases at the first, 12 at the second
    line = line_at(41, "38M", bases, [40] * 38)
    assert chosen_by(tmp_path, fasta, line, *BY_LIKELIHOOD).columns[2] == "near"
    line = line_at(59, "38M", bases, [40] * 38)
    assert chosen_by(tmp_path, fasta, line, *BY_LIKELIHOOD).columns[2] == "far"


def test_a_locus_that_the_read_lacks(tmp_path: Path) -> None:
    """All bases of a read count if it has none at the locus."""
    fasta = write_haplotypes(tmp_path, HAPLOTYPES, " chr:30-40")
    line = line_at(2, f"19M20D{len(READ) - 19}M", READ, flat((AT + 5, 20)))
    assert chosen_by(tmp_path, fasta, line, *BY_LIKELIHOOD).columns[2] == "second"


def test_orientation_of_unmapped_reads(tmp_path: Path) -> None:
    """The reversed read has reversed qualities; MAPQ and tags do not count."""
    fasta = write_haplotypes(tmp_path, HAPLOTYPES)
    turned = READ.translate(COMPLEMENTS)[::-1]
    qualities = flat((AT + 5, 20))[::-1]
    tags = [f"{name}:Z:{'$' * len(READ)}" for name in ("BI", "BD")]
    line = sam_line(turned, qualities, *tags, flag=4, mapping_quality=0)
    record = chosen_by(tmp_path, fasta, line, *BY_LIKELIHOOD)
    assert (record.columns[1], record.columns[2], record.columns[9]) == ("16", "second", READ)


def test_orientation_at_a_single_haplotype(tmp_path: Path) -> None:
    """Two bad mismatches with the first half of the haplotype, a good one with the second."""
    first, second = LEFT + "ACGTCT" + RIGHT, LEFT + "CCGTCA" + RIGHT[:10] + "A" + RIGHT[11:]
    fasta = write_haplotypes(tmp_path, {"only": first + second.translate(COMPLEMENTS)[::-1]})
    line = sam_line(READ, flat((AT, 10), (AT + 5, 10)), flag=4)
    for options, flag, score in (((), "16", 355), (BY_LIKELIHOOD, "0", 330)):
        record = chosen_by(tmp_path, fasta, line, *options)
        assert record.columns[1] == flag
        assert f"AS:i:{score}" in record.fields
        assert not any(text.startswith("XS") for text in record.fields)


def test_fastq(tmp_path: Path) -> None:
    fasta = write_haplotypes(tmp_path, HAPLOTYPES)
    fastq = tmp_path / "reads.fastq"
    text = "".join(chr(33 + quality) for quality in flat((AT + 5, 20)))
    turned = READ.translate(COMPLEMENTS)[::-1]
    fastq.write_text(f"@one\n{READ}\n+\n{text}\n@two\n{turned}\n+\n{text[::-1]}\n")
    found = records(sam_of(tmp_path, fastq, fasta, *BY_LIKELIHOOD))
    assert [record.columns[:3] for record in found] == [
        ("one", "0", "second"),
        ("two", "16", "second"),
    ]


def test_lower_case_haplotypes(tmp_path: Path) -> None:
    """The pair-HMM treats lower case as upper case, as GATK reads references."""
    soft = {"other": LEFT + "CCGGGA" + RIGHT, "lower": LEFT + "CCgtca" + RIGHT}
    fasta = write_haplotypes(tmp_path, soft)
    assert chosen_by(tmp_path, fasta, sam_line(READ, flat())).columns[2] == "other"
    record = chosen_by(tmp_path, fasta, sam_line(READ, flat()), *BY_LIKELIHOOD)
    assert record.columns[2] == "lower"


def test_score_is_the_default(small: Path, tmp_path: Path) -> None:
    arguments = (small / "reads.sam", small / "haplotypes.fa")
    lines = sam_of(tmp_path, *arguments)
    assert sam_of(tmp_path, *arguments, "--best-by", "score") == lines
    assert sam_of(tmp_path, *arguments, *BY_LIKELIHOOD) != lines


def test_threads_change_nothing(small: Path, tmp_path: Path) -> None:
    arguments = (small / "reads.sam", small / "haplotypes.fa", *BY_LIKELIHOOD)
    assert sam_of(tmp_path, *arguments, threads=1) == sam_of(tmp_path, *arguments, threads=3)


@pytest.mark.parametrize("on_reference", [False, True])
def test_reads_without_qualities(tmp_path: Path, on_reference: bool) -> None:
    """Missing qualities are an error only if there are several candidates."""
    columns = line_at(25, f"{len(READ)}M", READ, flat()).split("\t")
    columns[10] = "*"
    sam = tmp_path / "reads.sam"
    sam.write_text("@SQ\tSN:chr\tLN:100\n" + "\t".join(columns) + "\n")
    reference = tmp_path / "reference.fa"
    reference.write_text(f">chr\n{'ACGGT' * 4}{LEFT}TAGCAT{RIGHT}{'TGCCA' * 7}\n")
    pysam.faidx(str(reference))
    arguments = ["-q", "--device", "cpu", "-o", tmp_path / "out.sam", *BY_LIKELIHOOD]
    arguments += ["--reference", reference] if on_reference else []
    alone = write_haplotypes(tmp_path, {"only": HAPLOTYPES["second"]}, LOCUS)
    assert status_of(sam, alone, *arguments) == 0


@pytest.mark.gpu
def test_the_gpu_chooses_the_same(small: Path, tmp_path: Path) -> None:
    outputs = []
    for device in ("cpu", "cuda"):
        out = tmp_path / f"{device}.sam"
        arguments = (small / "reads.sam", small / "haplotypes.fa", *BY_LIKELIHOOD, "--no-PG", "-q")
        assert status_of(*arguments, "--device", device, "-o", out) == 0
        outputs.append(out.read_text())
    assert outputs[0] == outputs[1]
