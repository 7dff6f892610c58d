"""`hapgpu call` with given alleles, joined substitutions, and without spanning alleles."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pysam
import pytest

from tests.cli.call.command import Inputs, called, make_inputs, records_in, status_of, text_of
from tests.cli.in_process import error_of_command

Allele = tuple[int, str, str]
"""0-based position, REF, ALT."""

HEAD = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
LOST = "alleles of --alleles not called"
HETEROZYGOUS = 5205, "T", "A"
"""A variant of the example, which has a QUAL below 9000."""
DATA = "illumina_na12878"
NINE = """10000694 G A
10001436 A AAGGCT
10001661 T C
10004094 A T
10004769 TAAAACTATGC T
10004771 A T
10006819 AAAAC A
10006823 C G
10008738 C CGTTT,CGTTTGTTT"""
"""GATK's testGenotypeGivenAllelesMode_givenAlleles.vcf."""


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def real(data_dir: Path) -> Inputs:
    directory = data_dir / DATA
    return Inputs(directory / "NA12878.chr20.dev.bam", directory / "chr20.hg19.fa.gz")


def write_vcf(path: Path, alleles: Sequence[Allele], filter_: str = ".") -> Path:
    lines = [
        f"chr20\t{start + 1}\t.\t{ref}\t{alt}\t.\t{filter_}\t.\n"
        for start, ref, alt in sorted(alleles)
    ]
    path.write_text(HEAD + "".join(lines))
    return path


def bases_of(inputs: Inputs, start: int, end: int) -> str:
    with pysam.FastaFile(str(inputs.reference)) as fasta:
        return str(fasta.fetch("chr20", start, end)).upper()


def normal(allele: Allele, bases: str, first: int) -> Allele:
    """Trim an insertion, deletion or substitution, and move it left."""
    start, ref, alt = allele
    while ref[-1:] == alt[-1:] or not (ref and alt):
        if ref[-1:] == alt[-1:]:
            ref, alt = ref[:-1], alt[:-1]
        if not (ref and alt):
            start -= 1
            ref, alt = bases[start - first] + ref, bases[start - first] + alt
    while len(ref) > 1 and len(alt) > 1 and ref[0] == alt[0]:
        start, ref, alt = start + 1, ref[1:], alt[1:]
    return start, ref, alt


def random_alleles(seed: int, bases: str, first: int, count: int) -> list[Allele]:
    """Draw substitutions, insertions and deletions, also ones that are not left-aligned."""
    source = random.Random(seed)  # noqa: S311  (data for a test)
    alleles = set()
    for _ in range(count):
        at = source.randrange(300, len(bases) - 300)
        ref = bases[at]
        kind = source.randrange(3)
        if kind == 0:
            alt = source.choice([base for base in "ACGT" if base != ref])
        elif kind == 1:
            alt = ref + "".join(source.choices("ACGT", k=source.randint(1, 12)))
        else:
            ref, alt = bases[at : at + source.randint(2, 30)], ref
        alleles.add((first + at, ref, alt))
    return sorted(alleles)


def found_in(text: str, bases: str, first: int) -> set[Allele]:
    return {
        normal((int(row[1]) - 1, row[3], alt), bases, first)
        for row in records_in(text)
        for alt in row[4].split(",")
        if alt[0] not in "*<."
    }


@pytest.mark.parametrize("mode", [(), ("--stand-call-conf", "9000"), ("--gvcf",)])
def test_no_allele_gets_lost(example: Inputs, tmp_path: Path, mode: tuple[str, ...]) -> None:
    first, last = 4600, 5900
    bases = bases_of(example, first, last)
    alleles = [*random_alleles(len(mode), bases, first, 60), HETEROZYGOUS]
    vcf = write_vcf(tmp_path / "given.vcf", alleles)
    region = f"chr20:{first + 1}-{last}"
    text = called(tmp_path, *example, "--alleles", vcf, "-r", region, *mode)
    assert {normal(allele, bases, first) for allele in alleles} <= found_in(text, bases, first)
    filters = {row[1]: row[6] for row in records_in(text)}
    assert filters["5206"] == ("LowQual" if "9000" in mode else ".")
    assert "##FILTER=<ID=LowQual," in text


def test_segments_and_threads(example: Inputs, tmp_path: Path) -> None:
    bases = bases_of(example, 4600, 5900)
    vcf = write_vcf(tmp_path / "given.vcf", random_alleles(5, bases, 4600, 80))
    words = [*example, "--alleles", vcf]
    texts = [called(tmp_path, *words, threads=threads) for threads in (1, 4)]
    assert texts[0] == texts[1]
    blocks = [called(tmp_path, *words, "--gvcf", threads=threads) for threads in (1, 3)]
    assert blocks[0] == blocks[1]


