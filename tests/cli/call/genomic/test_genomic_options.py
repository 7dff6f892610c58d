"""`hapgpu call --gvcf` and `--bp-resolution` with their options, on the example."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import pysam
import pytest

from tests.cli.call.command import (
    Inputs,
    called,
    make_inputs,
    records_in,
    status_of,
    summary_of,
    text_of,
)
from tests.cli.call.many_contigs import LENGTH, SNP, as_indexed, make_contigs
from tests.cli.in_process import error_of_command

NON_REF = "<NON_REF>"
WARP = [word for bound in range(10, 100, 10) for word in ("--gvcf-gq-bands", str(bound))]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def blocks(example: Inputs, tmp_path_factory: pytest.TempPathFactory) -> str:
    return called(tmp_path_factory.mktemp("blocks"), *example, "--gvcf")


@pytest.fixture(scope="module")
def positions(example: Inputs, tmp_path_factory: pytest.TempPathFactory) -> str:
    return called(tmp_path_factory.mktemp("positions"), *example, "--bp-resolution")


def band_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("##GVCFBlock")]


def test_bands_of_pipelines(example: Inputs, tmp_path: Path) -> None:
    """A block is in one band, and its neighbour, if they touch, in another."""
    text = called(tmp_path, *example, "--gvcf", *WARP)
    assert band_lines(text) == [
        f"##GVCFBlock{low}-{low + 10}=minGQ={low}(inclusive),maxGQ={low + 10}(exclusive)"
        for low in range(0, 100, 10)
    ]
    rows = [row for row in records_in(text) if row[4] == NON_REF]
    found = [
        (int(row[1]), int(row[7].removeprefix("END=")), int(row[9].split(":")[2])) for row in rows
    ]
    assert len(found) > 20
    for (_, end, one), (start, _, other) in itertools.pairwise(found):
        assert start > end + 1 or one // 10 != other // 10


@pytest.mark.parametrize(("last", "line"), [("99", "99-100"), ("100", "20-100")])
def test_the_last_band_ends_at_100(example: Inputs, tmp_path: Path, last: str, line: str) -> None:
    words = ["--gvcf-gq-bands", "20", "--gvcf-gq-bands", last]
    lines = band_lines(called(tmp_path, *example, "--gvcf", *words))
    assert lines[-1].startswith(f"##GVCFBlock{line}=")
    assert len(lines) == (3 if last == "99" else 2)


@pytest.mark.parametrize(
    "words", [WARP, ["--gvcf-gq-bands", "0"], ["--do-not-run-physical-phasing"]]
)
def test_without_effect_on_variants_alone(
    example: Inputs, tmp_path: Path, words: list[str]
) -> None:
    """As GATK, which ignores even bands that are none: pipelines give them to each run."""
    assert called(tmp_path, *example, *words) == called(tmp_path, *example)


@pytest.mark.parametrize("words", [WARP, ["--gvcf-gq-bands", "0"], ["--floor-blocks"]])
def test_without_effect_on_positions(
    example: Inputs, positions: str, tmp_path: Path, words: list[str]
) -> None:
    assert called(tmp_path, *example, "--bp-resolution", *words) == positions


def test_floors(example: Inputs, blocks: str, tmp_path: Path) -> None:
    """Blocks have other sample fields, and nothing else changes."""
    text = called(tmp_path, *example, "--gvcf", "--floor-blocks", *WARP)
    whole = called(tmp_path, *example, "--gvcf", *WARP)
    pairs = list(zip(records_in(text), records_in(whole), strict=True))
    for one, other in pairs:
        assert one[:8] == other[:8]
        if one[4] != NON_REF:
            assert one == other
            continue
        genotype, depth, quality, *_ = other[9].split(":")
        assert one[8:] == ["GT:DP:GQ", f"{genotype}:{depth}:{int(quality) // 10 * 10}"]
    assert summary_of(text) != summary_of(blocks)


def test_no_phases(example: Inputs, blocks: str, tmp_path: Path) -> None:
    """The same records otherwise, and no lines of these fields in the header."""
    text = called(tmp_path, *example, "--gvcf", "--do-not-run-physical-phasing")
    rows, others = records_in(text), records_in(blocks)
    assert any("PID" in row[8] for row in others)
    assert [row[:8] for row in rows] == [row[:8] for row in others]
    for row, other in zip(rows, others, strict=True):
        fields = dict(zip(other[8].split(":"), other[9].split(":"), strict=True))
        copies = sorted(fields["GT"].replace("|", "/").split("/"))
        kept = {name: fields[name] for name in fields if name not in {"PGT", "PID", "PS"}}
        assert row[8].split(":") == list(kept)
        assert row[9] == ":".join(["/".join(copies), *list(kept.values())[1:]])
    names = ("##FORMAT=<ID=PGT", "##FORMAT=<ID=PID", "##FORMAT=<ID=PS")
    headers = [
        [line for line in each.splitlines() if line.startswith("##")] for each in (text, blocks)
    ]
    assert headers[0] == [line for line in headers[1] if not line.startswith(names)]


def test_every_position_has_a_record(example: Inputs, positions: str) -> None:
    with pysam.FastaFile(str(example.reference)) as reference:
        bases = reference.fetch(reference.references[0]).upper()
    rows = records_in(positions)
    assert [int(row[1]) for row in rows] == list(range(1, len(bases) + 1))
    assert [row[3][0] for row in rows] == list(bases)
    assert any(len(row[3]) > 1 for row in rows)


def test_records_of_variants_are_those_between_blocks(blocks: str, positions: str) -> None:
    found = [[row for row in records_in(text) if row[4] != NON_REF] for text in (blocks, positions)]
    assert found[0] == found[1]


def test_header_of_positions(blocks: str, positions: str) -> None:
    hidden = ("##GVCFBlock", "##INFO=<ID=END", "##FORMAT=<ID=MIN_DP")
    lines = [
        [line for line in text.splitlines() if line.startswith("##")]
        for text in (blocks, positions)
    ]
    assert lines[1] == [line for line in lines[0] if not line.startswith(hidden)]


@pytest.mark.parametrize("name", ["reads.sam", "reads.cram"])
def test_inputs(example: Inputs, positions: str, tmp_path: Path, name: str) -> None:
    words = [example.reads.with_name(name), example.reference]
    assert called(tmp_path, *words, "--bp-resolution") == positions


def test_intervals_index_and_realigned_reads(
    example: Inputs, positions: str, tmp_path: Path
) -> None:
    """Positions far from the ends of an interval are those of a whole run."""
    path, bam = tmp_path / "out.g.vcf.gz", tmp_path / "out.bam"
    words = ["-r", "chr20:5001-6500", "-r", "chr20:7000-7000", "-q", "--bp-resolution"]
    assert status_of(*example, *words, "-o", path, "--bam-out", bam) == 0
    rows = records_in(text_of(path))
    assert [int(row[1]) for row in rows] == [*range(5001, 6501), 7000]
    assert rows[600:900] == records_in(positions)[5600:5900]
    with pysam.VariantFile(str(path)) as source:
        assert [record.pos for record in source.fetch("chr20", 5999, 6001)] == [6000, 6001]
    assert pysam.AlignmentFile(str(bam)).count() > 0


@pytest.mark.parametrize("kind", ["bai", "cram", "sam"])
def test_contigs_without_reads(tmp_path: Path, kind: str) -> None:
    """They have a record per position, too, wherever they are in the reference."""
    sam, fasta = make_contigs(tmp_path / "contigs", 6, (1, 4))
    reads = sam if kind == "sam" else as_indexed(sam, fasta, kind)
    rows = records_in(called(tmp_path, reads, fasta, "--bp-resolution"))
    assert [row[:2] for row in rows] == [
        [f"contig{number}", str(at)] for number in range(6) for at in range(1, LENGTH + 1)
    ]
    bases = fasta.read_text().split("\n")[1]
    assert "".join(row[3] for row in rows) == bases * 6
    variants = [row[:2] for row in rows if row[4] != NON_REF]
    assert variants == [[f"contig{number}", str(SNP + 1)] for number in (1, 4)]
    empty = [row[8:] for row in rows if row[0] not in {"contig1", "contig4"}]
    assert empty == [["GT:AD:DP:GQ:PL", "0/0:0,0:0:0:0,0,0"]] * (4 * LENGTH)


def test_a_file_without_reads(tmp_path: Path) -> None:
    sam, fasta = make_contigs(tmp_path / "contigs", 2, ())
    for words, count in ((["--bp-resolution"], 2 * LENGTH), (["--gvcf", "--floor-blocks"], 2)):
        assert len(records_in(called(tmp_path, sam, fasta, *words))) == count


def test_one_sample_only(
    example: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(tmp_path / "other.bam")
    group = "@RG\\tID:b\\tSM:second"
    pysam.samtools.addreplacerg(
        "-r", group, "-m", "overwrite_all", "-o", other, str(example.reads), catch_stdout=False
    )
    pysam.index(other)
    out = tmp_path / "out.vcf"
    assert status_of(example.reads, other, example.reference, "--bp-resolution", "-o", out) == 2
    assert "--bp-resolution: 2 samples; call each sample alone" in error_of_command("call", capsys)
    assert not out.exists()


def test_the_confidence_is_no_option(
    example: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.vcf"
    words = ["--bp-resolution", "--stand-call-conf", "20", "-o", out]
    assert status_of(*example, *words) == 2
    message = "--stand-call-conf: no effect with --bp-resolution; drop one of them"
    assert message in error_of_command("call", capsys)


def test_standard_output_and_compression_agree(
    example: Inputs, positions: str, tmp_path: Path
) -> None:
    path = tmp_path / "out.g.vcf.gz"
    assert status_of(*example, "--bp-resolution", "-q", "-o", path, threads=1) == 0
    with gzip.open(path, "rt") as source:
        rows = [line for line in source if not line.startswith("#")]
    assert len(rows) == len(records_in(positions))
    assert text_of(path) == positions
