"""Targets that are files of reads, and indexes of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from hapgpu.io.alignments.index.crai import has_entries
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
from tests.fuzz.place import Place, covering_index

Run = Callable[[Place, bytes], None]

_NO_OPTIONS: Final = SimpleNamespace(command=SimpleNamespace(params=[]))


def pairhmm(place: Place, **arguments: Any) -> bytes:
    """Run the function of `hapgpu pairhmm`, which looks at the options that were given."""
    return place.run("pairhmm", context=_NO_OPTIONS, **arguments)


def bam_records(place: Place, data: bytes) -> None:
    """Decode all records; htslib, where it reads the file, has to find as many."""
    with place.file(data, "bam") as path:
        with open_reads(str(path), batch_bases=200) as source:
            found = sum(map(len, source.batches()))
        expected = records_in(path)
    assert expected in {None, found}, f"{found} records, htslib has {expected}"


def realign_bam(place: Place, data: bytes) -> None:
    with place.file(data, "bam") as path:
        out = place.run("realign", reads=str(path), haplotypes=place.known("alleles.fa"))
        is_sound = can_be_text(path, place)
    if is_sound:
        check_records(out, place)


def realign_bam_by_reference(place: Place, data: bytes) -> None:
    with place.file(data, "bam") as path:
        out = place.run(
            "realign",
            reads=str(path),
            haplotypes=place.known("loci.fa"),
            reference=place.known("reference.fa"),
        )
        is_sound = can_be_text(path, place)
    if is_sound:
        check_records(out, place)


def pairhmm_bam(place: Place, data: bytes) -> None:
    with place.file(data, "bam") as path:
        pairhmm(place, reads=str(path), haplotypes=place.known("alleles.fa"))


def pairhmm_bam_by_index(place: Place, data: bytes) -> None:
    with place.file(data, "bam", bai=covering_index(data)) as path:
        pairhmm(place, reads=str(path), haplotypes=place.known("loci.fa"))


def genotype_bam(place: Place, data: bytes) -> None:
    with place.file(data, "bam", bai=covering_index(data)) as path:
        out = genotype(place, [str(path)], place.known("sites.vcf"))
    check_variants(out, place)


def genotype(place: Place, reads: list[str], sites: Path) -> bytes:
    """Genotype sites in reads."""
    reference = place.known("reference.fa")
    return place.run("genotype", reads=reads, reference=reference, sites=str(sites))


def index_of(kind: str) -> Run:
    """Return the target of an index of this kind."""

    def run(place: Place, data: bytes) -> None:
        with place.link("reads.bam", **{kind: data}) as path:
            pairhmm(place, reads=str(path), haplotypes=place.known("loci.fa"))

    return run


def cram_index(place: Place, data: bytes) -> None:
    """Check an index only: what samtools reads by it takes a process of its own."""
    with place.link("reads.cram", crai=data) as path:
        has_entries(Path(f"{path}.crai"), path)


def converted(suffix: str) -> Run:
    """Return the target of a format that samtools turns into BAM."""

    def run(place: Place, data: bytes) -> None:
        with place.file(data, suffix) as path:
            pairhmm(place, reads=str(path), haplotypes=place.known("alleles.fa"))

    return run


def fastq_records(place: Place, data: bytes) -> None:
    """Parse twice: what is read has to be read again as it was written.

    But for a name that still ends in /1 or /2: it would lose that, too.
    """
    with place.file(data, "fq") as path:
        first = list(read_fastq(path, 100))
    names = [batch.names[row].tobytes() for batch in first for row in range(len(batch))]
    if any(name.endswith((b"/1", b"/2")) for name in names):
        return
    with place.file(b"".join(map(as_fastq, first)), "fq") as path:
        again = list(read_fastq(path, 77))
    assert columns_of(first) == columns_of(again)


def realign_fastq(place: Place, data: bytes) -> None:
    with place.file(data, "fq") as path:
        out = place.run("realign", reads=str(path), haplotypes=place.known("alleles.fa"))
    check_records(out, place)


def map_reads(place: Place, data: bytes) -> None:
    with place.file(data, "fq") as path:
        out = place.run("map", reference=place.known("reference.fa"), reads=[str(path)])
    check_records(out, place)


def chain_reads(place: Place, data: bytes) -> None:
    with place.file(data, "fq") as path:
        place.run("chain", reference=place.known("reference.fa"), reads=[str(path)])
