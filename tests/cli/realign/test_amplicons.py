"""`hapgpu realign` without loci: alleles and amplicons, FASTQ, long reads, pipes, statistics."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from random import Random

import pysam
import pytest

from tests.cli.realign.command import (
    COMMAND,
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
from tests.realign.move_oracle import Loci, expected_of_fastq
from tests.realign.realign_oracle import (
    COMPLEMENTS,
    Haplotype,
    Read,
    Record,
    Rules,
    aligned,
    expected,
    score_of,
)

SCORING = Rules().scoring


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_example(tmp_path_factory.mktemp("example"))


@pytest.fixture
def gol(data_dir: Path) -> Path:
    return data_dir / "amplicon" / "crispr_gol"


def fastq_lines(path: Path) -> list[str]:
    """Return reads as lines of SAM, unmapped."""
    with pysam.FastxFile(str(path)) as reads:
        return [f"{r.name}\t4\t*\t0\t0\t*\t*\t0\t0\t{r.sequence}\t{r.quality}" for r in reads]


def chosen(record: Record) -> str:
    return record.columns[2]


def is_reverse(record: Record) -> bool:
    return bool(int(record.columns[1]) & 16)


def assert_as_expected(
    found: list[Record], lines: list[str], haplotypes: list[Haplotype], rows: range
) -> None:
    for row in rows:
        assert [found[row]] == expected(lines[row], haplotypes, Rules())


@pytest.mark.parametrize("threads", [1, 2])
def test_alleles_from_bam(gol: Path, tmp_path: Path, threads: int) -> None:
    lines = lines_of(gol / "gol.bam")
    fasta = gol / "candidates.fa"
    found = records(sam_of(tmp_path, gol / "gol.bam", fasta, threads=threads))
    assert [r.columns[0] for r in found] == [line.split("\t")[0] for line in lines]
    assert_as_expected(found, lines, haplotypes_of(fasta), range(0, 96, 45))
    assert all("RG:Z:gol" in " ".join(record.fields) for record in found)


def test_fastq_agrees_with_bam(gol: Path, tmp_path: Path) -> None:
    fasta = gol / "candidates.fa"
    from_bam = {r.columns[0]: r for r in records(sam_of(tmp_path, gol / "gol.bam", fasta))}
    from_fastq = records(sam_of(tmp_path, gol / "gol.fastq", fasta))
    assert_as_expected(from_fastq, fastq_lines(gol / "gol.fastq"), haplotypes_of(fasta), range(1))
    assert {r.columns[0] for r in from_fastq} == set(from_bam)
    same = sum(chosen(r) == chosen(from_bam[r.columns[0]]) for r in from_fastq)
    assert same >= 0.95 * len(from_fastq)
    turned = sum(is_reverse(r) == is_reverse(from_bam[r.columns[0]]) for r in from_fastq)
    assert turned >= 0.95 * len(from_fastq)


@pytest.mark.parametrize(("name", "reverse"), [("sam1F", False), ("sam1R", True)])
def test_16s_amplicons(data_dir: Path, tmp_path: Path, name: str, reverse: bool) -> None:
    directory = data_dir / "amplicon" / "16s_miseq"
    reads, fasta = directory / f"{name}.fastq.gz", directory / "candidates.fa"
    found = records(sam_of(tmp_path, reads, fasta))
    lines = fastq_lines(reads)
    assert len(found) == len(lines) == 1500
    assert_as_expected(found, lines, haplotypes_of(fasta), range(0, 1500, 700))
    mapped = [r for r in found if chosen(r) != "*"]
    assert len(mapped) > 0.9 * len(found)
    assert sum(is_reverse(r) == reverse for r in mapped) > 0.95 * len(mapped)
    assert {r.columns[4] for r in mapped} == {"255"}
    assert not any(field.startswith(("OC", "OP", "OA")) for r in found for field in r.fields)


def test_reads_against_a_viral_genome(data_dir: Path, tmp_path: Path) -> None:
    directory = data_dir / "amplicon" / "sarscov2_ont"
    genome = Path(shutil.copy(directory / "MN908947.3.fa", tmp_path))
    lines = fastq_lines(directory / "MT007544.fastq.gz")[:8]
    fastq = tmp_path / "few.fastq"
    columns = [line.split("\t") for line in lines]
    fastq.write_text("".join(f"@{c[0]}\n{c[9]}\n+\n{c[10]}\n" for c in columns))
    written = sam_of(tmp_path, fastq, genome)
    found = records(written)
    bases = haplotypes_of(genome)[0].bases
    assert len(found) == len(lines)
    assert sum(chosen(r) != "*" for r in found) >= len(found) - 1
    for record in (r for r in found if chosen(r) != "*"):
        read, start = Read(list(record.columns)), int(record.columns[3]) - 1
        score = score_of(read.bases, read.cigar, start, bases, SCORING)
        assert f"AS:i:{score}" in record.fields
        assert not any(field.startswith("XS") for field in record.fields)
    first = next(r for r in found if chosen(r) != "*")
    start = int(first.columns[3]) - 1
    window = bases[max(0, start - 150) : start + len(first.columns[9]) + 150]
    assert f"AS:i:{aligned(window, first.columns[9], SCORING).score}" in first.fields
    checked = with_mismatches_of_samtools(tmp_path, tmp_path / "out.sam", genome)
    assert records(checked) == found


def test_fastq_and_loci(example: Path, tmp_path: Path) -> None:
    """Unmapped reads are compared with the haplotypes of every locus."""
    lines = fastq_lines(example / "amplicons.fastq.gz")
    bound = haplotypes_of(example / "haplotypes.fa")
    free = [Haplotype(h.name, h.bases) for h in bound]
    fasta = tmp_path / "free.fa"
    fasta.write_text("".join(f">{h.name}\n{h.bases}\n" for h in free))
    reads = example / "amplicons.fastq.gz"
    found = sam_of(tmp_path, reads, example / "haplotypes.fa")
    assert found == sam_of(tmp_path, reads, fasta)
    assert_as_expected(records(found), lines, free, range(0, 200, 99))


@pytest.mark.parametrize("by_likelihood", [False, True])
def test_fastq_on_the_reference(example: Path, tmp_path: Path, by_likelihood: bool) -> None:
    """All reads are written, also junk and reads that overhang the haplotypes."""
    random = Random(11)  # noqa: S311  (the same data on every run)
    reference = example / "reference.fa"
    fasta = tmp_path / "few.fa"
    few = haplotypes_of(example / "haplotypes.fa")[:8:4]
    fasta.write_text("".join(fasta_entry(h) for h in few))
    loci = Loci(few, reference)
    contig, start, end = loci.haplotypes[0].locus or ("", 0, 0)
    bases = loci.bases.fetch(contig, start - 200, end + 200)
    near = [bases[at : at + 90] for at in (60, 150, 230, len(bases) - 160, len(bases) - 100)]
    near += [h.bases[k : k + 80] for h in few for k in (0, 100)]
    near += [text[::-1].translate(COMPLEMENTS) for text in near[::2]]
    junk = ["".join(random.choices("ACGT", k=70)) for _ in range(2)]
    fastq = tmp_path / "reads.fastq"
    entries = [f"@r{n}\n{x}\n+\n{'I' * len(x)}\n" for n, x in enumerate([*near, *junk])]
    fastq.write_text("".join(entries))
    options = ["--best-by", "likelihood"] * by_likelihood
    found = records(sam_of(tmp_path, fastq, fasta, "--reference", reference, *options))
    rules = Rules(by_likelihood=by_likelihood)
    for line, record in zip(fastq_lines(fastq), found, strict=True):
        assert record == expected_of_fastq(line, loci, rules)
    unmapped = [record.columns[0] for record in found if chosen(record) == "*"]
    assert set(unmapped) >= {f"r{len(near)}", f"r{len(near) + 1}"}
    assert len(unmapped) < len(near) / 2


def fasta_entry(haplotype: Haplotype) -> str:
    assert haplotype.locus is not None
    contig, start, end = haplotype.locus
    return f">{haplotype.name} {contig}:{start + 1}-{end}\n{haplotype.bases}\n"


def test_pipeline_of_processes(example: Path, tmp_path: Path) -> None:
    """BAM through standard input and output, uncompressed: the records of the file."""
    lines = sam_of(tmp_path, example / "reads.bam", example / "haplotypes.fa")
    with (example / "reads.bam").open("rb") as reads:
        done = subprocess.run(
            [*COMMAND, "-u", "-", str(example / "haplotypes.fa"), "-t", "2"],
            stdin=reads,
            capture_output=True,
            check=True,
        )
    out = tmp_path / "piped.bam"
    out.write_bytes(done.stdout)
    pysam.quickcheck(str(out))
    assert lines_of(out) == body(lines)
    assert "ID:hapgpu\tPN:hapgpu" in header_of(out)
    assert done.stderr.decode().startswith("hapgpu realign: device: ")
    assert done.stderr.count(b"\n") == 1
    pysam.sort("-o", str(tmp_path / "sorted.bam"), str(out))
    pysam.index(str(tmp_path / "sorted.bam"))


def test_sam_goes_to_standard_output(
    example: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    lines = sam_of(tmp_path, example / "amplicons.fastq.gz", example / "alleles.fa")
    capsysbinary.readouterr()
    realign(example / "amplicons.fastq.gz", example / "alleles.fa", "--no-PG")
    captured = capsysbinary.readouterr()
    assert captured.out.decode().splitlines() == lines
    assert not captured.err


def test_statistics(example: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    reads = example / "reads.bam"
    lines = sam_of(tmp_path, reads, example / "haplotypes.fa", "--json", path, "--all")
    statistics = json.loads(path.read_text())
    assert (statistics["schema_version"], statistics["tool"], statistics["command"]) == (
        2,
        "hapgpu",
        "realign",
    )
    assert statistics["threads"] == 2
    assert len(statistics["devices"]) == 1
    assert statistics["command_line"][:3] == ["hapgpu", "realign", str(reads)]
    assert statistics["counts"]["records"] == len(body(lines))
    unmapped = sum(bool(int(r.columns[1]) & 4) for r in records(lines))
    assert statistics["counts"]["unmapped"] == unmapped > 0
    assert len({key(r) for r in records(lines)}) <= statistics["counts"]["reads"] <= 2000
    assert statistics["counts"]["without_bases"] == 0
    stages = {"read", "realign", "write", "total"}
    assert set(statistics["seconds"]) == stages
    assert all(statistics["seconds"][stage] >= 0 for stage in stages)
