"""`hapgpu haplotypes`: haplotypes of small cases, and of real samples against bcftools."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pysam
import pytest

from hapgpu.io.genome.regions import Region
from tests.cli.haplotypes.command import (
    BASES,
    COMMAND,
    Written,
    haplotypes_of,
    status_of,
    write_calls,
    write_reference,
)


def with_alleles(bases: str, locus: Region, alleles: Sequence[str]) -> str:
    """Apply alleles such as `12:A>T` to bases, from the last to the first."""
    edits = []
    for allele in alleles:
        position, change = allele.split(":")
        start, (old, new) = int(position) - 1, change.split(">")
        while old and new and old[-1] == new[-1]:
            old, new = old[:-1], new[:-1]
        while old and new and old[0] == new[0]:
            start, old, new = start + 1, old[1:], new[1:]
        edits.append((start, start + len(old), old, new))
    sequence = bases[: locus.end]
    for start, end, old, new in sorted(edits, reverse=True):
        assert sequence[start:end] == old
        sequence = sequence[:start] + new + sequence[end:]
    return sequence[locus.start :]


# Records, and the alleles of each haplotype that they make, in order. The reference:
#          1         2         3         4
# 123456789012345678901234567890123456789012
# AAAAACCCCCGATTACAGTCTTTTTGGGGGCATGCATGCATG
CASES: dict[str, tuple[list[str], list[str]]] = {
    "SNV": (["13 T G"], ["", "13:T>G"]),
    "lower case": (["13 t g"], ["", "13:T>G"]),
    "MNV": (["13 TT GA"], ["", "13:TT>GA"]),
    "insertion": (["13 T TGG"], ["", "13:T>TGG"]),
    "deletion": (["12 ATT A"], ["", "12:ATT>A"]),
    "right-anchored insertion": (["15 A GGA"], ["", "15:A>GGA"]),
    "right-anchored deletion": (["14 TA A"], ["", "14:TA>A"]),
    "both ends shared": (["11 GATTACA GACA"], ["", "11:GATTACA>GACA"]),
    "several alleles": (["13 T G,TA,C"], ["", "13:T>G", "13:T>TA", "13:T>C"]),
    "two records at one position": (
        ["13 T G", "13 T TA"],
        ["", "13:T>G", "13:T>TA", "13:T>G 13:T>TA"],
    ),
    "overlapping deletions": (
        ["12 ATT A", "13 TTA T"],
        ["", "12:ATT>A", "13:TTA>T"],
    ),
    "spanned": (["12 ATT A", "13 T C,*"], ["", "12:ATT>A", "13:T>C"]),
    "symbolic": (["13 T <DEL>,G", "15 A <DUP>"], ["", "13:T>G"]),
    "breakend": (["13 T G]chr1:9],G"], ["", "13:T>G"]),
    "nothing but symbolic": (["13 T <DEL>", "14 T *", "15 A ."], []),
    "reference as an allele": (["13 T T"], []),
    "first base": (["1 A C"], ["", "1:A>C"]),
    "last base": (["42 G C"], ["", "42:G>C"]),
    "contig replaced": ([f"1 {BASES} G"], ["", f"1:{BASES}>G"]),
    "two sites": (["13 T G", "15 A C"], ["", "13:T>G", "15:A>C", "13:T>G 15:A>C"]),
    "phased apart": (["13 T G GT 0|1", "15 A C GT 1|0"], ["15:A>C", "13:T>G"]),
    "phased together": (["13 T G GT 0|1", "15 A C GT 0|1"], ["", "13:T>G 15:A>C"]),
    "one phase set": (["13 T G GT:PS 0|1:8", "15 A C GT:PS 1|0:8"], ["15:A>C", "13:T>G"]),
    "two phase sets": (
        ["13 T G GT:PS 0|1:8", "15 A C GT:PS 0|1:9"],
        ["", "13:T>G", "15:A>C", "13:T>G 15:A>C"],
    ),
    "unphased": (
        ["13 T G GT 0/1", "15 A C GT 0/1"],
        ["", "13:T>G", "15:A>C", "13:T>G 15:A>C"],
    ),
    "unphased beside homozygous": (
        ["13 T G GT 0/1", "15 A C GT 1/1"],
        ["15:A>C", "13:T>G 15:A>C"],
    ),
    "only the genotype's alleles": (["13 T G,C,A GT 1/3"], ["13:T>G", "13:T>A"]),
    "missing": (["13 T G,C GT ./."], ["", "13:T>G", "13:T>C"]),
    "half missing": (["13 T G GT ./0"], ["", "13:T>G"]),
    "haploid": (["13 T G GT 1", "15 A C GT 0"], ["13:T>G"]),
    "triploid": (
        ["13 T G,C GT 0|1|2", "15 A C GT 1|0|1"],
        ["15:A>C", "13:T>G", "13:T>C 15:A>C"],
    ),
    "without variants": (["13 T G GT 0/0"], []),
    "two samples": (
        ["13 T G GT 0|1 0|0", "15 A C GT 0|1 1|0"],
        ["", "13:T>G 15:A>C", "15:A>C"],
    ),
    "deletion and the site that it removes": (
        ["12 ATT A GT 1|0", "13 T C,* GT 2|1"],
        ["12:ATT>A", "13:T>C"],
    ),
    "homozygous beside a deletion": (
        ["12 ATT A GT 0|1", "13 T C GT 1|1"],
        ["13:T>C", "12:ATT>A"],
    ),
    "contradiction": (["12 ATT A GT 1|0", "13 T C GT 1|0"], ["", "12:ATT>A"]),
}


@pytest.mark.parametrize("case", CASES)
def test_haplotypes_of_records(tmp_path: Path, case: str) -> None:
    records, expected = CASES[case]
    reference, calls = write_reference(tmp_path), write_calls(tmp_path, records)
    found = haplotypes_of(tmp_path, reference, calls, "--flank", "6")
    assert [" ".join(one.alleles) for one in found] == expected
    assert all(one.sequence == with_alleles(BASES, one.locus, one.alleles) for one in found)
    assert len({(one.locus, one.sequence) for one in found}) == len(found)


def test_equivalent_alleles_are_one_haplotype(tmp_path: Path) -> None:
    calls = write_calls(tmp_path, ["12 AT A", "13 TT T", "14 TA A"])
    unchanged, changed, *others = haplotypes_of(tmp_path, write_reference(tmp_path), calls)
    assert unchanged.alleles == ()
    assert changed.alleles == ("12:AT>A", "13:TT>T", "14:TA>A")
    assert changed.sequence == BASES.replace("TTAC", "TAC")
    assert [one.sequence for one in others] == [BASES.replace("TTAC", "AC")]


def test_flanks_and_names(tmp_path: Path) -> None:
    reference = write_reference(tmp_path)
    calls = write_calls(tmp_path, ["3 A C", "13 T G", "30 G T"])
    found = haplotypes_of(tmp_path, reference, calls, "--flank", "8")
    assert [(one.name, str(one.locus)) for one in found] == [
        ("chr1_1_1", "chr1:1-11"),
        ("chr1_1_2", "chr1:1-11"),
        ("chr1_5_1", "chr1:5-21"),
        ("chr1_5_2", "chr1:5-21"),
        ("chr1_22_1", "chr1:22-38"),
        ("chr1_22_2", "chr1:22-38"),
    ]


def test_an_indel_in_a_repeat_has_its_flanks_beyond_the_repeat(tmp_path: Path) -> None:
    reference, calls = write_reference(tmp_path), write_calls(tmp_path, ["20 CT C"])
    (first, _) = haplotypes_of(tmp_path, reference, calls, "--flank", "2")
    assert first.locus == Region("chr1", 17, 27)


@pytest.mark.parametrize("contig", ["HLA-A*01:01:01:01", "x::y:5-9", "chr1_5", "a,b", "ünder"])
def test_contigs_with_odd_names(tmp_path: Path, contig: str) -> None:
    reference = write_reference(tmp_path, contig=contig)
    calls = write_calls(tmp_path, ["13 T G", "14 T C"], contig)
    found = haplotypes_of(tmp_path, reference, calls, "--flank", "0")
    assert {one.locus.contig for one in found} == {contig}
    assert len(found) == 6 - 2 * (found[0].locus.end - found[0].locus.start == 2)


def test_combinations_are_limited_and_loci_cut(tmp_path: Path) -> None:
    """Of nine SNVs with three alleles each, no four stay within 64 combinations."""
    reference = write_reference(tmp_path)
    alleles = {base: ",".join(sorted(set("ACGT") - {base})[:2]) for base in "ACGT"}
    sites = [f"{k} {BASES[k - 1]} {alleles[BASES[k - 1]]}" for k in range(3, 30, 3)]
    report = tmp_path / "run.json"
    found = haplotypes_of(
        tmp_path, reference, write_calls(tmp_path, sites), "--flank", "10", "--json", report
    )
    loci = {one.locus for one in found}
    by_locus = {locus: [one.alleles for one in found if one.locus == locus] for locus in loci}
    assert all(len(carried) <= 64 for carried in by_locus.values())
    assert all(carried.count(()) == 1 for carried in by_locus.values())
    single = {one.alleles[0] for one in found if len(one.alleles) == 1}
    assert single == {
        f"{position}:{old}>{new}"
        for position, old, news in map(str.split, sites)
        for new in news.split(",")
    }
    counts = json.loads(report.read_text())["counts"]
    assert counts["locus_splits"] == len(loci) - 1 > 0
    assert counts["haplotypes"] == len(found)


def test_every_allele_of_a_site_is_kept(tmp_path: Path) -> None:
    insertions = ["T" + "".join(bases) for bases in product("ACG", repeat=4)]
    calls = write_calls(tmp_path, [f"13 T {','.join(insertions)}", "14 T C"])
    found = haplotypes_of(tmp_path, write_reference(tmp_path), calls, "--flank", "5")
    assert {one.alleles for one in found} >= {(f"13:T>{text}",) for text in insertions}
    assert len({one.name for one in found}) == len(found)


def test_loci_of_equal_bases_name_each_haplotype_once(tmp_path: Path) -> None:
    """Three records of five alleles at one position are split, with the same flanks."""
    alleles = [f"T{base * length}" for length in range(1, 5) for base in "ACG"]
    records = [f"13 T {','.join(alleles[k : k + 4])}" for k in (0, 4, 8)]
    calls = write_calls(tmp_path, records)
    found = haplotypes_of(tmp_path, write_reference(tmp_path), calls, "--flank", "5")
    assert len({one.locus for one in found}) == 1
    assert len({one.sequence for one in found}) == len(found)
    assert len([one for one in found if len(one.alleles) == 1]) == 12


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-r", "chr1:13-13"], {"13:T>G"}),
        (["-r", "chr1:14-15", "-r", "chr1:30"], {"12:ATT>A", "30:G>T"}),
        (["-L", "targets.bed"], {"12:ATT>A", "13:T>G", "30:G>T"}),
        (["-L", "targets.bed", "-r", "chr1:14-20"], {"12:ATT>A"}),  # its REF overlaps both
        (["-r", "chr1:40-42"], set()),
    ],
)
def test_regions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], expected: set[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("targets.bed").write_text("chr1\t12\t13\nchr1\t29\t30\n")
    calls = write_calls(tmp_path, ["12 ATT A", "13 T G", "30 G T"])
    if "chr1:13-13" in options:
        expected = expected | {"12:ATT>A"}  # its REF covers 12 to 14
    found = haplotypes_of(tmp_path, write_reference(tmp_path), calls, "--flank", "2", *options)
    assert {allele for one in found for allele in one.alleles} == expected


def test_the_same_from_any_kind_of_file(tmp_path: Path) -> None:
    reference, calls = write_reference(tmp_path), write_calls(tmp_path, ["13 T G", "15 A C"])
    expected = haplotypes_of(tmp_path, reference, calls)
    zipped = tmp_path / "calls.vcf.gz"
    zipped.write_bytes(gzip.compress(calls.read_bytes()))
    assert haplotypes_of(tmp_path, reference, zipped) == expected
    output = tmp_path / "from_pipe.fa"
    for given in (calls, zipped):
        with given.open("rb") as stream:
            subprocess.run(
                [*COMMAND, str(reference), "-", "-q", "-o", str(output)], stdin=stream, check=True
            )
        assert output.read_text() == (tmp_path / "haplotypes.fa").read_text()


def test_excluded_alleles_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = ["5 A <DEL>", "12 ATT A GT 1|0", "13 T C,* GT 1|2"]
    calls = write_calls(tmp_path, ["5 A <DEL> GT 0|1", *records[1:]])
    report = tmp_path / "run.json"
    arguments = [write_reference(tmp_path), calls, "--flank", "3", "--json", report]
    assert status_of(*arguments, "-o", tmp_path / "out.fa") == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("hapgpu haplotypes: 1 symbolic")
    assert lines[1].startswith("hapgpu haplotypes: 1 alleles '*'")
    assert lines[2].startswith("hapgpu haplotypes: 1 alleles excluded: genotypes")
    statistics = json.loads(report.read_text())
    assert statistics["command"] == "haplotypes"
    assert statistics["counts"]["records"] == 3


def test_a_reader_that_ends_early(tmp_path: Path) -> None:
    """A closed pipe ends the command without a message, with the status of SIGPIPE."""
    bases = "ACGT" * 25_000
    calls = write_calls(tmp_path, [f"{k} A C" for k in range(1, 99_000, 40)])
    command = [*COMMAND, str(write_reference(tmp_path, bases)), str(calls), "--flank", "9"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == b">"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def real(data_dir: Path, name: str) -> tuple[Path, Path]:
    directory = data_dir / "illumina_na12878"
    return directory / "chr20.hg19.fa.gz", directory / f"{name}.dev.vcf.gz"


def chromosomes(reference: Path, calls: Path, loci: Sequence[Region]) -> list[set[str]]:
    """Return the haplotypes of each chromosome at some loci, by bcftools."""
    names = [str(locus) for locus in loci]
    with pysam.FastaFile(str(reference)) as bases:
        fasta = "".join(f">{name}\n{bases.fetch(region=name)}\n" for name in names)
    found: list[set[str]] = [set() for _ in loci]
    for copy in "12":
        done = subprocess.run(
            ["bcftools", "consensus", "-H", copy, str(calls)],
            input=fasta,
            capture_output=True,
            text=True,
            check=True,
        )
        for at, text in enumerate(done.stdout.split(">")[1:]):
            name, _, lines = text.partition("\n")
            assert name == names[at]
            found[at].add(lines.replace("\n", ""))
    return found


def heterozygous(calls: Path) -> list[tuple[Region, bool]]:
    """Return the heterozygous positions, and whether their genotypes are phased."""
    with pysam.VariantFile(str(calls)) as records:
        return [
            (Region(record.contig, record.start, record.stop), record.samples[0].phased)
            for record in records
            if len(set(record.samples[0]["GT"])) > 1
        ]


@pytest.mark.skipif(shutil.which("bcftools") is None, reason="needs bcftools")
@pytest.mark.parametrize("sample", ["NA12878", "HG002"])
def test_phased_truth_as_bcftools_consensus_makes_it(
    data_dir: Path, tmp_path: Path, sample: str
) -> None:
    reference, calls = real(data_dir, f"{sample}.truth")
    by_locus: dict[Region, list[Written]] = {}
    for one in haplotypes_of(tmp_path, reference, calls):
        by_locus.setdefault(one.locus, []).append(one)
    loci = list(by_locus)
    sites = heterozygous(calls)
    compared = 0
    for locus, expected in zip(loci, chromosomes(reference, calls, loci), strict=True):
        phases = [is_phased for site, is_phased in sites if locus.overlaps(site)]
        if all(phases) or len(phases) == 1:
            assert {one.sequence for one in by_locus[locus]} == expected
            compared += 1
    assert compared > 70


def test_real_sites(data_dir: Path, tmp_path: Path) -> None:
    """Sites without genotypes give the reference and each allele alone."""
    reference, calls = real(data_dir, "sites")
    found = haplotypes_of(tmp_path, reference, calls)
    references = {one.locus: one.sequence for one in found if not one.alleles}
    assert set(references) == {one.locus for one in found}
    with pysam.FastaFile(str(reference)) as fasta:
        for locus, sequence in references.items():
            assert sequence == fasta.fetch(locus.contig, locus.start, locus.end).upper()
    single = {one.alleles[0] for one in found if len(one.alleles) == 1}
    with pysam.VariantFile(str(calls)) as records:
        expected = {f"{r.pos}:{r.ref}>{alt}" for r in records for alt in r.alts or ()}
    # Two of them may read the same, of which one is named.
    assert single <= expected
    assert len(expected - single) <= 2


def test_records_at_telomeres_are_excluded_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = write_reference(tmp_path)
    end = len(BASES) + 1
    records = ["0 N .[13:123[", "0 N A", "13 T G", f"{end} N <DEL>", f"{end} N A,C"]
    path, counts = tmp_path / "out.fa", tmp_path / "counts.json"
    calls = write_calls(tmp_path, records)
    assert status_of(reference, calls, "-o", path, "--json", counts) == 0
    assert json.loads(counts.read_text())["counts"]["telomere_records"] == 4
    assert "4 records excluded: at a telomere" in capsys.readouterr().err
    alone = haplotypes_of(tmp_path, reference, write_calls(tmp_path, ["13 T G"]))
    assert path.read_text() == (tmp_path / "haplotypes.fa").read_text()
    assert len(alone) == 2