def test_without_alleles_or_with_called_ones_nothing_changes(
    example: Inputs, tmp_path: Path
) -> None:
    """Also QUAL and genotypes of alleles that are called anyway."""
    plain = called(tmp_path, *example)
    none = called(tmp_path, *example, "--alleles", write_vcf(tmp_path / "no.vcf", []))
    assert records_in(none) == records_in(plain)
    rows = [(int(row[1]) - 1, row[3], row[4]) for row in records_in(plain)[:5]]
    some = called(tmp_path, *example, "--alleles", write_vcf(tmp_path / "own.vcf", rows))
    summary = [row[:7] + row[9:] for row in records_in(some)]
    for row in records_in(plain)[:5]:
        assert row[:5] in [own[:5] for own in summary]


def test_lost_alleles_are_counted(
    example: Inputs, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One is where no read is, one outside of the region."""
    bases = bases_of(example, 0, 10_000)
    at = next(k for k in range(5050, 5100) if bases[k] in "AC")
    rows = [(at, bases[at], "G"), (2, bases[2], "A" if bases[2] != "A" else "C")]
    vcf = write_vcf(tmp_path / "given.vcf", [*rows, (9000, bases[9000], bases[9000] + "A")])
    out, report = tmp_path / "out.vcf", tmp_path / "out.json"
    region = ("-r", "chr20:1-8000")
    assert status_of(*example, *region, "--alleles", vcf, "-o", out, "--json", report) == 0
    assert str(at + 1) in [row[1] for row in records_in(text_of(out))]
    counts = json.loads(report.read_text())["counts"]
    is_read = "3" in [row[1] for row in records_in(text_of(out))]
    assert counts["given_alleles"] == 2
    assert counts["given_alleles_lost"] == 1 - is_read
    if not is_read:
        assert f"1 {LOST}" in capfd.readouterr().err


def test_filtered_alleles(example: Inputs, tmp_path: Path) -> None:
    bases = bases_of(example, 4600, 5900)
    alleles = [allele for allele in random_alleles(7, bases, 4600, 9) if len(allele[1]) == 1]
    vcf = write_vcf(tmp_path / "given.vcf", alleles, "q10")
    region = ("-r", "chr20:4601-5900")
    plain = records_in(called(tmp_path, *example, *region))
    assert records_in(called(tmp_path, *example, *region, "--alleles", vcf)) == plain
    words = ("--alleles", vcf, "--force-call-filtered-alleles")
    text = called(tmp_path, *example, *region, *words)
    wanted = {normal(allele, bases, 4600) for allele in alleles}
    assert wanted <= found_in(text, bases, 4600)


def test_the_nine_alleles_of_gatk(real: Inputs, tmp_path: Path) -> None:
    """Also 10004193 G>T, which only agrees with a given allele, as in GATK's output."""
    rows = [line.split() for line in NINE.splitlines()]
    vcf = write_vcf(tmp_path / "given.vcf", [(int(p) - 1, ref, alt) for p, ref, alt in rows])
    words = ("--alleles", vcf, "-r", "chr20:10,000,000-10,010,000", "--stand-call-conf", "1000")
    found = {int(row[1]): row for row in records_in(called(tmp_path, *real, *words))}
    for position, ref, alts in rows:
        record = found[int(position)]
        assert record[3] == ref
        assert set(alts.split(",")) <= set(record[4].split(","))
    assert found[10004094][4] == "C,T"
    assert found[10004771][3:7] == ["A", "*,T", "0", "LowQual"]
    assert found[10006823][3:7] == ["C", "*,G", "0", "LowQual"]
    assert found[10004193][3:7] == ["G", "T", "0", "LowQual"]
    assert found[10008738][9].startswith("0/0:19,0,0:")
    assert "QD" not in found[10008738][7]


@pytest.mark.parametrize(
    "mode",
    [
        (),
        pytest.param(("--gvcf",), marks=pytest.mark.exhaustive),
        pytest.param(("--max-mnp-distance", "2"), marks=pytest.mark.exhaustive),
    ],
)
def test_real_reads(real: Inputs, tmp_path: Path, mode: tuple[str, ...]) -> None:
    first, last = 10_000_000, 10_010_000
    bases = bases_of(real, first, last)
    alleles = random_alleles(11, bases, first, 400)
    vcf = write_vcf(tmp_path / "given.vcf", alleles)
    words = ("--alleles", vcf, "-r", f"chr20:{first + 1}-{last}", *mode)
    text = called(tmp_path, *real, *words)
    wanted = {normal(allele, bases, first) for allele in alleles}
    missing = wanted - found_in(text, bases, first)
    if mode[:1] != ("--max-mnp-distance",):
        assert not missing
    report = tmp_path / "x.json"
    assert status_of(*real, *words, "-q", "-o", tmp_path / "y.vcf", "--json", report) == 0
    assert json.loads(report.read_text())["counts"]["given_alleles_lost"] == 0


def test_joined_substitutions(real: Inputs, tmp_path: Path) -> None:
    """The records differ only where substitutions of a haplotype are near."""
    region = ("-r", "chr20:10,000,000-10,050,000")
    plain = called(tmp_path, *real, *region)
    assert called(tmp_path, *real, *region, "--max-mnp-distance", "0") == plain
    joined = records_in(called(tmp_path, *real, *region, "--max-mnp-distance", "3"))
    rows = {(row[1], row[3], row[4]) for row in records_in(plain)}
    new = [row for row in joined if (row[1], row[3], row[4]) not in rows]
    assert new
    assert any(len(row[3]) == len(row[4]) > 1 for row in new)
    assert all(len(row[3]) <= 40 for row in new)


def test_without_spanning_alleles(real: Inputs, tmp_path: Path) -> None:
    """A given substitution is within a deletion, which is called too."""
    vcf = write_vcf(tmp_path / "given.vcf", [(10_004_770, "A", "T")])
    region = ("-r", "chr20:10,004,000-10,006,000", "--alleles", vcf)
    plain = called(tmp_path, *real, *region)
    without = called(tmp_path, *real, *region, "--disable-spanning-event-genotyping")
    assert any("*" in row[4] for row in records_in(plain))
    assert not any("*" in row[4] for row in records_in(without))
    others = [row for row in records_in(plain) if "*" not in row[4]]
    known = {tuple(row) for row in records_in(without)}
    assert all(tuple(row) in known for row in others)


def test_all_dangling_branches(example: Inputs, tmp_path: Path) -> None:
    plain = records_in(called(tmp_path, *example))
    recovered = records_in(called(tmp_path, *example, "--recover-all-dangling-branches"))
    assert {row[1] for row in plain[:5]} <= {row[1] for row in recovered}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--max-mnp-distance", "1", "--gvcf"), "--max-mnp-distance: no effect in a genomic VCF"),
        (("--force-call-filtered-alleles",), "--force-call-filtered-alleles: no effect without"),
        (("--max-mnp-distance", "-1"), "--max-mnp-distance"),
        (("--alleles", "none.vcf"), "none.vcf"),
        (("--alleles", "empty.vcf"), "empty"),
        (("--alleles", "binary.vcf"), "binary.vcf"),
        (("--alleles", "wrong.vcf"), "wrong.vcf, line 3: REF has"),
        (("--alleles", "unsorted.vcf"), "not sorted"),
        (("--alleles", "contig.vcf"), "contig 'other' is not in"),
    ],
)
def test_refused(
    example: Inputs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.vcf").write_bytes(b"")
    Path("binary.vcf").write_bytes(bytes(range(256)) * 9)
    base = bases_of(example, 5000, 5001)
    wrong = "A" if base != "A" else "C"
    write_vcf(Path("wrong.vcf"), [(5000, wrong, base)])
    lines = f"chr20\t5001\t.\t{base}\t{wrong}\t.\t.\t.\nchr20\t9\t.\tA\tC\t.\t.\t.\n"
    Path("unsorted.vcf").write_text(HEAD + lines)
    Path("contig.vcf").write_text(HEAD + "other\t9\t.\tA\tC\t.\t.\t.\n")
    assert status_of(*example, *words, "-o", "out.vcf") in {1, 2}
    assert message in error_of_command("call", capsys)
    assert not Path("out.vcf").exists()


def test_distance_0_is_no_option_of_a_genomic_vcf(example: Inputs, tmp_path: Path) -> None:
    """It changes nothing in GATK."""
    region = ("-r", "chr20:5000-5300", "--gvcf")
    text = called(tmp_path, *example, *region, "--max-mnp-distance", "0")
    assert text == called(tmp_path, *example, *region)


def test_the_given_file_is_not_written_over(
    example: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vcf = write_vcf(tmp_path / "given.vcf", [])
    assert status_of(*example, "--alleles", vcf, "-o", vcf) == 2
    assert "is also an input" in error_of_command("call", capsys)
