"""The options of `hapgpu chain`: their values, and their effects on the lines."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pysam
import pytest

from hapgpu.longread import pipeline
from hapgpu.longread.options import LARGEST_READ, PRESETS, LongReadOptions, SketchOptions
from tests.cli.chain.command import (
    UNIT,
    Sample,
    fasta_text,
    lines_of,
    of_read,
    status_of,
    tag,
)
from tests.cli.in_process import status_of_command

READS_OF_A_SET: Final = 150
SETS: Final = (
    "v230_map-ont_P_nojoin",
    "v230_map-ont_N50p01",
    "v230_map-ont_f0.005_e0",
    "v230_map-ont_k14w7",
    "v230_map-hifi",
    "v230_map-pb",
)
Group = dict[str, Any]


@pytest.fixture
def run(sample: Sample, tmp_path: Path) -> Callable[..., list[str]]:
    """Return a function that maps the reads with options."""

    def lines(*arguments: str) -> list[str]:
        return lines_of(tmp_path, sample.fasta, sample.fastq, *arguments)

    return lines


@pytest.fixture(scope="module")
def some_reads(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write every twelfth of the reads with expected lines."""
    path = tmp_path_factory.mktemp("reads") / "reads.fa"
    with pysam.FastxFile(str(data_dir / "longread" / "chain" / "reads.fa.gz")) as records:
        chosen = islice(records, 0, 12 * READS_OF_A_SET, 12)
        path.write_text(fasta_text({record.name: record.sequence for record in chosen}))
    return path


@pytest.mark.parametrize("name", SETS)
def test_lines_equal_minimap2(data_dir: Path, some_reads: Path, tmp_path: Path, name: str) -> None:
    directory = data_dir / "longread" / "chain"
    arguments = json.loads((directory / "manifest.json").read_text())[name]["options"].split()
    with pysam.FastxFile(str(some_reads)) as records:
        names = {record.name for record in records}
    with gzip.open(directory / f"{name}.paf.gz", "rt") as lines:
        expected = [line for line in lines.read().splitlines() if line.split("\t")[0] in names]
    assert lines_of(tmp_path, directory / "ref.fa.gz", some_reads, *arguments) == expected
    assert len(expected) > 100


@pytest.fixture
def options_of(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., LongReadOptions]]:
    """Return a function that returns the options that the command would map with."""
    used = []
    monkeypatch.setattr(
        pipeline, "map_long_reads", lambda _run, _fasta, _reads, options, *_: used.append(options)
    )

    def chosen(*arguments: str) -> LongReadOptions:
        files = sample.fasta, sample.fastq
        assert status_of(*files, *arguments, "-q", "--device", "cpu") == 0
        options: LongReadOptions = used.pop()
        return options

    return chosen


@pytest.mark.parametrize("name", PRESETS)
def test_presets(options_of: Callable[..., LongReadOptions], name: str) -> None:
    assert options_of("-x", name) == options_of("--preset", name) == PRESETS[name]
    assert options_of() == PRESETS["map-ont"] == LongReadOptions()
    changed = replace(PRESETS[name], sketch=replace(PRESETS[name].sketch, w=7))
    assert options_of("-w", "7", "-x", name) == changed


