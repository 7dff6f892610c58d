"""`hapgpu call` at intervals in GATK's notation."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.calling.reads import segments
from tests.cli.call.command import Inputs, called, make_inputs, records_in, status_of, summary_of
from tests.cli.in_process import error_of_command

LENGTH = 20_000


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def by_region(example: Inputs, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the calls of two regions."""
    regions = ("-r", "chr20:5001-5400", "-r", "chr20:15,001-15,400")
    return called(tmp_path_factory.mktemp("expected"), *example, *regions)


def positions_of(text: str) -> list[int]:
    """Return the positions, from 1, of the records and blocks of a genomic VCF, in their order."""
    positions = []
    for row in records_in(text):
        info = dict(field.partition("=")[::2] for field in row[7].split(";"))
        end = int(info.get("END", int(row[1]) + len(row[3]) - 1))
        positions.extend(range(int(row[1]), end + 1))
    return positions


INTERVAL_LIST = (
    "@HD\tVN:1.6\n@SQ\tSN:chr20\tLN:20000\n@SQ\tSN:chrUn\tLN:5\n"
    "chr20\t15001\t15400\t+\tb\nchr20\t5001\t5400\t-\ta\n"
)
VCF = (
    "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    "chr20\t5001\t.\tN\t<DEL>\t.\t.\tEND=5400\nchr20\t15001\t.\tN\t<DEL>\t.\t.\tEND=15400\n"
)
SAME = {
    "a.bed": "chr20\t5000\t5400\nchr20\t15000\t15400\n",
    "a.bed.gz": "chr20\t5000\t5400\nchr20\t15000\t15400\n",
    "a.interval_list": INTERVAL_LIST,
    "a.vcf": VCF,
    "a.vcf.gz": VCF,
    "a.list": "chr20:15,001-15,400\nchr20:5001-5400\n",
    "a.intervals": "chr20:15,001-15,400\nchr20:5001-5400\n",
    "targets": "chr20\t5000\t5400\nchr20\t15000\t15400\n",
}


@pytest.mark.parametrize("name", SAME)
def test_files(example: Inputs, by_region: str, tmp_path: Path, name: str) -> None:
    text = SAME[name].encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert called(tmp_path, *example, "-L", tmp_path / name) == by_region
    assert len(summary_of(by_region)) > 2


@pytest.mark.parametrize(
    "words",
    [
        "-L chr20:5001-5400 -L chr20:15001-15400",
        "--intervals chr20:5,001-5,400 --targets-file chr20:15001-15400 -L unmapped",
        "-L chr20:5101-5300 -L chr20:15101-15300 --interval-padding 100",
        "-L chr20:5001-15400 --exclude-intervals chr20:5401-15000",
        "-L chr20:5001-15400 --exclude-intervals chr20:5501-14900 --interval-exclusion-padding 100",
        (
            "-L chr20:5001+ -L chr20:1-15400 --interval-set-rule INTERSECTION"
            " --exclude-intervals chr20:5401-15000"
        ),
        (
            "--exclude-intervals chr20:1-5000 --exclude-intervals chr20:5401-15000"
            " --exclude-intervals chr20:15401+"
        ),
        "-L chr20 -r chr20:5001-5400 -r chr20:15001-15400",
        "-r chr20 -L chr20:5001-5400 -L chr20:15001-15400",
    ],
)
def test_ways_to_choose(example: Inputs, by_region: str, tmp_path: Path, words: str) -> None:
    assert called(tmp_path, *example, *words.split()) == by_region


def test_reads_without_a_position(example: Inputs, tmp_path: Path) -> None:
    assert not records_in(called(tmp_path, *example, "-L", "unmapped"))


