"""What is fuzzed: each target takes the bytes of a file through a reader and what works behind it.

A target returns, or raises a HapgpuError, whatever the bytes are. What it accepts is compared with
an oracle where that costs little.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import numpy as np
import pysam

from hapgpu.batch import ReadBatch
from hapgpu.io.fastq import read_fastq
from hapgpu.io.htslib import silent_htslib
from hapgpu.io.reads import open_reads
from hapgpu.realign.haplotypes import read_haplotypes
from tests.fuzz.fields import Document
from tests.fuzz.formats import array_file, bam, bam_index, bcf, cram, gzipped, npz, text
from tests.fuzz.place import Place, covering_index

Run = Callable[[Place, bytes], None]

_REFUSED: Final = (OSError, ValueError, NotImplementedError)
"""Raised by pysam."""
_HEADER_LINE: Final = re.compile(rb"@[A-Z][A-Z]\t")  # unlike a read that is called @
_NO_OPTIONS: Final = SimpleNamespace(command=SimpleNamespace(params=[]))


@dataclass(frozen=True, slots=True)
class Target:
    """A reader, and the format of what it reads.

    Attributes
    ----------
    seeds
        Name of the valid files to begin with, in the corpus.
    format
        Has `split` and `join`; for text a pair of them.
    run
        Takes the bytes of a file.
    """

    seeds: str
    format: ModuleType | SimpleNamespace
    run: Run


def _pairhmm(place: Place, **arguments: Any) -> bytes:
    return place.run("pairhmm", context=_NO_OPTIONS, **arguments)


def _records_in(path: Path) -> int | None:
    """Return how many alignments htslib finds in a file; None if it refuses it."""
    try:
        with silent_htslib(), pysam.AlignmentFile(str(path), check_sq=False) as file:
            return sum(1 for _ in file)
    except _REFUSED:
        return None


def _is_sound(path: Path, place: Place) -> bool:
    """Tell whether alignments can be text: what is odd in headers, names and tags is passed on."""
    with silent_htslib():
        try:
            with pysam.AlignmentFile(str(path), check_sq=False) as file:
                lines = [record.to_string() for record in file]
                text = "\n".join([str(file.header) + "\n".join(lines), ""])
        except _REFUSED:
            return False
    with place.file(text.encode("utf-8", "surrogateescape"), "sam") as copy:
        return _records_in(copy) == len(lines)


def _variants_in(path: Path) -> int | None:
    """Return how many variants htslib finds in a file; None if it refuses it."""
    try:
        with silent_htslib(), pysam.VariantFile(str(path)) as file:
            return sum(1 for _ in file)
    except _REFUSED:
        return None


def _check_records(data: bytes, place: Place) -> None:
    """Check that htslib reads an output of alignments."""
    with place.file(data, "sam") as path:
        found = _records_in(path)
    expected = sum(not _HEADER_LINE.match(line) for line in data.split(b"\n") if line)
    assert found == expected, f"{expected} records written, htslib reads {found}"


def _check_variants(data: bytes, place: Place) -> None:
    """Check that htslib reads an output of genotypes."""
    with place.file(data, "vcf") as path:
        found = _variants_in(path)
    expected = sum(not line.startswith(b"#") for line in data.split(b"\n") if line)
    assert found == expected, f"{expected} records written, htslib reads {found}"


def bam_records(place: Place, data: bytes) -> None:
    """Decode all records; htslib, where it reads the file, has to find as many."""
    with place.file(data, "bam") as path:
        with open_reads(str(path), batch_bases=200) as source:
            found = sum(map(len, source.batches()))
        expected = _records_in(path)
    assert expected in {None, found}, f"{found} records, htslib has {expected}"


def realign_bam(place: Place, data: bytes) -> None:
    with place.file(data, "bam") as path:
        out = place.run("realign", reads=str(path), haplotypes=place.known("alleles.fa"))
        is_sound = _is_sound(path, place)
    if is_sound:
        _check_records(out, place)


def realign_bam_by_reference(place: Place, data: bytes) -> None:
    with place.file(data, "bam") as path:
        out = place.run(
            "realign",
            reads=str(path),
            haplotypes=place.known("loci.fa"),
            reference=place.known("reference.fa"),
        )
        is_sound = _is_sound(path, place)
    if is_sound:
        _check_records(out, place)


def pairhmm_bam(place: Place, data: bytes) -> None:
    with place.file(data, "bam") as path:
        _pairhmm(place, reads=str(path), haplotypes=place.known("alleles.fa"))


def pairhmm_bam_by_index(place: Place, data: bytes) -> None:
    with place.file(data, "bam", bai=covering_index(data)) as path:
        _pairhmm(place, reads=str(path), haplotypes=place.known("loci.fa"))


def genotype_bam(place: Place, data: bytes) -> None:
    with place.file(data, "bam", bai=covering_index(data)) as path:
        out = _genotype(place, [str(path)], place.known("sites.vcf"))
    _check_variants(out, place)


def _genotype(place: Place, reads: list[str], sites: Path) -> bytes:
    reference = place.known("reference.fa")
    return place.run("genotype", reads=reads, reference=reference, sites=str(sites))


def _index_of(kind: str) -> Run:
    def run(place: Place, data: bytes) -> None:
        with place.link("reads.bam", **{kind: data}) as path:
            _pairhmm(place, reads=str(path), haplotypes=place.known("loci.fa"))

    return run


def converted(suffix: str) -> Run:
    """Return the target of a format that samtools turns into BAM."""

    def run(place: Place, data: bytes) -> None:
        with place.file(data, suffix) as path:
            _pairhmm(place, reads=str(path), haplotypes=place.known("alleles.fa"))

    return run


def fastq_records(place: Place, data: bytes) -> None:
    """Parse twice: what is read has to be read again as it was written."""
    with place.file(data, "fq") as path:
        first = list(read_fastq(path, 100))
    with place.file(b"".join(map(_as_fastq, first)), "fq") as path:
        again = list(read_fastq(path, 77))
    assert _columns(first) == _columns(again)


def _as_fastq(batch: ReadBatch) -> bytes:
    lines = []
    for row in range(len(batch)):
        qualities = (batch.qualities[row] + np.uint8(33)).tobytes()
        lines += [b"@" + batch.names[row].tobytes(), batch.bases[row].tobytes(), b"+", qualities]
    return b"".join(line + b"\n" for line in lines)


def _columns(batches: list[ReadBatch]) -> list[bytes]:
    columns = ("names", "bases", "qualities")
    return [
        getattr(batch, column)[row].tobytes()
        for batch in batches
        for row in range(len(batch))
        for column in columns
    ]


def realign_fastq(place: Place, data: bytes) -> None:
    with place.file(data, "fq") as path:
        out = place.run("realign", reads=str(path), haplotypes=place.known("alleles.fa"))
    _check_records(out, place)


def map_reads(place: Place, data: bytes) -> None:
    with place.file(data, "fq") as path:
        out = place.run("map", reference=place.known("reference.fa"), reads=[str(path)])
    _check_records(out, place)


def chain_reads(place: Place, data: bytes) -> None:
    with place.file(data, "fq") as path:
        place.run("chain", reference=place.known("reference.fa"), reads=[str(path)])


def _reference(command: str, **arguments: Any) -> Run:
    """Return the target of a reference that is read whole, or by an index made for it."""

    def run(place: Place, data: bytes) -> None:
        others = {name: use(place) for name, use in arguments.items()}
        fai = place.known("reference.fa.fai").read_bytes()
        with place.file(data, "fa", fai=fai) as path:
            place.run(command, reference=path, **others)

    return run


def _fai(command: str, **arguments: Any) -> Run:
    def run(place: Place, data: bytes) -> None:
        others = {name: use(place) for name, use in arguments.items()}
        with place.link("reference.fa", fai=data) as path:
            place.run(command, reference=path, **others)

    return run


def _known(name: str) -> Callable[[Place], Path]:
    return lambda place: place.known(name)


def _text_of(name: str) -> Callable[[Place], str]:
    return lambda place: str(place.known(name))


def _texts_of(name: str) -> Callable[[Place], list[str]]:
    return lambda place: [str(place.known(name))]


def realign_to_haplotypes(place: Place, data: bytes) -> None:
    with place.file(data, "fa") as path:
        out = place.run("realign", reads=str(place.known("reads.bam")), haplotypes=path)
    _check_records(out, place)


def realign_by_haplotypes(place: Place, data: bytes) -> None:
    with place.file(data, "fa") as path:
        place.run(
            "realign",
            reads=str(place.known("reads.bam")),
            haplotypes=path,
            reference=place.known("reference.fa"),
        )


def pairhmm_haplotypes(place: Place, data: bytes) -> None:
    with place.file(data, "fa") as path:
        _pairhmm(place, reads=str(place.known("reads.bam")), haplotypes=path)


def haplotypes_of_variants(suffix: str) -> Run:
    """Return the target of variants whose haplotypes are read as `realign` reads them."""

    def run(place: Place, data: bytes) -> None:
        with place.file(data, suffix) as path:
            out = place.run("haplotypes", reference=place.known("reference.fa"), calls=str(path))
        if out:
            with place.file(out, "fa") as path:
                read_haplotypes(path)

    return run


def genotypes_of_variants(suffix: str) -> Run:
    """Return the target of variants that are genotyped."""

    def run(place: Place, data: bytes) -> None:
        with place.file(data, suffix) as path:
            out = _genotype(place, [str(place.known("reads.bam"))], path)
            is_sound = _variants_in(path) is not None
        if is_sound:
            _check_variants(out, place)

    return run


def pairhmm_bed(place: Place, data: bytes) -> None:
    with place.file(data, "bed") as path:
        _by_regions(place, targets_file=path)


def haplotypes_bed(place: Place, data: bytes) -> None:
    with place.file(data, "bed") as path:
        _variants_by_regions(place, targets_file=path)


def pairhmm_regions(place: Place, data: bytes) -> None:
    _by_regions(place, regions=data.decode("utf-8", "surrogateescape").split("\n")[:-1])


def haplotypes_regions(place: Place, data: bytes) -> None:
    _variants_by_regions(place, regions=data.decode("utf-8", "surrogateescape").split("\n")[:-1])


def _by_regions(place: Place, **regions: Any) -> None:
    reads = str(place.known("reads.bam"))
    _pairhmm(place, reads=reads, haplotypes=place.known("loci.fa"), **regions)


def _variants_by_regions(place: Place, **regions: Any) -> None:
    calls = str(place.known("sites.vcf"))
    place.run("haplotypes", reference=place.known("reference.fa"), calls=calls, **regions)


def map_by_index(place: Place, data: bytes) -> None:
    with place.file(data, "hgx") as path:
        out = place.run(
            "map",
            reference=place.known("reference.fa"),
            reads=[str(place.known("reads.fq"))],
            index=path,
        )
    _check_records(out, place)


def chain_by_index(place: Place, data: bytes) -> None:
    with place.file(data, "hgm") as path:
        place.run("chain", reference=path, reads=[str(place.known("reads.fq"))])


def chain_anchors(place: Place, data: bytes) -> None:
    with place.file(data, "npz") as path:
        place.run("chain", anchors=path)


def pairhmm_batches(place: Place, data: bytes) -> None:
    with place.file(data, "in") as path:
        _pairhmm(place, batches=str(path))


def lines(count: int) -> SimpleNamespace:
    """Return the format of texts with so many lines to a record."""
    return SimpleNamespace(split=text.splitter(count), join=text.join)


_VARIANTS: Final = {"calls": _text_of("sites.vcf")}
_READS: Final = {"reads": _texts_of("reads.fq")}
_MOVED: Final = {"reads": _text_of("reads.bam"), "haplotypes": _known("loci.fa")}

TARGETS: Final = {
    "bam-records": Target("bam", bam, bam_records),
    "bam-realign": Target("bam", bam, realign_bam),
    "bam-reference": Target("bam", bam, realign_bam_by_reference),
    "bam-pairhmm": Target("bam", bam, pairhmm_bam),
    "bam-indexed": Target("bam", bam, pairhmm_bam_by_index),
    "bam-genotype": Target("bam", bam, genotype_bam),
    "bai": Target("bai", bam_index, _index_of("bai")),
    "csi": Target("csi", bam_index, _index_of("csi")),
    "cram": Target("cram", cram, converted("cram")),
    "sam": Target("sam", lines(1), converted("sam")),
    "fastq-records": Target("fastq", lines(4), fastq_records),
    "fastq-realign": Target("fastq", lines(4), realign_fastq),
    "fastq-map": Target("fastq", lines(4), map_reads),
    "fastq-chain": Target("fastq", lines(4), chain_reads),
    "fasta-map": Target("reads-fasta", lines(2), map_reads),
    "fasta-chain": Target("reads-fasta", lines(2), chain_reads),
    "reference-map": Target("fasta", lines(1), _reference("map", **_READS)),
    "reference-chain": Target("fasta", lines(1), _reference("chain", **_READS)),
    "reference-haplotypes": Target("fasta", lines(1), _reference("haplotypes", **_VARIANTS)),
    "reference-realign": Target("fasta", lines(1), _reference("realign", **_MOVED)),
    "fai-haplotypes": Target("fai", lines(1), _fai("haplotypes", **_VARIANTS)),
    "fai-realign": Target("fai", lines(1), _fai("realign", **_MOVED)),
    "haplotypes-realign": Target("haplotypes", lines(1), realign_to_haplotypes),
    "haplotypes-reference": Target("haplotypes", lines(1), realign_by_haplotypes),
    "haplotypes-pairhmm": Target("haplotypes", lines(1), pairhmm_haplotypes),
    "vcf-haplotypes": Target("vcf", lines(1), haplotypes_of_variants("vcf")),
    "vcf-genotype": Target("vcf", lines(1), genotypes_of_variants("vcf")),
    "bcf-haplotypes": Target("bcf", bcf, haplotypes_of_variants("bcf")),
    "bcf-genotype": Target("bcf", bcf, genotypes_of_variants("bcf")),
    "bed-reads": Target("bed", lines(1), pairhmm_bed),
    "bed-sites": Target("bed", lines(1), haplotypes_bed),
    "regions-reads": Target("regions", lines(1), pairhmm_regions),
    "regions-sites": Target("regions", lines(1), haplotypes_regions),
    "hgx": Target("hgx", array_file, map_by_index),
    "hgm": Target("hgm", array_file, chain_by_index),
    "npz": Target("npz", npz, chain_anchors),
    "batches": Target("batches", lines(1), pairhmm_batches),
    "gzip-fastq": Target("gzipped", gzipped, fastq_records),
    "gzip-map": Target("gzipped", gzipped, map_reads),
    "gzip-bam": Target("bam", gzipped, bam_records),
}


def documents(target: Target, seeds: list[bytes]) -> list[Document]:
    """Return the valid files of a target as mutation sees them."""
    return [target.format.split(seed) for seed in seeds]
