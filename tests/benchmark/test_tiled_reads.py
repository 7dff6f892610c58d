"""Reads of a region, repeated along a made contig, against a plain implementation."""

from __future__ import annotations

import re
from itertools import starmap
from pathlib import Path
from typing import Final

import pysam
import pytest

from hapgpu.benchmark.calling import benchmark_call
from hapgpu.benchmark.input_files import SimulatedFiles, simulated_files
from hapgpu.benchmark.tiled_reads import ChosenReads, TiledFiles, tiled_files
from hapgpu.errors import HapgpuError, InputError, UsageError
from hapgpu.runtime.devices import CpuDevice
from tests.cli.in_process import status_of_command
from tests.haplotypes.made_references import random_text

CONTIG_LENGTH: Final = 20_000
REGION: Final = "chr1:10,001-12,000"
START, END = 8000, 15_000
"""The tile, 0-based."""
LINES: Final = (
    # name, FLAG, POS, CIGAR, RNEXT, PNEXT
    ("starts_before", 99, 7990, "3000M", "=", 10_500),
    ("pair:1", 99, 9990, "50M", "=", 10_100),
    ("far_mate", 65, 9995, "40M", "=", 7000),
    ("first_base", 65, 9996, "40M", "=", 8001),
    ("before_first", 65, 9997, "40M", "=", 8000),
    ("last_base", 65, 9998, "40M", "=", 15_000),
    ("after_last", 65, 9999, "40M", "=", 15_001),
    ("other_contig", 65, 10_000, "40M", "chr2", 10_000),
    ("*", 0, 10_001, "10S20M2D10M", "*", 0),
    ("p", 73, 10_050, "30M", "=", 10_050),
    ("p", 133, 10_050, "*", "=", 10_050),
    ("pair:1", 147, 10_100, "50M", "=", 9990),
    ("intron", 0, 11_000, "30M3500N30M", "*", 0),
    ("ends_after", 0, 11_900, "30M3500N30M", "*", 0),
    ("single", 16, 11_990, "30M", "*", 0),
    ("outside", 0, 12_001, "30M", "*", 0),
)
KEPT: Final = (*("pair:1", "first_base", "last_base", "*", "p", "p", "pair:1", "intron", "single"),)


def bases_of(name: str, cigar: str) -> str:
    lengths = re.findall(r"(\d+)([A-Z])", cigar)
    count = sum(int(length) for length, kind in lengths if kind in "MIS") or 25
    return random_text(count, sum(map(ord, name)))


