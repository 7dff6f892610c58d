"""The search with real genomes and reads, against the results of other programs."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pysam
import pytest
from numpy.typing import NDArray

from hapgpu.runtime.devices import CpuDevice, CudaDevice
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.search import cpu
from hapgpu.shortread.search.hits import DELETION, INSERTION, UNGAPPED, HitBatch, SearchOptions
from hapgpu.shortread.search.packed_reads import PackedReads, pack_reads
from tests.shortread.made_reads import write_fasta
from tests.shortread.search_oracle import ALL, EVERY_OPTION, Oracle, assert_same_hits, pack

ECOLI = "genomes/ecoli.NC_000913.2.fa.gz"
HUMAN = "illumina_na12878/chr20.hg19.fa.gz"
HUMAN_ALIGNMENTS = "illumina_na12878/NA12878.chr20.dev.bam"
REPEAT_RICH = "genomes/grch38_chr20_60001_8060000.fa.gz"

WGSIM_OPTIONS = ["-N1000000", "-S11", "-e0.005", "-r0.001", "-R0.15", "-1100", "-2100"]
WGSIM_MD5 = "c4f0c57e36eb61bae0f78dbdf1d882d2"


@pytest.fixture(scope="module", params=[False, True], ids=["full", "low_memory"])
def ecoli(request: pytest.FixtureRequest, data_dir: Path) -> FMIndexArrays:
    return build_index(data_dir / ECOLI, CpuDevice(), low_memory=request.param)


@pytest.fixture(scope="module")
def human(data_dir: Path) -> FMIndexArrays:
    """63 million bases, of which all but 1.3 million are N."""
    return build_index(data_dir / HUMAN, CpuDevice())


def read_fastq(data_dir: Path, stem: str) -> list[str]:
    reads: list[str] = []
    for mate in (1, 2):
        with pysam.FastxFile(str(data_dir / f"shortread/{stem}.R{mate}.fq.gz")) as records:
            reads += [record.sequence for record in records]
    return reads


def min_distances(batch: HitBatch) -> NDArray[np.int64]:
    """int64[n]: of the hits of each read, 2 for reads without hits."""
    best = np.full(batch.offsets.size - 1, 2)
    np.minimum.at(best, np.repeat(np.arange(best.size), np.diff(batch.offsets)), batch.distances)
    return best


def test_ecoli_reads(ecoli: FMIndexArrays, data_dir: Path) -> None:
    found = cpu.search(ecoli, pack(read_fastq(data_dir, "ecoli_corrected")), ALL)
    # Numbers of exact matches, matches with one error, and none, from the note on these data.
    assert np.bincount(min_distances(found)).tolist() == [56210, 107, 3]


def test_human_reads_that_fit_exactly(human: FMIndexArrays, data_dir: Path) -> None:
    reads = read_fastq(data_dir, "NA12878.chr20_dev")
    distances = min_distances(cpu.search(human, pack(reads), ALL))
    # `bwa mem` 0.7.17 without pairing reports as many alignments with NM 0 and without clips.
    assert (distances == 0).sum() == 20131


def test_alignments_of_human_reads_with_one_error_are_hits(
    human: FMIndexArrays, data_dir: Path
) -> None:
    with pysam.AlignmentFile(str(data_dir / HUMAN_ALIGNMENTS)) as file:
        records = [record for record in file if _has_at_most_one_error(record)]
    found = cpu.search(human, pack([record.get_forward_sequence() for record in records]), ALL)
    positions = [
        {(start, strand, kind): distance for distance, start, strand, kind in row}
        for row in _rows(found)
    ]
    aligned = [(record.reference_start, record.is_reverse, _kind(record)) for record in records]
    assert len(records) == 23518
    assert [row.get(position) for row, position in zip(positions, aligned, strict=True)] == [
        record.get_tag("NM") for record in records
    ]


def _has_at_most_one_error(record: pysam.AlignedSegment) -> bool:
    is_whole = not record.is_unmapped and record.query_length == record.query_alignment_length
    return is_whole and bool(record.get_tag("NM") <= 1)


def _kind(record: pysam.AlignedSegment) -> int:
    return record.reference_length - record.query_length + UNGAPPED


def _rows(batch: HitBatch) -> list[list[tuple[int, ...]]]:
    columns = (batch.distances, batch.starts, batch.strands, batch.kinds)
    hits = list(zip(*(column.tolist() for column in columns), strict=True))
    return [hits[start:end] for start, end in pairwise(batch.offsets.tolist())]


def test_human_reads_against_the_reference_implementation(data_dir: Path, tmp_path: Path) -> None:
    with pysam.FastaFile(str(data_dir / HUMAN)) as fasta:
        piece = fasta.fetch("chr20", 9_994_990, 10_055_000)
    random = Random(4)  # noqa: S311  (the same reads on every run)
    reads = random.sample(read_fastq(data_dir, "NA12878.chr20_dev"), 500)
    oracle = Oracle([piece], reads)
    index = build_index(write_fasta(tmp_path / "piece.fa", [piece]), CpuDevice())
    for options in EVERY_OPTION:
        assert_same_hits(cpu.search(index, pack(reads), options), oracle.expected(options))


@pytest.fixture(scope="module")
def simulated(
    data_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[FMIndexArrays, PackedReads]:
    """E. coli and a million reads of wgsim, an opt-in."""
    wgsim = shutil.which("wgsim")
    if os.environ.get("HAPGPU_TEST_WGSIM") != "1" or wgsim is None:
        pytest.skip("set HAPGPU_TEST_WGSIM=1 and install wgsim (of samtools 1.16) to run this")
    directory = tmp_path_factory.mktemp("wgsim")
    with pysam.FastxFile(str(data_dir / ECOLI)) as records:
        bases = next(iter(records)).sequence.upper()
    fasta, first, second = (directory / name for name in ("ecoli.fa", "1.fq", "2.fq"))
    fasta.write_text(f">ecoli\n{bases}\n")
    subprocess.run([wgsim, *WGSIM_OPTIONS, fasta, first, second], check=True, capture_output=True)
    text = first.read_bytes()
    digest = hashlib.md5(text, usedforsecurity=False).hexdigest()
    assert digest == WGSIM_MD5, "wgsim made other reads"
    return build_index(fasta, CpuDevice()), _pack_equal_lines(text.split(b"\n")[1::4])


def _pack_equal_lines(lines: Sequence[bytes]) -> PackedReads:
    length = len(lines[0])
    starts = np.arange(len(lines), dtype=np.int32) * length
    lengths = np.full(len(lines), length, dtype=np.int32)
    return pack_reads(np.frombuffer(b"".join(lines), dtype=np.uint8), starts, lengths)


def test_a_million_simulated_reads(simulated: tuple[FMIndexArrays, PackedReads]) -> None:
    found = cpu.search(*simulated, ALL)
    assert (min_distances(found) < 2).sum() == 888_177  # as Yara, Columba, RazerS 3 and bwa aln
    kinds = np.bincount(found.kinds)
    assert kinds[UNGAPPED] == 959_536  # as bowtie -v 1 -a
    assert (kinds[INSERTION], kinds[DELETION]) == (2_092, 2_426)


def test_a_million_simulated_reads_without_indels(
    simulated: tuple[FMIndexArrays, PackedReads],
) -> None:
    found = cpu.search(*simulated, SearchOptions(indels=False))
    assert found.hits.size == 959_536
    assert (min_distances(found) < 2).sum() == 884_347


@pytest.mark.gpu
@pytest.mark.parametrize("options", EVERY_OPTION, ids=str)
def test_ecoli_reads_on_the_gpu(
    ecoli: FMIndexArrays, data_dir: Path, options: SearchOptions
) -> None:
    from hapgpu.shortread.search.cuda import search as cuda  # noqa: PLC0415  (only where there is a GPU)

    reads = pack(read_fastq(data_dir, "ecoli_corrected"))
    found = cuda.search(ecoli, reads, options, CudaDevice(0))
    assert_same_hits(found, cpu.search(ecoli, reads, options))


@pytest.mark.gpu
@pytest.mark.parametrize("low_memory", [False, True])
@pytest.mark.parametrize("length", [20, 100, 250])
def test_repeat_rich_reads_on_the_gpu(length: int, low_memory: bool, data_dir: Path) -> None:
    from hapgpu.shortread.search.cuda import search as cuda  # noqa: PLC0415  (only where there is a GPU)

    index = build_index(data_dir / REPEAT_RICH, CpuDevice(), low_memory=low_memory)
    with pysam.FastxFile(str(data_dir / REPEAT_RICH)) as records:
        bases = np.frombuffer(next(iter(records)).sequence.encode(), dtype=np.uint8)
    generator = np.random.default_rng(length)
    starts = generator.integers(0, bases.size - length, size=100_000)
    reads = bases[starts[:, None] + np.arange(length)]
    changed = generator.random(reads.shape) < 1 / length
    reads[changed] = generator.choice(np.frombuffer(b"ACGTN", dtype=np.uint8), changed.sum())
    packed = _pack_equal_lines([read.tobytes() for read in reads])
    found = cuda.search(index, packed, ALL, CudaDevice(0))
    assert_same_hits(found, cpu.search(index, packed, ALL))
