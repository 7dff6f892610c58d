"""Counts of minimap2 2.30's own CIGARs against its columns and tags."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pysam
import pytest
from numpy.typing import NDArray

from hapgpu.cigar.encoding import parse_cigar
from hapgpu.longread.align.cigars import count_bases
from hapgpu.longread.align.parameters import align_scoring
from hapgpu.longread.options import preset

CODES = np.full(256, 4, dtype=np.uint8)
CODES[list(b"ACGTUacgtu")] = [0, 1, 2, 3, 3] * 2
COMPLEMENT = np.array([3, 2, 1, 0, 4], dtype=np.uint8)


def codes_by_name(path: Path) -> dict[str, NDArray[np.uint8]]:
    with pysam.FastxFile(str(path)) as records:
        return {
            record.name: CODES[np.frombuffer(record.sequence.encode(), dtype=np.uint8)]
            for record in records
        }


@pytest.mark.parametrize(
    ("lines", "options", "reads", "reference"),
    [
        ("chain.map-ont", "map-ont", "longread/chain/reads.fa.gz", "longread/chain/ref.fa.gz"),
        ("chain.map-hifi", "map-hifi", "longread/chain/reads.fa.gz", "longread/chain/ref.fa.gz"),
        (
            "ecoli_clr.map-pb",
            "map-pb",
            "longread/ecoli_clr.fa.gz",
            "genomes/ecoli.NC_000913.2.fa.gz",
        ),
    ],
)
def test_counts_of_minimap2(
    data_dir: Path, lines: str, options: str, reads: str, reference: str
) -> None:
    of_reads, of_reference = codes_by_name(data_dir / reads), codes_by_name(data_dir / reference)
    costs = preset(options).align
    scoring = align_scoring(
        costs.match,
        costs.mismatch,
        (costs.gap_open, costs.gap_extend),
        (costs.gap_open2, costs.gap_extend2),
    )
    with gzip.open(data_dir / f"longread/aligned/{lines}.paf.gz", "rt") as text:
        for line in text:
            columns = line.rstrip("\n").split("\t")
            name, _, *query_range, strand, sequence, _ = columns[:7]
            tags = {tag[:2]: tag[5:] for tag in columns[12:]}
            query = of_reads[name][slice(*map(int, query_range))]
            if strand == "-":
                query = COMPLEMENT[query[::-1]]
            target = of_reference[sequence][slice(*map(int, columns[7:9]))]
            counts = count_bases(parse_cigar(tags["cg"]), query, target, scoring)
            matches, length, ambiguous, gaps, gap_bases, max_score = counts
            assert [matches, length] == [int(column) for column in columns[9:11]]
            assert ambiguous == int(tags["nn"])
            assert length - matches + ambiguous == int(tags["NM"])
            assert max_score == int(tags["ms"])
            differences = 1 - matches / (length + ambiguous - gap_bases + gaps)
            assert tags["de"] == (f"{differences:.4f}" if differences else "0")