def sam_line(name: str, flag: int, position: int, cigar: str, contig: str, mate: int) -> str:
    bases = bases_of(name, cigar)
    quality = 0 if flag & 4 else 37
    fields = (
        name,
        flag,
        "chr1",
        position,
        quality,
        cigar,
        contig,
        mate,
        0,
        bases,
        "5" * len(bases),
    )
    return "\t".join(map(str, (*fields, "RG:Z:b", f"XX:Z:{name}")))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a reference, and the lines as SAM, as BAM with either index, and as CRAM."""
    directory = tmp_path_factory.mktemp("reads")
    reference = directory / "ref.fa"
    contigs = (random_text(CONTIG_LENGTH, 3), random_text(CONTIG_LENGTH, 4))
    text = "".join(f">chr{k}\n{bases}\n" for k, bases in enumerate(contigs, 1))
    reference.write_text(text)
    pysam.faidx(str(reference))
    header = ["@HD\tVN:1.6\tSO:coordinate"]
    header += [f"@SQ\tSN:chr{k}\tLN:{CONTIG_LENGTH}" for k in (1, 2)]
    header += ["@RG\tID:a\tSM:one", "@RG\tID:b\tSM:two", "@PG\tID:made"]
    sam = directory / "reads.sam"
    sam.write_text("".join(f"{line}\n" for line in (*header, *starmap(sam_line, LINES))))
    shuffled = [*starmap(sam_line, LINES)][::-1]
    (directory / "shuffled.sam").write_text("".join(f"{line}\n" for line in (*header, *shuffled)))
    for name, option in (("bai.bam", ""), ("csi.bam", "-c")):
        path = str(directory / name)
        pysam.view("-b", "-o", path, str(sam), catch_stdout=False)
        pysam.index(*option.split(), path)
    cram = str(directory / "reads.cram")
    pysam.view("-C", "-T", str(reference), "-o", cram, str(sam), catch_stdout=False)
    pysam.index(cram)
    return directory


def tiled(files: Path, directory: Path, name: str, copies: int) -> TiledFiles:
    return tiled_files(directory, ChosenReads(files / name, REGION), files / "ref.fa", copies, 2)


def written(path: Path) -> list[list[str]]:
    """Return the fields of all records, with tags in order; samtools adds NM and MD to CRAM."""
    with pysam.AlignmentFile(path) as file:
        rows = [read.to_string().split("\t") for read in file]
    return [
        row[:11] + sorted(tag for tag in row[11:] if not tag.startswith(("NM:i", "MD:Z")))
        for row in rows
    ]


@pytest.mark.parametrize("name", ["bai.bam", "csi.bam", "reads.cram", "reads.sam"])
def test_records_of_every_copy(files: Path, tmp_path: Path, name: str) -> None:
    copies = 11
    made = tiled(files, tmp_path, name, copies)
    expected = []
    for copy in range(copies):
        shift = copy * (END - START) - START
        for line in LINES:
            if line[0] in KEPT:
                fields = sam_line(*line).split("\t")
                fields[0] += f".{copy:02}"
                fields[2] = "tiles"
                fields[3] = str(int(fields[3]) + shift)
                fields[7] = str(int(fields[7]) + shift) if fields[6] == "=" else "0"
                expected.append(fields)
    assert written(made.reads) == expected
    assert made.read_count == copies * len(KEPT)


def test_unsorted_lines_are_sorted(files: Path, tmp_path: Path) -> None:
    made = tiled(files, tmp_path, "shuffled.sam", 2)
    positions = [int(row[3]) for row in written(made.reads)]
    assert positions == sorted(positions)
    assert len(positions) == 2 * len(KEPT)


def test_header_and_reference(files: Path, tmp_path: Path) -> None:
    made = tiled(files, tmp_path, "csi.bam", 3)
    with pysam.AlignmentFile(made.reads) as file:
        assert file.header.to_dict() == {
            "HD": {"VN": "1.6", "SO": "coordinate"},
            "SQ": [{"SN": "tiles", "LN": 3 * (END - START)}],
            "RG": [{"ID": "a", "SM": "one"}, {"ID": "b", "SM": "two"}],
        }
        start = END - START + 9989 - START
        found = [read.query_name for read in file.fetch("tiles", start, start + 1)]
    assert found == ["pair:1.1"]
    with pysam.FastaFile(str(files / "ref.fa")) as file:
        tile = file.fetch("chr1", START, END)
    with pysam.FastaFile(str(made.reference)) as file:
        assert file.fetch("tiles") == 3 * tile


@pytest.mark.parametrize(
    ("region", "start", "end"),
    [("chr1", 0, CONTIG_LENGTH), ("chr1:1,501-10,020", 0, 13_020), ("{chr1}:9980-", 7979, 20_000)],
)
def test_bases_around_a_region(
    files: Path, tmp_path: Path, region: str, start: int, end: int
) -> None:
    chosen = ChosenReads(files / "bai.bam", region)
    made = tiled_files(tmp_path, chosen, files / "ref.fa", 1, 1)
    with pysam.FastaFile(str(files / "ref.fa")) as file:
        tile = file.fetch("chr1", start, end)
    with pysam.FastaFile(str(made.reference)) as file:
        assert file.fetch("tiles") == tile


@pytest.mark.parametrize(
    ("name", "region", "copies", "kind", "message"),
    [
        ("ref.fa", "chr1:5001-5002", 1, InputError, "no read within chr1:5001-5002; give another"),
        ("ref.fa", "chr1:14,000-14,001", 1, InputError, "no read within"),
        ("ref.fa", "1:10001-12000", 1, InputError, "no contig '1'; found 'chr1' instead"),
        ("ref.fa", "chr1:x", 1, UsageError, "region 'chr1:x': malformed"),
        ("ref.fa", REGION, 306_784, UsageError, "holds at most 306783 copies of 7,000 bases"),
        ("none.fa", REGION, 1, InputError, "none.fa: no contig 'chr1'; found '1' instead"),
        ("short.fa", REGION, 1, InputError, "chr1 has 20,000 bases, but 19,000 in .*short.fa"),
    ],
)
def test_refused(
    files: Path,
    tmp_path: Path,
    name: str,
    region: str,
    copies: int,
    kind: type[HapgpuError],
    message: str,
) -> None:
    for made, contig in (("none.fa", "1"), ("short.fa", "chr1")):
        (tmp_path / made).write_text(f">{contig}\n{random_text(19_000, 3)}\n")
        pysam.faidx(str(tmp_path / made))
    reference = (files if name == "ref.fa" else tmp_path) / name
    with pytest.raises(kind, match=message):
        tiled_files(tmp_path, ChosenReads(files / "bai.bam", region), reference, copies, 1)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> SimulatedFiles:
    directory = tmp_path_factory.mktemp("sample")
    reference = directory / "made.fa"
    reference.write_text(f">c\n{random_text(20_000, 5)}\n")
    return simulated_files(directory, reference, 1, 1)


def test_calls_of_every_copy(sample: SimulatedFiles, tmp_path: Path) -> None:
    """Tiles have nothing but their contig in common: each has the calls of a single tile."""
    chosen = ChosenReads(sample.reads, "tiles:5001-12,000")
    calls = {}
    for copies in (1, 3):
        directory = tmp_path / str(copies)
        directory.mkdir()
        made = tiled_files(directory, chosen, sample.reference, copies, 1)
        output = directory / "calls.vcf"
        options = ("-o", output, "--device", "cpu", "-t", "1", "-q")
        assert status_of_command("call", made.reads, made.reference, *options) == 0
        lines = [line for line in output.read_text().splitlines() if line[0] != "#"]
        calls[copies] = [(int(line.split("\t")[1]), line.split("\t")[2:]) for line in lines]
    assert len(calls[1]) > 5
    shifts = (0, 12_000, 24_000)
    assert calls[3] == [(start + shift, rest) for shift in shifts for start, rest in calls[1]]


def test_measurements_of_repeated_reads(sample: SimulatedFiles) -> None:
    region = "tiles:5001-12,000"
    chosen = ChosenReads(sample.reads, region)
    whole, *stages = benchmark_call(CpuDevice(1), sample.reference, 2, chosen)
    assert whole.data == f"reads.bam {region} x2"
    assert whole.numbers["bases"] == 24_000
    with pysam.AlignmentFile(sample.reads) as file:
        overlapping = file.count("tiles", 5000, 12_000)
    assert whole.numbers["reads"] == 2 * overlapping
    accuracy = {(line.numbers["recall"], line.numbers["precision"]) for line in (whole, *stages)}
    assert accuracy == {(None, None)}
    assert (whole.numbers["haplotypes"] or 0) > (whole.numbers["active_regions"] or 0) > 0
    assert whole.numbers["host_regions"] is None