@pytest.mark.parametrize(
    ("arguments", "group", "fields"),
    [
        ("-k 17 -w 5 -H", "sketch", {"k": 17, "w": 5, "is_hpc": True}),
        ("-f 1e-3", "seeds", {"repetitive": 0.001}),
        ("-f 100", "seeds", {"repetitive": 100.0}),
        ("-f 2.6", "seeds", {"repetitive": 3.0}),
        ("-f 0", "seeds", {"repetitive": 0.0}),
        ("-U 5", "seeds", {"min_cutoff": 5}),
        ("-U 5,5k", "seeds", {"min_cutoff": 5, "max_cutoff": 5000}),
        ("-e 1k", "seeds", {"occurrence_distance": 1000}),
        ("-e 0", "seeds", {"occurrence_distance": 0}),
        ("--q-occ-frac 0.5", "seeds", {"read_fraction": 0.5}),
        ("-g 10k", "chains", {"max_gap": 10_000}),
        ("-g 2.5K", "chains", {"max_gap": 2500}),
        ("-g 0.001m", "chains", {"max_gap": 1000}),
        ("-g 7.5", "chains", {"max_gap": 7}),
        ("-g 7.6", "chains", {"max_gap": 8}),
        ("-r 300", "chains", {"bandwidth": 300}),
        ("-r 1k,0.1m", "chains", {"bandwidth": 1000, "long_bandwidth": 100_000}),
        ("-n 5 -m 80", "chains", {"min_count": 5, "min_score": 80}),
        ("--max-chain-skip=1000000000", "chains", {"max_skip": 1_000_000_000}),
        ("--max-chain-iter 100", "chains", {"max_iterations": 100}),
        ("--no-long-join", "chains", {"joins": False}),
        ("-M 0.25 -p 0.5", "mappings", {"mask_level": 0.25, "score_ratio": 0.5}),
        ("-N 50", "mappings", {"max_secondary": 50}),
        ("-N 0", "mappings", {"max_secondary": 5, "prints_secondary": False}),
        ("--secondary=no", "mappings", {"prints_secondary": False}),
        ("--secondary yes", "mappings", {}),
        ("-P", "mappings", {"all_chains": True}),
        ("--no-hash-name", "mappings", {"uses_names": False}),
        ("--paf-no-hit", "mappings", {"prints_unmapped": True}),
    ],
)
def test_letters(
    options_of: Callable[..., LongReadOptions], arguments: str, group: str, fields: Group
) -> None:
    plain = LongReadOptions()
    expected = replace(plain, **{group: replace(getattr(plain, group), **fields)})
    assert options_of(*arguments.split()) == expected