@pytest.mark.parametrize("edges", [[5000, 5150, 5160, 5300], [1, 5130, 5132, 20_000]])
def test_intervals_that_abut(
    example: Inputs, tmp_path: Path, edges: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each position is written once; with another cut of the work, too."""
    words: list[str] = []
    for start, end in pairwise(edges):
        words += ["-L", f"chr20:{start}-{end - (end < edges[-1])}"]
    options = [*words, "--gvcf", "--interval-merging-rule"]
    apart = called(tmp_path, *example, *options, "overlapping_only")
    assert positions_of(apart) == list(range(edges[0], edges[-1] + 1))
    assert called(tmp_path, *example, *options, "OVERLAPPING_ONLY", threads=1) == apart
    whole = called(tmp_path, *example, "-L", f"chr20:{edges[0]}-{edges[-1]}", "--gvcf")
    assert called(tmp_path, *example, *options, "all") == whole
    monkeypatch.setattr(segments, "_MIN_BASES", 90)
    monkeypatch.setattr(segments, "_MAX_BASES", 90)
    assert called(tmp_path, *example, *options, "overlapping_only") == apart


@pytest.mark.parametrize("rule", ["all", "overlapping_only"])
@pytest.mark.parametrize("seed", range(3))
def test_each_position_is_written_once(
    example: Inputs, tmp_path: Path, seed: int, rule: str
) -> None:
    random = np.random.default_rng(seed)
    starts = (random.choice([4800, 5100, 15_100], 6) + random.integers(0, 200, 6)).tolist()
    sizes = random.choice([0, 9, 99], 6).tolist()
    intervals = [(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    intervals += [(end + 1, end + 30) for _, end in intervals[:2]]
    (tmp_path / "x.list").write_text("".join(f"chr20:{a}-{b}\n" for a, b in intervals))
    words = ["-L", tmp_path / "x.list", "--interval-merging-rule", rule]
    found = positions_of(called(tmp_path, *example, *words, "--gvcf"))
    wanted = {at for start, end in intervals for at in range(start, end + 1)}
    extra = [at for at in found if at not in wanted]  # a deletion at the end of an interval
    assert len(set(found)) == len(found)
    assert wanted <= set(found)
    assert len(extra) <= 4
    variants = records_in(called(tmp_path, *example, *words))
    assert {int(row[1]) for row in variants} <= wanted


def test_intervals_that_abut_without_reads(example: Inputs, tmp_path: Path) -> None:
    """A stream is known to have no reads there; an index only knows of the contig."""
    words = [
        "-L",
        "chr20:1-9",
        "-L",
        "chr20:10-20",
        "--gvcf",
        "--interval-merging-rule",
        "overlapping_only",
    ]
    stream = called(tmp_path, example.reads.with_suffix(".sam"), example.reference, *words)
    assert stream == called(tmp_path, *example, *words)
    assert [row[1] for row in records_in(stream)] == ["1"]


def test_a_border_in_a_variant(example: Inputs, tmp_path: Path) -> None:
    """An active region ends at the border of its interval, also if another abuts."""
    first, second = "chr20:5000-5130", "chr20:5131-5400"
    both = ["-L", first, "-L", second, "--interval-merging-rule", "overlapping_only"]
    apart = records_in(called(tmp_path, *example, *both))
    alone = [
        row
        for each in (first, second)
        for row in records_in(called(tmp_path, *example, "-L", each))
    ]
    assert apart == alone


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-L x.bed", "x.bed: no such file"),
        ("-L chr20;chr21", "-L chr20;chr21: ';' joins no intervals"),
        ("-L chr21:5", "-L chr21:5: no contig 'chr21' in the reference"),
        ("-L chr20:5-20001", "-L chr20:5-20001: chr20 has only 20,000 bases"),
        ("--exclude-intervals chr20", "--exclude-intervals: nothing is left"),
        ("--exclude-intervals unmapped", "--exclude-intervals unmapped: cannot exclude"),
        ("-L -", "INTERVALS: cannot be standard input"),
        ("-L chr20:5-9 -L chr20:15-19 --interval-set-rule intersection", "-L: no base in common"),
        ("--interval-padding 5", "--interval-padding: no effect without -L"),
        ("-L chr20 --interval-padding -5", "--interval-padding: must be a whole number from 0"),
        ("-L chr20 --interval-exclusion-padding 5", "--interval-exclusion-padding: no effect"),
        ("--interval-set-rule union", "--interval-set-rule: no effect without -L"),
        ("--interval-merging-rule all", "--interval-merging-rule: no effect without -L"),
    ],
)
def test_errors(
    example: Inputs,
    tmp_path: Path,
    words: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert status_of(*example, *words.split(), "-q", "-o", tmp_path / "x.vcf") in {1, 2}
    assert message in error_of_command("call", capsys)


def test_no_input_is_written_over(example: Inputs, tmp_path: Path) -> None:
    path = tmp_path / "x.list"
    path.write_text("chr20\n")
    for option in ("-L", "--exclude-intervals"):
        assert status_of(*example, option, path, "-o", path) == 2
    assert path.read_text() == "chr20\n"


def test_a_contig_without_reads(
    example: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reads must know a contig that is given; without -L, they choose the contigs."""
    text = example.reference.read_text()
    reference = tmp_path / "more.fa"
    reference.write_text(f"{text.rstrip()}\n>chr21\nACGT\n")
    pysam.faidx(str(reference))
    inputs = (example.reads, reference)
    assert status_of(*inputs, "-L", "chr21", "-q") == 1
    assert "no contig 'chr21', which a region names" in error_of_command("call", capsys)
    left = called(tmp_path, *inputs, "--exclude-intervals", "chr20:1-15000")
    assert left == called(tmp_path, *inputs, "-r", "chr20:15001-20000")
