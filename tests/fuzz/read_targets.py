"""Targets that are files of reads, and indexes of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hapgpu.io.alignments.index_files import has_entries
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.fastx.fastq import read_fastq
from tests.fuzz.oracles import (
    as_fastq,
    can_be_text,
    check_records,
    check_variants,
    columns_of,
    records_in,
)
from tests.fuzz.sandbox import Sandbox, covering_index

Run = Callable[[Sandbox, bytes], None]


def pairhmm(sandbox: Sandbox, **arguments: Any) -> bytes:
    """Run the function of `hapgpu pairhmm`, which checks the options that were given."""
    return sandbox.run("pairhmm", **arguments)


def bam_records(sandbox: Sandbox, data: bytes) -> None:
    """Decode all records; if htslib reads the file, it has to find as many."""
    with sandbox.file(data, "bam") as path:
        with open_reads(str(path), batch_bases=200) as source:
            found = sum(map(len, source.batches()))
        expected = records_in(path)
    assert expected in {None, found}, f"{found} records, htslib has {expected}"


def realign_bam(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "bam") as path:
        out = sandbox.run("realign", reads=str(path), haplotypes=sandbox.known("alleles.fa"))
        is_sound = can_be_text(path, sandbox)
    if is_sound:
        check_records(out, sandbox)


def realign_bam_by_reference(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "bam") as path:
        out = sandbox.run(
            "realign",
            reads=str(path),
            haplotypes=sandbox.known("loci.fa"),
            reference=sandbox.known("reference.fa"),
        )
        is_sound = can_be_text(path, sandbox)
    if is_sound:
        check_records(out, sandbox)


def pairhmm_bam(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "bam") as path:
        pairhmm(sandbox, reads=str(path), haplotypes=sandbox.known("alleles.fa"))


def pairhmm_bam_by_index(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "bam", bai=covering_index(data)) as path:
        pairhmm(sandbox, reads=str(path), haplotypes=sandbox.known("loci.fa"))


def genotype_bam(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "bam", bai=covering_index(data)) as path:
        out = genotype(sandbox, [str(path)], sandbox.known("sites.vcf"))
    check_variants(out, sandbox)


def genotype(sandbox: Sandbox, reads: list[str], sites: Path) -> bytes:
    """Genotype sites in reads."""
    reference = sandbox.known("reference.fa")
    return sandbox.run("genotype", reads=reads, reference=reference, sites=str(sites))


def call_bam(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "bam", bai=covering_index(data)) as path:
        realigned = path.with_name("realigned.sam")
        # A single read suffices for a variant, so that all stages are reached.
        out = sandbox.run(
            "call",
            reads=[str(path)],
            reference=sandbox.known("reference.fa"),
            min_pruning=0,
            min_confidence=0.0,
            bam_out=realigned,
        )
        records, is_sound = realigned.read_bytes(), can_be_text(path, sandbox)
    check_variants(out, sandbox)
    if is_sound:
        check_records(records, sandbox)


def index_of(kind: str) -> Run:
    """Return the target of an index of this kind."""

    def run(sandbox: Sandbox, data: bytes) -> None:
        with sandbox.link("reads.bam", **{kind: data}) as path:
            pairhmm(sandbox, reads=str(path), haplotypes=sandbox.known("loci.fa"))

    return run


def cram_index(sandbox: Sandbox, data: bytes) -> None:
    """Check an index only: samtools would read by it in a process of its own."""
    with sandbox.link("reads.cram", crai=data) as path:
        has_entries(Path(f"{path}.crai"), path)


def converted(suffix: str) -> Run:
    """Return the target of a format that samtools turns into BAM."""

    def run(sandbox: Sandbox, data: bytes) -> None:
        with sandbox.file(data, suffix) as path:
            pairhmm(sandbox, reads=str(path), haplotypes=sandbox.known("alleles.fa"))

    return run


def fastq_records(sandbox: Sandbox, data: bytes) -> None:
    """Parse twice: reads that are written have to be read again unchanged.

    Except a name that still ends in /1 or /2: it would lose this ending, too.
    """
    with sandbox.file(data, "fq") as path:
        first = list(read_fastq(path, 100))
    names = [batch.names[row].tobytes() for batch in first for row in range(len(batch))]
    if any(name.endswith((b"/1", b"/2")) for name in names):
        return
    with sandbox.file(b"".join(map(as_fastq, first)), "fq") as path:
        again = list(read_fastq(path, 77))
    assert columns_of(first) == columns_of(again)


def realign_fastq(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "fq") as path:
        out = sandbox.run("realign", reads=str(path), haplotypes=sandbox.known("alleles.fa"))
    check_records(out, sandbox)


def map_reads(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "fq") as path:
        out = sandbox.run("map", reference=sandbox.known("reference.fa"), reads=[str(path)])
    check_records(out, sandbox)


def chain_reads(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "fq") as path:
        sandbox.run("chain", reference=sandbox.known("reference.fa"), reads=[str(path)])