@pytest.mark.parametrize(("size", "anchors"), [("64", LARGEST_READ), ("1G", (1 << 30) // (8 + 8))])
def test_anchors_of_a_read_are_limited_as_records_are(
    options_of: Callable[..., LongReadOptions], size: str, anchors: int
) -> None:
    """An anchor is two numbers of 64 bits, x and y; a smaller record leaves the usual limit."""
    assert options_of("--max-record", size).max_anchors == anchors


def test_k_and_w_of_an_index(sample: Sample, tmp_path: Path) -> None:
    """Chain finds the index by the options that built it."""
    arguments = ("-x", "map-hifi", "-k", "21")
    path = tmp_path / "reference.fa"
    path.write_bytes(sample.fasta.read_bytes())
    assert status_of_command("index", "--minimizers", *arguments, path, "-q") == 0
    assert (tmp_path / "reference.fa.k21w19.hgm").exists()
    with_index = lines_of(tmp_path, path, sample.fastq, *arguments)
    assert with_index == lines_of(tmp_path, sample.fasta, sample.fastq, *arguments)
    assert SketchOptions(k=21, w=19) != SketchOptions()


def names_of(lines: list[str]) -> set[str]:
    return {line.split("\t")[0] for line in lines}


@pytest.mark.parametrize("minimum", [200, 10**6])
def test_min_anchors_and_score(run: Callable[..., list[str]], minimum: int) -> None:
    everything = run("-P")
    for option, key in (("-n", "cm"), ("-m", "s1")):
        found = run("-P", option, str(minimum))
        assert all(int(tag(line.split("\t"), key)) >= minimum for line in found)
        kept = [line for line in everything if int(tag(line.split("\t"), key)) >= minimum]
        assert [line.split("\t")[:10] for line in found] == [line.split("\t")[:10] for line in kept]


def test_gap(sample: Sample, run: Callable[..., list[str]]) -> None:
    """The read has 1,500 random bases in its middle."""
    assert len(of_read(run(), "gap")) == 1
    narrow = ("-r", "400,400")
    assert len(of_read(run(*narrow), "gap")) == 1
    assert len(of_read(run(*narrow, "-g", "1k"), "gap")) == 2
    assert len(of_read(run(*narrow, "-g", "2k"), "gap")) == 1
    assert len(sample.reads["gap"]) == 5500


def test_bandwidths_and_joining(run: Callable[..., list[str]]) -> None:
    """The read lacks 1,000 bases of the reference."""
    assert len(of_read(run(), "deletion")) == 1
    assert len(of_read(run("--no-long-join"), "deletion")) == 2
    assert len(of_read(run("-r", "500,500"), "deletion")) == 2
    assert len(of_read(run("-r", "2k", "--no-long-join"), "deletion")) == 1


def test_repetitive_minimizers(run: Callable[..., list[str]]) -> None:
    """The reference has twenty copies of the read."""
    assert not of_read(run("-f", "5", "-e", "0"), "unit")
    assert not of_read(run("-U", "5,10", "-e", "0"), "unit")
    for options in (["-f", "20"], ["-U", "20,100"], ["-f", "5", "-e", "10"]):
        rows = of_read(run(*options), "unit")
        assert len(rows) == 6, options
        assert {row[5] for row in rows} == {"chr3"}
    assert int(tag(of_read(run("-f", "5", "-e", "30"), "unit")[0], "rl")) > 0
    assert tag(of_read(run("-f", "20"), "unit")[0], "rl") == "0"


def test_minimizers_that_are_frequent_in_the_read(run: Callable[..., list[str]]) -> None:
    """The read repeats two hundred bases sixty times."""
    assert not of_read(run(), "tandem")
    assert of_read(run("--q-occ-frac", "0"), "tandem")
    assert of_read(run("--q-occ-frac=0.5"), "tandem")


def test_overlap_of_chains(run: Callable[..., list[str]]) -> None:
    """A third of the chain on chr2 is outside the chain on chr1."""
    assert [row[5] for row in of_read(run(), "overlap")] == ["chr1"]
    assert [row[5] for row in of_read(run("-M", "0.7"), "overlap")] == ["chr1", "chr2"]
    rows = of_read(run("-p", "0.1"), "overlap")
    assert [(row[5], tag(row, "tp")) for row in rows] == [("chr1", "P"), ("chr2", "S")]


def test_secondary_chains(run: Callable[..., list[str]]) -> None:
    units = ("-U", "20,100")
    assert len(of_read(run(*units), "unit")) == 6
    assert len(of_read(run(*units, "-N", "50"), "unit")) == 20
    assert len(of_read(run(*units, "-N", "2"), "unit")) == 3
    primary = [line for line in run(*units) if "tp:A:P" in line]
    assert run(*units, "--secondary=no") == run(*units, "-N", "0") == primary


def test_all_chains(run: Callable[..., list[str]]) -> None:
    rows = [line.split("\t") for line in run("-P", "-U", "20,100")]
    assert all((tag(row, "tp"), row[11]) == ("S", "0") for row in rows)
    assert sum(row[0] == "unit" for row in rows) == 20


def test_names_decide_between_equal_chains(run: Callable[..., list[str]]) -> None:
    def chosen(lines: list[str]) -> list[str]:
        rows = [of_read(lines, f"shared{number}")[0] for number in range(12)]
        return [row[5] for row in rows]

    assert set(chosen(run())) == {"chr1", "chr2"}
    assert len(set(chosen(run("--no-hash-name")))) == 1


def test_reads_without_a_chain(sample: Sample, run: Callable[..., list[str]]) -> None:
    everyone = run("--paf-no-hit")
    mapped = run()
    assert names_of(everyone) == set(sample.reads)
    assert [line for line in everyone if "\t*\t*\t" not in line] == mapped
    without = [line for line in everyone if "\t*\t*\t" in line]
    assert names_of(without) == set(sample.reads) - names_of(mapped)
    assert len(sample.reads["unit"]) == UNIT
