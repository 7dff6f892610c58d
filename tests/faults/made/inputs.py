"""Small inputs of every kind, extracted from the example data set."""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path

import numpy as np
import pysam
import pysam.bcftools

from tests.cli.in_process import status_of_command
from tests.cli.realign.command import make_example

PAIR_STEP = 12
FASTQ_READS, AMPLICONS, LONG_READS = 60, 30, 5
TARGETS = "chr20\t5000\t5400\nchr20\t10000\t10400\n"
BATCHES = (
    "2 2\n"
    "ACGTACGTAC IIIIIIIIII IIIIIIIIII IIIIIIIIII ++++++++++\n"
    "CCGTTCGTAC IIIIIIIIII IIIIIIIIII IIIIIIIIII ++++++++++\n"
    "ACGTACGTACGGA\nACGTTCGTACGGA\n"
) * 3


def make_inputs(directory: Path, example: Path) -> Path:
    """Write all files that the table of commands names into a directory."""
    make_example(example)
    for name in ("haplotypes.fa", "alleles.fa", "reference.fa", "reference.fa.fai"):
        (directory / name).write_bytes((example / name).read_bytes())
    _write_references(directory)
    _write_alignments(directory, example / "reads.bam")
    _write_sites(directory, example / "sites.vcf")
    for source, name, records in (
        ("reads", "reads", FASTQ_READS),
        ("amplicons", "amplicons", AMPLICONS),
        ("long_reads", "long", LONG_READS),
    ):
        _write_fastq(example / f"{source}.fastq.gz", directory / f"{name}.fq.gz", records)
    _write_unaligned(directory / "long.fq.gz", directory / "long.bam")
    (directory / "targets.bed").write_text(TARGETS)
    (directory / "batches.in").write_bytes(gzip.compress(BATCHES.encode()))
    _write_anchors(directory / "anchors.npz")
    return directory


def _write_references(directory: Path) -> None:
    """Write the indexes of the reference, and the reference bgzipped."""
    reference = directory / "reference.fa"
    pysam.tabix_compress(str(reference), f"{reference}.gz")
    pysam.faidx(f"{reference}.gz")
    assert status_of_command("index", reference, "-q", "--device", "cpu") == 0
    assert status_of_command("index", "--minimizers", reference, "-q") == 0
    (directory / "kept.hgx").write_bytes((directory / "reference.fa.hgx").read_bytes())
    (directory / "kept.hgm").write_bytes((directory / "reference.fa.k15w10.hgm").read_bytes())


def _write_alignments(directory: Path, source: Path) -> None:
    """Write every nth read pair, as BAM and CRAM."""
    bam, cram = directory / "reads.bam", directory / "reads.cram"
    with (
        pysam.AlignmentFile(str(source)) as reads,
        pysam.AlignmentFile(str(bam), "wb", template=reads) as out,
    ):
        for record in reads:
            if int(record.query_name.removeprefix("pair")) % PAIR_STEP == 0:
                out.write(record)
    reference = directory / "reference.fa"
    pysam.view("-C", "-T", str(reference), "-o", str(cram), str(bam), catch_stdout=False)
    pysam.index(str(bam))
    pysam.index(str(cram))


def _write_sites(directory: Path, source: Path) -> None:
    path = directory / "sites.vcf.gz"
    pysam.tabix_compress(str(source), str(path))
    pysam.tabix_index(str(path), preset="vcf")
    pysam.bcftools.view("-Ob", "-o", str(directory / "sites.bcf"), str(path), catch_stdout=False)


def _write_fastq(source: Path, path: Path, records: int) -> None:
    with gzip.open(source) as lines:
        path.write_bytes(gzip.compress(b"".join(islice(lines, 4 * records)), mtime=0))


def _write_unaligned(fastq: Path, path: Path) -> None:
    header = pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6"}})
    with (
        pysam.FastxFile(str(fastq)) as reads,
        pysam.AlignmentFile(str(path), "wb", header=header) as out,
    ):
        for read in reads:
            record = pysam.AlignedSegment(header)
            record.query_name, record.flag, record.query_sequence = read.name, 4, read.sequence
            record.query_qualities = pysam.qualitystring_to_array(read.quality)
            out.write(record)


def _write_anchors(path: Path) -> None:
    positions = np.arange(0, 900, 9, dtype=np.uint64)
    span = np.uint64(15 << 32)
    np.savez(path, x=1000 + positions, y=span | (50 + positions), offsets=np.array([0, 100]))
