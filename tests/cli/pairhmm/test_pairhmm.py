"""`hapgpu pairhmm` from end to end, compared with reads prepared and scored one by one."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import pysam
import pytest

from tests.cli.pairhmm.command import COMMAND, Row, lines_of, rows_of, status_of
from tests.cli.realign.command import haplotypes_of, make_example
from tests.pairhmm.clipping_oracle import clip, prepare_part
from tests.pairhmm.forward.reference import likelihood_reference
from tests.pairhmm.made_reads import random_reads, write_sam
from tests.pairhmm.preparation_oracle import Rules, array_of, prepare_record
from tests.pairhmm.truth_sites import truth_sites, write_haplotypes

TOLERANCE = 1e-5
LENGTH = 260
LOCI = ((20, 60), (50, 85), (180, 210))
SWITCHES = {
    "": Rules(),
    "--pcr-model none": Rules(pcr_model="none"),
    "--pcr-model aggressive": Rules(pcr_model="aggressive"),
    "--pcr-model HOSTILE": Rules(pcr_model="hostile"),
    "--gap-open 30": Rules(gap_open=30),
    "--gap-continuation 3": Rules(gap_continuation=3),
    "--base-quality-score-threshold 30": Rules(threshold=30),
    "--disable-cap-base-qualities-to-map-quality": Rules(cap=False),
}


@dataclass(frozen=True)
class Made:
    """Files of simulated reads, and haplotypes with and without loci: (name, locus, bases)."""

    directory: Path
    haplotypes: list[tuple[str, tuple[int, int], str]]

    @property
    def bam(self) -> Path:
        return self.directory / "reads.bam"

    @property
    def with_loci(self) -> Path:
        return self.directory / "loci.fa"

    @property
    def without_loci(self) -> Path:
        return self.directory / "alleles.fa"

    def expected(self, rules: Rules, *, whole_reads: bool = False) -> list[Row]:
        rows = []
        for record in self.scored_records:
            mate = 1 if record.flag & 0x41 == 0x41 else 2 if record.flag & 0x81 == 0x81 else 0
            whole = prepare_record(record, rules)
            for name, (start, end), bases in self.haplotypes:
                if record.reference_start < end and record.reference_end > start:
                    part = whole if whole_reads else prepare_part(record, rules, (start, end))
                    if part is not None:
                        locus, value = f"chr:{start + 1}-{end}", part.likelihood(bases)
                        rows.append(Row(record.query_name, mate, locus, name, value))
        return rows

    @property
    def scored_records(self) -> list[pysam.AlignedSegment]:
        """Return the reads that are not excluded, in the order of the file."""
        with pysam.AlignmentFile(str(self.bam)) as file:
            records = list(file.fetch(until_eof=True))
        return [record for record in records if not record.flag & 0xF04 and record.query_sequence]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    random = Random(5)  # noqa: S311  (the same data on every run)
    directory = tmp_path_factory.mktemp("made")
    # Few letters make many repeats.
    reference = "".join(random.choices("ACGT", weights=(8, 8, 1, 1), k=LENGTH))
    (directory / "reference.fa").write_text(f">chr\n{reference}\n")
    lines = random_reads(random, reference, 200, all_kinds=True)
    sam = write_sam(directory / "reads.sam", LENGTH, lines)
    pysam.view("-b", "-o", str(directory / "reads.bam"), str(sam), catch_stdout=False)
    pysam.index(str(directory / "reads.bam"))
    cram = ("-C", "-T", str(directory / "reference.fa"), "-o", str(directory / "reads.cram"))
    pysam.view(*cram, str(sam), catch_stdout=False)
    pysam.index(str(directory / "reads.cram"))
    haplotypes = []
    for allele in range(2):
        for start, end in LOCI:
            bases = reference[start:end]
            bases = bases[: 9 * allele] + "AC" * allele + bases[9 * allele :]
            haplotypes.append((f"h{start}_{allele}", (start, end), bases))
    with (directory / "loci.fa").open("w") as loci, (directory / "alleles.fa").open("w") as alleles:
        for name, (start, end), bases in haplotypes:
            loci.write(f">{name} chr:{start + 1}-{end}\n{bases}\n")
            alleles.write(f">{name}\n{bases}\n")
    return Made(directory, haplotypes)


def assert_rows(found: Sequence[Row], expected: Sequence[Row]) -> None:
    assert [row.key for row in found] == [row.key for row in expected]
    np.testing.assert_allclose(
        [row.likelihood for row in found],
        [row.likelihood for row in expected],
        rtol=0,
        atol=TOLERANCE,
    )


@pytest.mark.parametrize("options", [[], ["--whole-reads"]], ids=" ".join)
@pytest.mark.parametrize("sample", ["NA12878", "HG002"])
def test_real_reads(data_dir: Path, tmp_path: Path, sample: str, options: list[str]) -> None:
    data = data_dir / "illumina_na12878"
    truth = data / f"{sample}.truth.dev.vcf.gz"
    sites = truth_sites(data / "chr20.hg19.fa.gz", truth, flank=60)[::40]
    bam = data / f"{sample}.chr20.dev.bam"
    haplotypes = write_haplotypes(tmp_path / "haplotypes.fa", sites)
    found = rows_of(tmp_path, bam, haplotypes, *options)
    keys, some = [], []
    with pysam.AlignmentFile(str(bam)) as file:
        for number, record in enumerate(file):
            if record.flag & 0xF04:
                continue
            for index, site in enumerate(sites):
                if record.reference_start >= site.end or record.reference_end <= site.start:
                    continue
                mate = 1 if record.is_read1 else 2
                part = (
                    prepare_record(record, Rules())
                    if options
                    else prepare_part(record, Rules(), (site.start, site.end))
                )
                if part is None:
                    continue
                for haplotype, bases in enumerate(site.haplotypes):
                    name = f"{index}_{haplotype}"
                    keys.append((record.query_name, mate, site.locus, name))
                    if number % 20 == 0:
                        some.append(Row(*keys[-1], part.likelihood(bases)))
    assert [row.key for row in found] == keys
    selected = {row.key for row in some}
    assert len(selected) > 20
    assert_rows([row for row in found if row.key in selected], some)


def test_the_example(tmp_path: Path) -> None:
    directory = make_example(tmp_path / "example")
    found = rows_of(tmp_path, directory / "reads.bam", directory / "haplotypes.fa")
    assert found == rows_of(
        tmp_path, directory / "reads.bam", directory / "haplotypes.fa", threads=1
    )
    haplotypes = haplotypes_of(directory / "haplotypes.fa")
    some = []
    with pysam.AlignmentFile(str(directory / "reads.bam")) as file:
        for record in list(file)[::40]:
            if record.flag & 0xF04:
                continue
            for haplotype in haplotypes:
                _, start, end = haplotype.locus
                if record.reference_start >= end or record.reference_end <= start:
                    continue
                value = prepare_part(record, Rules(), (start, end)).likelihood(haplotype.bases)
                mate, locus = 2 if record.is_read2 else 1, f"chr20:{start + 1}-{end}"
                some.append(Row(record.query_name, mate, locus, haplotype.name, value))
    keys = {row.key for row in some}
    assert len(keys) > 20
    assert_rows([row for row in found if row.key in keys], some)


@pytest.mark.parametrize("switch", SWITCHES)
def test_switches(made: Made, tmp_path: Path, switch: str) -> None:
    found = rows_of(tmp_path, made.bam, made.with_loci, *switch.split())
    assert_rows(found, made.expected(SWITCHES[switch]))
    if switch:
        default = rows_of(tmp_path, made.bam, made.with_loci)
        assert [row.likelihood for row in found] != [row.likelihood for row in default]


@pytest.mark.parametrize("switch", ["", "--pcr-model aggressive"])
def test_whole_reads(made: Made, tmp_path: Path, switch: str) -> None:
    options = ("--whole-reads", *switch.split())
    found = rows_of(tmp_path, made.bam, made.with_loci, *options)
    assert_rows(found, made.expected(SWITCHES[switch], whole_reads=True))
    clipped = rows_of(tmp_path, made.bam, made.with_loci, *switch.split())
    assert {row.key for row in clipped} < {row.key for row in found}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["reads.sam", "reads.bam", "reads.cram"])
def test_formats_and_threads_change_nothing(
    made: Made, tmp_path: Path, name: str, threads: int
) -> None:
    # The header of the CRAM names its reference.
    expected = lines_of(tmp_path, made.bam, made.with_loci)
    assert lines_of(tmp_path, made.directory / name, made.with_loci, threads=threads) == expected


@pytest.mark.parametrize("files", [["loci.fa", "--whole-reads"], ["alleles.fa"]], ids=" ".join)
def test_cram_with_a_reference_that_extends_nothing(
    made: Made, tmp_path: Path, files: list[str]
) -> None:
    haplotypes, *options = made.directory / files[0], *files[1:]
    expected = lines_of(tmp_path, made.bam, haplotypes, *options)
    reference = "--reference", made.directory / "reference.fa"
    cram = made.directory / "reads.cram"
    assert lines_of(tmp_path, cram, haplotypes, *options, *reference) == expected


def test_pipes(made: Made, tmp_path: Path) -> None:
    command = [*COMMAND, "-", str(made.with_loci), "--device", "cpu", "-q"]
    with made.bam.open("rb") as stdin:
        done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == lines_of(tmp_path, made.bam, made.with_loci)
    assert not done.stderr


def test_without_loci_every_read_pairs_with_every_haplotype(made: Made, tmp_path: Path) -> None:
    found = rows_of(tmp_path, made.bam, made.without_loci)
    assert found == rows_of(tmp_path, made.bam, made.without_loci, "--whole-reads")
    records = made.scored_records
    names = [name for name, _, _ in made.haplotypes]
    keys = [(record.query_name, name) for record in records for name in names]
    assert [(row.read, row.haplotype) for row in found] == keys
    assert {row.locus for row in found} == {"."}
    whole = rows_of(tmp_path, made.bam, made.with_loci, "--whole-reads")
    bound = {(row.read, row.haplotype): row for row in whole}
    both = [row for row in found if (row.read, row.haplotype) in bound]
    assert len(both) == len(bound) > 50
    assert all(row.likelihood == bound[row.read, row.haplotype].likelihood for row in both)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("loci", [False, True])
def test_the_matrix_agrees_with_the_table(
    made: Made,
    tmp_path: Path,
    loci: bool,
    normalize: bool,
) -> None:
    options = ["--normalize"] * normalize
    files = made.bam, made.with_loci if loci else made.without_loci
    _, *table = (line.split("\t") for line in lines_of(tmp_path, *files, *options))
    cells = {(read, mate, haplotype): value for read, mate, _, haplotype, value in table}
    header, *matrix = (
        line.split("\t") for line in lines_of(tmp_path, *files, "--matrix", *options)
    )
    names = [name for name, _, _ in made.haplotypes]
    assert header == ["read", "mate", *names]
    assert [row[:2] for row in matrix] == list(
        map(list, dict.fromkeys((r, m) for r, m, *_ in table))
    )
    for read, mate, *values in matrix:
        assert values == [cells.get((read, mate, name), "NA") for name in names]


def test_normalize(made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = rows_of(tmp_path, made.bam, made.with_loci)
    best: dict[tuple[str, str], float] = {}
    for row in raw:
        best[row.read, row.locus] = max(row.likelihood, best.get((row.read, row.locus), -np.inf))
    # All reads are shorter than 50 bases: GATK allows them one error.
    expected = [
        row._replace(likelihood=max(row.likelihood, best[row.read, row.locus] - 4.5))
        for row in raw
        if best[row.read, row.locus] >= -4
    ]
    out, statistics = tmp_path / "normalized.tsv", tmp_path / "run.json"
    files = made.bam, made.with_loci
    arguments = (*files, "--normalize", "-o", out, "--json", statistics, "--device", "cpu")
    assert status_of(*arguments) == 0
    found = rows_of(tmp_path, *files, "--normalize")
    assert 0 < len(expected) < len(raw)
    assert_rows(found, expected)
    lost = sum(value < -4 for value in best.values())
    printed = capsys.readouterr().err
    assert (
        f"{lost} read-locus pairs excluded: no haplotype of the locus explains the read" in printed
    )
    counts = json.loads(statistics.read_text())["counts"]
    assert counts["poorly_modelled"] == lost
    assert counts["likelihoods"] == len(expected)


def test_excluded_reads_are_reported(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pysam.AlignmentFile(str(made.bam)) as file:
        records = [record for record in file if not record.flag & 0xF00]
    unmapped = sum(record.is_unmapped for record in records)
    empty = sum(not r.query_sequence and not r.is_unmapped for r in records)
    files = made.bam, made.without_loci
    out = ("-o", tmp_path / "out.tsv", "--json", tmp_path / "run.json")
    assert status_of(*files, *out, "--device", "cpu") == 0
    assert capsys.readouterr().err.splitlines()[1:] == [
        f"hapgpu pairhmm: {unmapped} unmapped reads excluded",
        f"hapgpu pairhmm: {empty} reads without bases excluded",
    ]
    counts = json.loads((tmp_path / "run.json").read_text())["counts"]
    assert (counts["unmapped"], counts["without_bases"]) == (unmapped, empty)


def test_reads_without_bases_at_a_locus(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = 0
    for record in made.scored_records:
        start, end, length = record.reference_start, record.reference_end, record.query_length
        for locus in LOCI:
            if start < locus[1] and end > locus[0]:
                first_base, end_base = clip(start, record.cigarstring, length, locus)
                lost += first_base == end_base
    assert lost > 0
    files = made.bam, made.with_loci
    out = ("-o", tmp_path / "out.tsv", "--json", tmp_path / "run.json")
    assert status_of(*files, *out, "--device", "cpu") == 0
    warning = (
        f"hapgpu pairhmm: {lost} read-locus pairs excluded: the read has no bases at the locus"
    )
    assert warning in capsys.readouterr().err.splitlines()
    counts = json.loads((tmp_path / "run.json").read_text())["counts"]
    assert counts["without_bases_at_locus"] == lost
    assert status_of(*files, *out, "--whole-reads", "--device", "cpu") == 0
    assert "no bases at the locus" not in capsys.readouterr().err


@pytest.mark.parametrize("option", ["-r", "-L"])
def test_regions(made: Made, tmp_path: Path, option: str) -> None:
    (tmp_path / "targets.bed").write_text("chr\t25\t40\n")
    value = "chr:26-40" if option == "-r" else str(tmp_path / "targets.bed")
    with pysam.AlignmentFile(str(made.bam)) as file:
        names = {record.query_name for record in file.fetch("chr", 25, 40)}
    everything = rows_of(tmp_path, made.bam, made.with_loci)
    found = rows_of(tmp_path, made.bam, made.with_loci, option, value)
    assert found == [row for row in everything if row.read in names]
    assert 0 < len(found) < len(everything)


def test_flags(made: Made, tmp_path: Path) -> None:
    with pysam.AlignmentFile(str(made.bam)) as file:
        flags = {record.query_name: record.flag for record in file}
    every = rows_of(tmp_path, made.bam, made.with_loci, "-F", "0")
    found = rows_of(tmp_path, made.bam, made.with_loci, "-f", "REVERSE", "-F", "0x800")
    assert {flags[row.read] for row in every} >= {256, 512, 1024, 2048}
    assert found == [row for row in every if flags[row.read] & 0x810 == 0x10]


def batch_text(made: Made) -> tuple[str, list[Row]]:
    """Write the reads at each locus as text batches; return the expected rows."""
    rows = [row for row in made.expected(Rules()) if row.locus != "chr:51-85"]
    records = {record.query_name: record for record in made.scored_records}
    text, ordered = "", []
    for start, end in (LOCI[0], LOCI[2]):
        within = [row for row in rows if row.locus == f"chr:{start + 1}-{end}"]
        names = list(dict.fromkeys(row.read for row in within))
        haplotypes = [bases for _, locus, bases in made.haplotypes if locus == (start, end)]
        text += f"{len(names)} {len(haplotypes)}\n"
        for name in names:
            part = prepare_part(records[name], Rules(), (start, end))
            assert part is not None
            columns = ["".join(chr(q + 33) for q in column) for column in part.qualities]
            text += " ".join([part.bases, *columns]) + "\n"
        text += "".join(f"{bases}\n" for bases in haplotypes)
        ordered += within
    return text, ordered


@pytest.mark.parametrize("compressed", [False, True])
def test_batches_and_reads_agree(made: Made, tmp_path: Path, compressed: bool) -> None:
    text, rows = batch_text(made)
    path = tmp_path / "batches.in"
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    header, *lines = lines_of(tmp_path, "--batches", path)
    assert header == "batch\tread\thaplotype\tlog10_likelihood"
    found = [line.split("\t")[3] for line in lines]
    written = lines_of(tmp_path, made.bam, made.with_loci)[1:]
    values = {tuple(line.split("\t")[:4:3]): line.split("\t")[4] for line in written}
    assert found == [values[row.read, row.haplotype] for row in rows]
    matrix = lines_of(tmp_path, "--batches", path, "--matrix")
    assert [word for line in matrix for word in line.split()] == [
        word for line in _matrices(lines) for word in line
    ]


def _matrices(lines: Sequence[str]) -> list[list[str]]:
    """Turn lines of the table into the lines of matrices."""
    batches: dict[str, dict[str, list[str]]] = {}
    for line in lines:
        batch, read, _, value = line.split("\t")
        batches.setdefault(batch, {}).setdefault(read, []).append(value)
    return [
        words
        for reads in batches.values()
        for words in ([str(len(reads)), str(len(reads["0"]))], *reads.values())
    ]


def test_a_real_batch_on_standard_input(data_dir: Path) -> None:
    lines = (data_dir / "pairhmm" / "tiny.in").read_text().splitlines()
    reads, haplotypes = map(int, lines[0].split())
    first = "\n".join([*lines[: 1 + reads + haplotypes], ""])
    command = [*COMMAND, "--batches", "-", "--device", "cpu", "-q", "--matrix"]
    done = subprocess.run(command, input=first, capture_output=True, text=True, check=True)
    header, *rows = done.stdout.splitlines()
    assert header == lines[0]
    assert len(rows) == reads
    bases, *qualities = lines[1].split()
    columns = [array_of(text) - np.uint8(33) for text in qualities]
    expected = [
        likelihood_reference(array_of(bases), *columns, array_of(haplotype))
        for haplotype in lines[1 + reads : 1 + reads + haplotypes]
    ]
    np.testing.assert_allclose(
        [float(word) for word in rows[0].split()], expected, rtol=0, atol=TOLERANCE
    )


def test_a_closed_pipe_is_no_error(made: Made) -> None:
    script = f"{sys.executable} {' '.join(map(repr, COMMAND[1:]))}"
    files = f"{made.bam} {made.with_loci} --device cpu -q"
    shell = f"set -o pipefail; {script} {files} | true"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert done.returncode == 141
    assert not done.stderr


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("--help") == 0
    text = capsys.readouterr().out
    assert "hapgpu pairhmm sample.bam haplotypes.fa -o likelihoods.tsv" in text
    assert "hapgpu pairhmm --batches 10s.in" in text
