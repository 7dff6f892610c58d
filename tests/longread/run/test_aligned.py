"""The whole run with base alignment on the CPU against lines of minimap2 2.30, byte for byte."""

from __future__ import annotations

import gzip
import hashlib
import json
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pytest

from hapgpu.io.fastx.block_workers import BlockWorker
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.longread.align.batches import TargetCodes
from hapgpu.longread.align.start import code_targets
from hapgpu.longread.cpu import CpuAligner
from hapgpu.longread.index.build import build_index_of_records
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import SketchOptions
from tests.longread.minimap2_options import line_options_of, options_of
from tests.longread.stage_runs import computed

LITERAL: Final = (
    "chain.map-ont_paf",
    "chain.map-ont_sam",
    "chain.map-pb_paf",
    "chain.map-pb_sam",
    "chain.map-hifi_paf",
    "chain.map-hifi_sam",
    "chain.lr:hq_paf",
    "chain.lr:hq_sam",
    "lambda_ont.map-ont_paf",
    "lambda_ont.map-ont_sam",
    "ecoli_clr.map-pb_paf",
    "ecoli_clr.map-pb_sam",
    "hg003_hifi.map-hifi_paf",
    "hg003_hifi.map-hifi_sam",
)
"""Sets of which some lines are stored."""
DIGESTED: Final = (
    "sam_MD_Y",
    "sam_cslong_L_hq",
    "sam_2ndseq",
    "paf_eqx_MD",
    "paf_P",
    "paf_N50p01",
    "paf_no2nd_nohit",
    "paf_z",
    "paf_z_hifi",
    "paf_r50",
    "paf_r20_hifi",
    "paf_nojoin",
    "paf_affine",
    "paf_score",
    "paf_transition",
    "paf_endbonus",
    "paf_minlen50",
    "paf_capsw",
    "paf_noendflt_ds",
    "paf_scoreN3",
    "paf_k14w7",
    "sam_hitonly",
)
"""Sets of the chain reads of which only a digest per read is stored."""
OTHER_PRESETS: Final = (
    "lambda_ont.map-pb_paf",
    "lambda_ont.map-pb_sam",
    "ecoli_clr.map-ont_paf",
    "ecoli_clr.map-ont_sam",
    "hg003_hifi.lr:hq_paf",
    "hg003_hifi.lr:hq_sam",
)
ALL: Final = (*LITERAL, *(f"chain.{name}" for name in DIGESTED), *OTHER_PRESETS)

_NO_LINE: Final = "-"


@cache
def reference_of(path: Path, sketch: SketchOptions) -> tuple[MinimizerIndex, TargetCodes]:
    index, records = build_index_of_records(path, sketch, threads=1)
    return index, code_targets(records.sequences)


def located(data_dir: Path, name: str) -> Path:
    """Return the compressed file that a command line names."""
    places = {
        "ref.fa": "longread/chain/ref.fa.gz",
        "reads.fa": "longread/chain/reads.fa.gz",
        "ecoli.NC_000913.2.fa": "genomes/ecoli.NC_000913.2.fa.gz",
        "lambda.NC_001416.fa": "genomes/lambda.NC_001416.fa.gz",
    }
    return data_dir / places.get(name, f"longread/{name}.gz")


def lines_of(
    data_dir: Path,
    command: str,
    reads: Path | None = None,
    open_aligner: Callable[..., BlockWorker] = CpuAligner,
) -> list[bytes]:
    """Run the options of a command line of minimap2; return the lines, without a header."""
    *arguments, reference, named_reads = shlex.split(command)[3:]
    lines, others = line_options_of(arguments)
    options = options_of(others)
    index, targets = reference_of(located(data_dir, reference), options.sketch)
    aligner = open_aligner(index, targets, options, lines)
    blocks = read_blocks(reads or located(data_dir, named_reads), 3 << 20)
    return b"".join(computed(aligner, block).text.tobytes() for block in blocks).splitlines(
        keepends=True
    )


def manifest(data_dir: Path) -> dict[str, Any]:
    entries: dict[str, Any] = json.loads(
        (data_dir / "longread" / "aligned" / "manifest.json").read_text()
    )
    return entries


def literal_lines(path: Path) -> list[bytes]:
    with gzip.open(path) as file:
        return [line for line in file if not line.startswith(b"@")]


def subset(data_dir: Path, command: str, names: set[bytes], tmp_path: Path) -> Path:
    """Write the reads with these names to a file."""
    path = located(data_dir, shlex.split(command)[-1])
    with gzip.open(path) as file:
        text = file.read()
    lines = text.splitlines(keepends=True)
    size = 4 if text.startswith(b"@") else 2
    assert size == 4 or all(line.startswith(b">") for line in lines[::2])
    records = [lines[k : k + size] for k in range(0, len(lines), size)]
    chosen = tmp_path / path.stem
    chosen.write_bytes(
        b"".join(b"".join(record) for record in records if record[0][1:].split()[0] in names)
    )
    return chosen


@pytest.mark.parametrize("name", LITERAL)
def test_lines_equal_minimap2(data_dir: Path, tmp_path: Path, name: str) -> None:
    directory = data_dir / "longread" / "aligned"
    entry = manifest(data_dir)[name]
    expected = literal_lines(directory / entry["literal"]["file"])
    names = {line.split(b"\t", 1)[0] for line in expected}
    if name.startswith("chain."):
        with gzip.open(directory / "chain.subset.names.gz") as file:
            names = set(file.read().split())
    found = lines_of(data_dir, entry["cmd"], subset(data_dir, entry["cmd"], names, tmp_path))
    assert found == expected


def digests(lines: list[bytes]) -> Iterator[tuple[str, str]]:
    for name, of_read in groupby(lines, key=lambda line: line.split(b"\t", 1)[0]):
        yield name.decode(), hashlib.md5(b"".join(of_read), usedforsecurity=False).hexdigest()[:12]


def expected_digests(data_dir: Path, name: str) -> dict[str, str]:
    """Return the digests of the lines of minimap2 by read."""
    reads, column = name.split(".", 1)
    with gzip.open(data_dir / "longread" / "aligned" / f"{reads}.digest.tsv.gz", "rt") as file:
        header, *rows = (line.rstrip("\n").split("\t") for line in file)
    wanted = header.index(column)
    return {row[0]: row[wanted] for row in rows if row[wanted] != _NO_LINE}


def differing(found: dict[str, str], expected: dict[str, str]) -> set[str]:
    """Return the reads whose lines differ."""
    reads = found.keys() | expected.keys()
    return {read for read in reads if found.get(read) != expected.get(read)}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ALL)
def test_all_reads_equal_minimap2(data_dir: Path, name: str) -> None:
    expected = expected_digests(data_dir, name)
    found = dict(digests(lines_of(data_dir, manifest(data_dir)[name]["cmd"])))
    assert not differing(found, expected)
