"""`hapgpu call` with many contigs: those without reads are not read, and cost hardly any memory."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import pysam
import pytest

from hapgpu.calling.worker import SegmentWorker
from hapgpu.genotyping.reads import inputs
from hapgpu.io.genome.reference import ReferenceFasta
from tests.cli.call.command import called, records_in
from tests.cli.call.many_contigs import LENGTH, READ, SNP, STARTS, as_indexed, make_contigs
from tests.peak_memory import GIBIBYTE, measured

COUNT = 20_000
OCCUPIED = (0, 7, 8, 9, 4000, 4001, 19_000, COUNT - 1)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_contigs(tmp_path_factory.mktemp("contigs") / "many", COUNT, OCCUPIED)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    directory = tmp_path_factory.mktemp("contigs") / "few"
    return make_contigs(directory, COUNT, OCCUPIED, others=False)


@pytest.mark.parametrize("kind", ["bai", "csi", "cram", "sam"])
def test_only_contigs_with_reads_are_called(
    many: tuple[Path, Path], few: tuple[Path, Path], kind: str, tmp_path: Path
) -> None:
    """The records are those of a reference without the other contigs."""
    sam, fasta = many
    reads = sam if kind == "sam" else as_indexed(sam, fasta, kind)
    statistics = tmp_path / "statistics.json"
    opened, fetched, segments = inputs.open_reads, ReferenceFasta.fetch, SegmentWorker.called
    with (
        patch.object(inputs, "open_reads", wraps=opened) as opens,
        patch.object(ReferenceFasta, "fetch", autospec=True, side_effect=fetched) as fetches,
        patch.object(SegmentWorker, "called", autospec=True, side_effect=segments) as calls,
    ):
        text = called(tmp_path, reads, fasta, "--json", statistics)
    assert fetches.call_count == calls.call_count == len(OCCUPIED)
    assert opens.call_count <= 3  # for the header, and for all contigs together
    assert records_in(text) == records_in(called(tmp_path, *few))
    assert [row[:2] for row in records_in(text)] == [
        [f"contig{number}", str(SNP + 1)] for number in OCCUPIED
    ]
    counts = json.loads(statistics.read_text())["counts"]
    assert counts["bases"] == COUNT * LENGTH
    assert counts["covered_bases"] == len(OCCUPIED) * (STARTS[-1] + READ - STARTS[0])
    assert counts["reads"] == len(OCCUPIED) * len(STARTS)


@pytest.mark.parametrize("kind", ["bai", "sam"])
def test_blocks_of_contigs_without_reads(
    many: tuple[Path, Path], few: tuple[Path, Path], kind: str, tmp_path: Path
) -> None:
    """Each is one block from end to end; the other contigs are as if alone."""
    sam, fasta = many
    reads = sam if kind == "sam" else as_indexed(sam, fasta, kind)
    rows = records_in(called(tmp_path, reads, fasta, "--gvcf"))
    alone = records_in(called(tmp_path, *few, "--gvcf"))
    names = {f"contig{number}" for number in OCCUPIED}
    assert [row for row in rows if row[0] in names] == alone
    first = fasta.read_text().split("\n")[1][0]
    sample = ["GT:DP:GQ:MIN_DP:PL", "0/0:0:0:0:0,0,0"]
    fields = ["1", ".", first, "<NON_REF>", ".", ".", f"END={LENGTH}", *sample]
    empty = [f"contig{number}" for number in range(COUNT) if number not in OCCUPIED]
    assert [row for row in rows if row[0] not in names] == [[name, *fields] for name in empty]
    order = list(dict.fromkeys(row[0] for row in rows))
    assert order == [f"contig{number}" for number in range(COUNT)]


def test_blocks_of_regions_without_reads(many: tuple[Path, Path], tmp_path: Path) -> None:
    """Regions of a contig without reads are a block each."""
    bed = tmp_path / "regions.bed"
    bed.write_text("contig8\t0\t300\ncontig5\t10\t20\ncontig5\t40\t50\ncontig10\t299\t300\n")
    rows = records_in(called(tmp_path, *many, "--gvcf", "-L", bed))
    found = [row[:2] + row[7:8] for row in rows if row[0] != "contig8"]
    expected = [("5", 11, 20), ("5", 41, 50), ("10", 300, 300)]
    assert found == [[f"contig{name}", str(at), f"END={end}"] for name, at, end in expected]


@pytest.mark.parametrize("kind", ["bai", "cram", "sam"])
def test_two_inputs(
    many: tuple[Path, Path], few: tuple[Path, Path], kind: str, tmp_path: Path
) -> None:
    """The contigs of each have reads of one input, or of both."""
    fasta = many[1]
    halves = []
    for number, part in enumerate((OCCUPIED[:5], OCCUPIED[2:])):
        own, _ = make_contigs(tmp_path / f"half{number}", COUNT, part)
        halves.append(
            own if kind == "sam" and number else as_indexed(own, fasta, kind.replace("sam", "bai"))
        )
    found = records_in(called(tmp_path, *halves, fasta))
    assert [row[0] for row in found] == [f"contig{number}" for number in OCCUPIED]
    both = [row[9].split(":")[2] for row in found]
    single = [row[9].split(":")[2] for row in records_in(called(tmp_path, *few))]
    twice = [2 if number in OCCUPIED[2:5] else 1 for number in OCCUPIED]
    assert both == [str(times * int(depth)) for times, depth in zip(twice, single, strict=True)]


def test_a_cram_file_without_records_is_read_once(tmp_path: Path) -> None:
    """Its index lists nothing, as that of a truncated file."""
    sam, fasta = make_contigs(tmp_path / "none", 50, ())
    reads = as_indexed(sam, fasta, "cram")
    with patch.object(inputs, "open_reads", wraps=inputs.open_reads) as opens:
        assert not records_in(called(tmp_path, reads, fasta))
    assert opens.call_count == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kind", "options"), [("bai", ("--gvcf",)), ("cram", ())])
def test_memory_of_half_a_million_contigs(
    tmp_path: Path, kind: str, options: tuple[str, ...]
) -> None:
    count = 500_000
    sam, fasta = make_contigs(tmp_path / "half_a_million", count, range(0, count, 5000))
    reads = as_indexed(sam, fasta, kind)
    out = tmp_path / "out.vcf"
    words = ["call", reads, fasta, "-o", out, "-q", "--device", "cpu", "-t", "2", *options]
    used = measured(*words)
    assert used.status == 0, used.messages
    assert used.memory < GIBIBYTE
    with pysam.VariantFile(str(out)) as file:
        variants = sum(record.alleles[1] != "<NON_REF>" for record in file)
    assert variants == count // 5000
