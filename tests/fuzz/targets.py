"""Targets of the fuzzer: each takes the bytes of a file through a reader and the code after it.

A target returns, or raises a HapgpuError, for any bytes. Accepted inputs are
compared with an oracle where that costs little.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final

from hapgpu.haplotypes.pairing.haplotype_set import read_haplotypes
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.intervals.choice import IntervalRules, read_choice
from hapgpu.io.intervals.sets import Line
from tests.fuzz.formats import (
    array_file,
    bam,
    bam_index,
    bcf,
    crai,
    cram,
    gzi,
    gzipped,
    npz,
    text,
)
from tests.fuzz.inputs.fields import Document
from tests.fuzz.oracles import can_be_vcf, check_records, check_variants
from tests.fuzz.read_targets import (
    Run,
    bam_records,
    call_bam,
    chain_reads,
    converted,
    cram_index,
    fastq_records,
    genotype,
    genotype_bam,
    index_of,
    map_reads,
    pairhmm,
    pairhmm_bam,
    pairhmm_bam_by_index,
    realign_bam,
    realign_bam_by_reference,
    realign_fastq,
)
from tests.fuzz.report_targets import report_of, report_of_reads
from tests.fuzz.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class Target:
    """A reader, and the format of its files.

    Attributes
    ----------
    seeds
        Name of the valid files to start with, in the corpus.
    format
        Has `split` and `join`; for text a pair of them.
    run
        Takes the bytes of a file.
    """

    seeds: str
    format: ModuleType | SimpleNamespace
    run: Run


def _reference(command: str, **arguments: Any) -> Run:
    """Return the target of a reference that is read whole, or by an index built for it."""

    def run(sandbox: Sandbox, data: bytes) -> None:
        others = {name: use(sandbox) for name, use in arguments.items()}
        fai = sandbox.known("reference.fa.fai").read_bytes()
        with sandbox.file(data, "fa", fai=fai) as path:
            sandbox.run(command, reference=path, **others)

    return run


def _fai(command: str, **arguments: Any) -> Run:
    return _beside("fai", (), "reference.fa", command, arguments)


def _of_compressed(mutated: str, other: str) -> Run:
    """Return the target of one of the two indexes of a reference that bgzip has compressed."""
    return _beside(mutated, (other,), "reference.fa.gz", "haplotypes", _VARIANTS)


def _beside(
    mutated: str, more: tuple[str, ...], reference: str, command: str, arguments: dict[str, Any]
) -> Run:
    def run(sandbox: Sandbox, data: bytes) -> None:
        others = {name: use(sandbox) for name, use in arguments.items()}
        beside = {end: sandbox.known(f"{reference}.{end}").read_bytes() for end in more}
        with sandbox.link(reference, **beside, **{mutated: data}) as path:
            sandbox.run(command, reference=path, **others)

    return run


def _known(name: str) -> Callable[[Sandbox], Path]:
    return lambda sandbox: sandbox.known(name)


def _text_of(name: str) -> Callable[[Sandbox], str]:
    return lambda sandbox: str(sandbox.known(name))


def _texts_of(name: str) -> Callable[[Sandbox], list[str]]:
    return lambda sandbox: [str(sandbox.known(name))]


def realign_to_haplotypes(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "fa") as path:
        out = sandbox.run("realign", reads=str(sandbox.known("reads.bam")), haplotypes=path)
    check_records(out, sandbox)


def realign_by_haplotypes(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "fa") as path:
        sandbox.run(
            "realign",
            reads=str(sandbox.known("reads.bam")),
            haplotypes=path,
            reference=sandbox.known("reference.fa"),
        )


def pairhmm_haplotypes(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "fa") as path:
        pairhmm(sandbox, reads=str(sandbox.known("reads.bam")), haplotypes=path)


def haplotypes_of_variants(suffix: str) -> Run:
    """Return the target of variants whose haplotypes are read as `realign` reads them."""

    def run(sandbox: Sandbox, data: bytes) -> None:
        with sandbox.file(data, suffix) as path:
            out = sandbox.run(
                "haplotypes", reference=sandbox.known("reference.fa"), sites=str(path)
            )
        if out:
            with sandbox.file(out, "fa") as path:
                read_haplotypes(path)

    return run


def genotypes_of_variants(suffix: str) -> Run:
    """Return the target of variants that are genotyped."""

    def run(sandbox: Sandbox, data: bytes) -> None:
        with sandbox.file(data, suffix) as path:
            out = genotype(sandbox, [str(sandbox.known("reads.bam"))], path)
            is_sound = can_be_vcf(path, sandbox)
        if is_sound:
            check_variants(out, sandbox)

    return run


def pairhmm_bed(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "bed") as path:
        _by_regions(sandbox, targets_file=path)


def haplotypes_bed(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "bed") as path:
        _variants_by_regions(sandbox, targets_file=path)


def intervals_of(suffix: str) -> Run:
    """Return the target of a file of intervals."""

    def run(sandbox: Sandbox, data: bytes) -> None:
        with sandbox.file(data, suffix) as path, ReferenceFasta(sandbox.known("reference.fa")) as f:
            choice = read_choice([str(path)], [], IntervalRules(padding=1), 1 << 20)
            line = Line(f.lengths)
            contigs, starts, ends = line.placed(choice.on(line, f.lengths, lambda: f.lengths))
        assert (starts >= 0).all()
        assert (starts < ends).all()
        assert all(end <= f.lengths[name] for name, end in zip(contigs, ends, strict=True))

    return run


def pairhmm_regions(sandbox: Sandbox, data: bytes) -> None:
    _by_regions(sandbox, regions=data.decode("utf-8", "surrogateescape").split("\n")[:-1])


def haplotypes_regions(sandbox: Sandbox, data: bytes) -> None:
    _variants_by_regions(sandbox, regions=data.decode("utf-8", "surrogateescape").split("\n")[:-1])


def _by_regions(sandbox: Sandbox, **regions: Any) -> None:
    reads = str(sandbox.known("reads.bam"))
    pairhmm(sandbox, reads=reads, haplotypes=sandbox.known("loci.fa"), **regions)


def _variants_by_regions(sandbox: Sandbox, **regions: Any) -> None:
    sites = str(sandbox.known("sites.vcf"))
    sandbox.run("haplotypes", reference=sandbox.known("reference.fa"), sites=sites, **regions)


def map_by_index(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "hgx") as path:
        out = sandbox.run("map", reference=path, reads=[str(sandbox.known("reads.fq"))])
    check_records(out, sandbox)


def chain_by_index(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "hgm") as path:
        sandbox.run("chain", reference=path, reads=[str(sandbox.known("reads.fq"))])


def chain_anchors(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "npz") as path:
        sandbox.run("chain", anchors=path)


def pairhmm_batches(sandbox: Sandbox, data: bytes) -> None:
    with sandbox.file(data, "in") as path:
        pairhmm(sandbox, batches=str(path))


def lines(count: int) -> SimpleNamespace:
    """Return the format of texts with this number of lines per record."""
    return SimpleNamespace(split=text.splitter(count), join=text.join)


_VARIANTS: Final = {"sites": _text_of("sites.vcf")}
_READS: Final = {"reads": _texts_of("reads.fq")}
_CALLED: Final = {"reads": _texts_of("reads.bam")}
_MOVED: Final = {"reads": _text_of("reads.bam"), "haplotypes": _known("loci.fa")}

TARGETS: Final[dict[str, Target]] = {
    "bam-records": Target("bam", bam, bam_records),
    "bam-realign": Target("bam", bam, realign_bam),
    "bam-reference": Target("bam", bam, realign_bam_by_reference),
    "bam-pairhmm": Target("bam", bam, pairhmm_bam),
    "bam-indexed": Target("bam", bam, pairhmm_bam_by_index),
    "bam-genotype": Target("bam", bam, genotype_bam),
    "bam-call": Target("bam", bam, call_bam),
    "bai": Target("bai", bam_index, index_of("bai")),
    "csi": Target("csi", bam_index, index_of("csi")),
    "cram": Target("cram", cram, converted("cram")),
    "crai": Target("crai", crai, cram_index),
    "sam": Target("sam", lines(1), converted("sam")),
    "fastq-records": Target("fastq", lines(4), fastq_records),
    "fastq-realign": Target("fastq", lines(4), realign_fastq),
    "fastq-map": Target("fastq", lines(4), map_reads),
    "fastq-chain": Target("fastq", lines(4), chain_reads),
    "fasta-map": Target("reads-fasta", lines(2), map_reads),
    "fasta-chain": Target("reads-fasta", lines(2), chain_reads),
    "reference-map": Target("fasta", lines(1), _reference("map", **_READS)),
    "reference-chain": Target("fasta", lines(1), _reference("chain", **_READS)),
    "reference-call": Target("fasta", lines(1), _reference("call", **_CALLED)),
    "reference-haplotypes": Target("fasta", lines(1), _reference("haplotypes", **_VARIANTS)),
    "reference-realign": Target("fasta", lines(1), _reference("realign", **_MOVED)),
    "fai-haplotypes": Target("fai", lines(1), _fai("haplotypes", **_VARIANTS)),
    "fai-realign": Target("fai", lines(1), _fai("realign", **_MOVED)),
    "fai-compressed": Target("fai-compressed", lines(1), _of_compressed("fai", "gzi")),
    "gzi": Target("gzi", gzi, _of_compressed("gzi", "fai")),
    "haplotypes-realign": Target("haplotypes", lines(1), realign_to_haplotypes),
    "haplotypes-reference": Target("haplotypes", lines(1), realign_by_haplotypes),
    "haplotypes-pairhmm": Target("haplotypes", lines(1), pairhmm_haplotypes),
    "vcf-haplotypes": Target("vcf", lines(1), haplotypes_of_variants("vcf")),
    "vcf-genotype": Target("vcf", lines(1), genotypes_of_variants("vcf")),
    "bcf-haplotypes": Target("bcf", bcf, haplotypes_of_variants("bcf")),
    "bcf-genotype": Target("bcf", bcf, genotypes_of_variants("bcf")),
    "bed-reads": Target("bed", lines(1), pairhmm_bed),
    "bed-sites": Target("bed", lines(1), haplotypes_bed),
    "bed-intervals": Target("bed", lines(1), intervals_of("bed")),
    "vcf-intervals": Target("vcf", lines(1), intervals_of("vcf")),
    "bcf-intervals": Target("bcf", bcf, intervals_of("bcf")),
    "intervals": Target("intervals", lines(1), intervals_of("list")),
    "interval_list": Target("interval_list", lines(1), intervals_of("interval_list")),
    "unnamed-intervals": Target("bed", lines(1), intervals_of("txt")),
    "regions-reads": Target("regions", lines(1), pairhmm_regions),
    "regions-sites": Target("regions", lines(1), haplotypes_regions),
    "hgx": Target("hgx", array_file, map_by_index),
    "hgm": Target("hgm", array_file, chain_by_index),
    "npz": Target("npz", npz, chain_anchors),
    "batches": Target("batches", lines(1), pairhmm_batches),
    "gzip-fastq": Target("gzipped", gzipped, fastq_records),
    "gzip-map": Target("gzipped", gzipped, map_reads),
    "gzip-bam": Target("bam", gzipped, bam_records),
    "bam-report": Target("bam", bam, report_of("bam")),
    "vcf-report": Target("vcf", lines(1), report_of("vcf")),
    "paf": Target("paf", lines(1), report_of("paf")),
    "likelihoods": Target("likelihoods", lines(1), report_of("tsv")),
    "statistics": Target("statistics", lines(1), report_of("json")),
}
if find_spec("igv_reports"):  # optional
    TARGETS["sam-report"] = Target("sam", lines(1), report_of_reads)


def documents(target: Target, seeds: list[bytes]) -> list[Document]:
    """Return the valid files of a target as documents for mutation."""
    return [target.format.split(seed) for seed in seeds]
