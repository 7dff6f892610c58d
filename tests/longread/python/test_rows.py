"""`hapgpu.LongReadIndex` gives the rows of `hapgpu chain`: all columns, in the same order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pysam
import pytest

import hapgpu
from hapgpu.longread.options import PRESETS
from tests.cli.chain.command import Sample, fasta_text
from tests.longread.python.rows import (
    command_lines,
    expected_sam_rows,
    paf_lines,
    records_of,
    sam_rows,
)

pytest.importorskip("pandas")

SETTINGS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "all chains": (["-P"], {"all_chains": True}),
    "secondary": (["-N", "50", "-p", "0.1"], {"max_secondary": 50, "score_ratio": 0.1}),
    "no secondary": (["--secondary=no"], {"secondary": False}),
    "N 0": (["-N", "0"], {"max_secondary": 0}),
    "seeds": (
        ["-f", "0.005", "-e", "0", "-U", "5,50", "--q-occ-frac", "0.1"],
        {
            "repetitive": 0.005,
            "occurrence_distance": 0,
            "cutoffs": (5, 50),
            "read_fraction": 0.1,
        },
    ),
    "cutoff": (["-f", "3"], {"repetitive": 3}),
    "lowest cutoff": (["-U", "2"], {"cutoffs": 2}),
    "chains": (
        ["-g", "300", "-r", "100", "-n", "5", "-m", "60", "--no-long-join"],
        {
            "max_gap": 300,
            "bandwidths": 100,
            "min_count": 5,
            "min_score": 60,
            "no_long_join": True,
        },
    ),
    "limits": (
        ["--max-chain-skip", "3", "--max-chain-iter", "9", "-r", "200,1000", "-M", "0.1"],
        {"max_skip": 3, "max_iterations": 9, "bandwidths": (200, 1000), "mask_level": 0.1},
    ),
    "names": (["--no-hash-name"], {"no_hash_name": True}),
}
SCORES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "scores": (
        ["-A", "3", "-B", "5", "-b", "2", "--score-N", "2", "-O", "5,20", "-E", "3,1"],
        {
            "match": 3,
            "mismatch": 5,
            "transition": 2,
            "ambiguous": 2,
            "gap_open": (5, 20),
            "gap_extend": (3, 1),
        },
    ),
    "one gap cost": (["-O", "6", "-E", "2"], {"gap_open": 6, "gap_extend": 2}),
    "limits": (
        ["-z", "50,20", "-s", "300", "--end-bonus", "20", "--min-dp-len", "50", "--no-end-flt"],
        {
            "drops": (50, 20),
            "min_dp_score": 300,
            "end_bonus": 20,
            "min_dp_len": 50,
            "no_end_flt": True,
        },
    ),
    "cells": (["--cap-sw-mem", "2000"], {"cap_sw_mem": 2000}),
    "eqx": (["--eqx"], {"eqx": True}),
    "all chains": (["-P"], {"all_chains": True}),
    "no secondary": (["--secondary=no"], {"secondary": False}),
}


@pytest.fixture(scope="module")
def indexes() -> Callable[[str, Path], hapgpu.LongReadIndex]:
    """Return a function that makes each index once."""
    made: dict[tuple[str, Path], hapgpu.LongReadIndex] = {}

    def index_of(name: str, reference: Path) -> hapgpu.LongReadIndex:
        key = name, reference
        if key not in made:
            made[key] = hapgpu.LongReadIndex.build(reference, preset=name, threads=1)
        return made[key]

    return index_of


@pytest.fixture(scope="module")
def real_reads(
    data_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Path, Path]]:
    """Return a function that writes some reads of a set; it returns the reference, too."""
    longread, directory = data_dir / "longread", tmp_path_factory.mktemp("reads")
    sets = {
        "lambda": ("lambda_ont.fq.gz", data_dir / "genomes" / "lambda.NC_001416.fa.gz", 4),
        "hifi": ("hg003_hifi.fa.gz", longread / "grch38_chr20_8900001_9200000.fa.gz", 12),
        "clr": ("ecoli_clr.fa.gz", data_dir / "genomes" / "ecoli.NC_000913.2.fa.gz", 16),
        "made": ("chain/reads.fa.gz", longread / "chain" / "ref.fa.gz", 12),
    }

    def written(name: str) -> tuple[Path, Path]:
        reads, reference, step = sets[name]
        path = directory / f"{name}.fa"
        if not path.exists():
            with pysam.FastxFile(str(longread / reads)) as records:
                some = {each.name: each.sequence for each in islice(records, 0, None, step)}
            path.write_text(fasta_text(some))
        return reference, path

    return written


@pytest.mark.parametrize("name", sorted(PRESETS))
@pytest.mark.parametrize("reads", ["lambda", "hifi", "clr", "made"])
def test_real_reads(
    indexes: Callable[[str, Path], hapgpu.LongReadIndex],
    real_reads: Callable[[str], tuple[Path, Path]],
    tmp_path: Path,
    name: str,
    reads: str,
) -> None:
    reference, path = real_reads(reads)
    index = indexes(name, reference)
    names, bases = records_of(path)
    mappings = index.map(bases, names=names, device="cpu", threads=1)
    output = tmp_path / "out.paf"
    expected = command_lines(output, reference, path, "-x", name)
    assert paf_lines(index, mappings) == expected
    assert len(expected) >= 20


@pytest.mark.parametrize("name", sorted(PRESETS))
@pytest.mark.parametrize("reads", ["lambda", "hifi", "made"])
def test_alignments_of_real_reads(
    indexes: Callable[[str, Path], hapgpu.LongReadIndex],
    real_reads: Callable[[str], tuple[Path, Path]],
    tmp_path: Path,
    name: str,
    reads: str,
) -> None:
    reference, path = real_reads(reads)
    index = indexes(name, reference)
    names, bases = records_of(path)
    alignments = index.align(bases, names=names, threads=1)
    preset = ("-x", name)
    expected = command_lines(tmp_path / "out.paf", reference, path, *preset, "-c")
    assert paf_lines(index, alignments) == expected
    records = sam_rows(command_lines(tmp_path / "out.sam", reference, path, *preset, "-a"))
    assert expected_sam_rows(alignments) == records
    assert len(expected) >= 20


@pytest.mark.parametrize("key", SETTINGS)
def test_settings(index: hapgpu.LongReadIndex, sample: Sample, tmp_path: Path, key: str) -> None:
    arguments, settings = SETTINGS[key]
    names, bases = records_of(sample.fastq)
    mappings = index.map(bases, names=names, device="cpu", threads=1, **settings)
    expected = command_lines(tmp_path / "out.paf", sample.fasta, sample.fastq, *arguments)
    assert paf_lines(index, mappings) == expected


@pytest.mark.parametrize(
    "key",
    [pytest.param(key, marks=pytest.mark.exhaustive) if key == "cells" else key for key in SCORES],
)
def test_settings_of_alignments(
    index: hapgpu.LongReadIndex, sample: Sample, tmp_path: Path, key: str
) -> None:
    arguments, settings = SCORES[key]
    names, bases = records_of(sample.fastq)
    alignments = index.align(bases, names=names, threads=1, **settings)
    inputs = (sample.fasta, sample.fastq, *arguments)
    assert paf_lines(index, alignments) == command_lines(tmp_path / "out.paf", *inputs, "-c")
    records = sam_rows(command_lines(tmp_path / "out.sam", *inputs, "-a"))
    assert expected_sam_rows(alignments) == records


def test_names_default_to_row_numbers(
    index: hapgpu.LongReadIndex, sample: Sample, tmp_path: Path
) -> None:
    _, bases = records_of(sample.fastq)
    path = tmp_path / "numbered.fa"
    path.write_text(fasta_text({str(row): read for row, read in enumerate(bases)}))
    expected = command_lines(tmp_path / "out.paf", sample.fasta, path)
    assert paf_lines(index, index.map(bases, device="cpu", threads=1)) == expected
