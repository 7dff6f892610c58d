"""Ungapped hits, against the hits of `bowtie -v 1 -a`; an opt-in.

Three differences of bowtie are excluded: hits over letters of the reference other
than A, C, G and T, which it never reports; reads with such letters; and reads of over 1,000 bases.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.runtime.devices import CpuDevice
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.search import cpu
from hapgpu.shortread.search.hits import MIN_READ_BASES, SearchOptions
from tests.shortread.made_reads import make_contigs, make_reads, write_fasta
from tests.shortread.search_oracle import pack

MAX_BASES = 1000
BASES = list(b"ACGT")

HitPlacement = tuple[int, int, int, int]
"""Number of the read, strand, number of the contig, start."""

pytestmark = pytest.mark.skipif(
    os.environ.get("HAPGPU_TEST_BOWTIE") != "1" or shutil.which("bowtie") is None,
    reason="set HAPGPU_TEST_BOWTIE=1 and install bowtie to run this",
)


def placements_by_bowtie(fasta: Path, reads: Sequence[str], errors: int) -> list[HitPlacement]:
    directory = fasta.parent
    queries, index, output = directory / "reads.fa", directory / "index", directory / "hits.txt"
    queries.write_text("".join(f">{number}\n{read}\n" for number, read in enumerate(reads)))
    subprocess.run(["bowtie-build", "-q", fasta, index], check=True, capture_output=True)
    subprocess.run(
        ["bowtie", "-v", str(errors), "-a", "-f", "-x", index, queries, output],
        check=True,
        capture_output=True,
    )
    lines = (line.split("\t") for line in output.read_text().splitlines())
    return sorted(
        (int(read), int(strand == "-"), int(contig.removeprefix("contig_")), int(start))
        for read, strand, contig, start, *_ in lines
    )


def placements_by_hapgpu(
    fasta: Path, contigs: Sequence[str], reads: Sequence[str], errors: int
) -> list[HitPlacement]:
    index = build_index(fasta, CpuDevice())
    found = cpu.search(index, pack(reads), SearchOptions(errors=errors, indels=False))
    numbers = np.searchsorted(index.contigs.offsets, found.starts, side="right") - 1
    starts = found.starts - index.contigs.offsets[numbers]
    owners = np.repeat(np.arange(len(reads)), np.diff(found.offsets))
    columns = (owners, found.strands, numbers, starts)
    placements = zip(*(column.tolist() for column in columns), strict=True)
    texts = [np.frombuffer(contig.upper().encode(), dtype=np.uint8) for contig in contigs]
    is_base = [np.isin(text, BASES) for text in texts]
    return sorted(
        (read, strand, contig, start)
        for read, strand, contig, start in placements
        if is_base[contig][start : start + len(reads[read])].all()
    )


def is_fit_for_bowtie(read: str) -> bool:
    return MIN_READ_BASES <= len(read) <= MAX_BASES and set(read.upper()) <= set("ACGT")


@pytest.mark.parametrize("errors", [0, 1])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_made_reads(seed: int, errors: int, tmp_path: Path) -> None:
    contigs = make_contigs(seed)
    groups = make_reads(contigs, each=100, seed=seed)
    reads = [read for group in groups.values() for read in group if is_fit_for_bowtie(read)]
    fasta = write_fasta(tmp_path / "made.fa", contigs)
    expected = placements_by_bowtie(fasta, reads, errors)
    assert len(expected) > 10_000
    assert placements_by_hapgpu(fasta, contigs, reads, errors) == expected


@pytest.mark.parametrize("mate", [1, 2])
def test_ecoli_reads(mate: int, data_dir: Path, tmp_path: Path) -> None:
    with pysam.FastxFile(str(data_dir / "genomes/ecoli.NC_000913.2.fa.gz")) as records:
        contigs = [record.sequence for record in records]
    with pysam.FastxFile(str(data_dir / f"shortread/ecoli_corrected.R{mate}.fq.gz")) as records:
        reads = [record.sequence for record in records if is_fit_for_bowtie(record.sequence)]
    fasta = write_fasta(tmp_path / "ecoli.fa", contigs)
    expected = placements_by_bowtie(fasta, reads, 1)
    assert len(expected) > 28_000
    assert placements_by_hapgpu(fasta, contigs, reads, 1) == expected
