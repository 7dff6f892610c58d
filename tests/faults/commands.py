"""Command lines for the tests of all faults, as one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest
from _pytest.mark import ParameterSet

KINDS: Final = {
    "bam": "reads.bam",
    "cram": "reads.cram",
    "fastq": "reads.fq.gz",
    "fasta": "alleles.fa",
    "vcf": "sites.vcf.gz",
    "bcf": "sites.bcf",
    "bed": "targets.bed",
    "batches": "batches.in",
    "npz": "anchors.npz",
    "hgx": "kept.hgx",
    "hgm": "kept.hgm",
}
"""A file of each kind."""


@dataclass(frozen=True)
class Input:
    """A file that a command line names.

    Attributes
    ----------
    name
        Of the file.
    kinds
        Items of `KINDS` that the command accepts.
    beside
        Endings of the files beside it that are read, too.
    standard
        Whether `-` is accepted.
    """

    name: str
    kinds: frozenset[str]
    beside: tuple[str, ...] = ()
    standard: bool = False

    @property
    def files(self) -> list[str]:
        """The names of the file and of the files beside it."""
        return [self.name, *(f"{self.name}{ending}" for ending in self.beside)]


@dataclass(frozen=True)
class Command:
    """A command line.

    Attributes
    ----------
    line
        Its words; `{role}` is replaced by the path of an input, which has no spaces.
    inputs
        Each input by its role.
    output
        Name of the output; its ending sets the format.
    beside
        Endings of the indexes that are written beside the output.
    dropped
        Endings of older indexes beside the output that are removed.
    resources
        The options among `-t` and `--device` that the command has.
    selects
        Records that `-r` and `-L` select: reads, sites, or nothing without these options.
    to_stdout
        Whether the output goes to standard output without `-o`.
    option
        The option that names the output.
    """

    name: str
    line: str
    inputs: Mapping[str, Input]
    output: str
    beside: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    resources: tuple[str, ...] = ("-t", "--device")
    selects: str = ""
    to_stdout: bool = True
    option: str = "-o"

    @property
    def subcommand(self) -> str:
        return self.line.split()[0]

    @property
    def files(self) -> list[str]:
        """The names of all files that are read."""
        return [file for given in self.inputs.values() for file in given.files]

    def file_of(self, item: str) -> str:
        """Return the name of the file of a role, or any other item itself."""
        return self.inputs[item].name if item in self.inputs else item

    def words(self, **replaced: str | Path) -> list[str]:
        """Return the command line, with other paths for some roles, to compute on the CPU."""
        names = {role: given.name for role, given in self.inputs.items()} | replaced
        resources = {"-t": ["-t", "2"], "--device": ["--device", "cpu"]}
        chosen = [word for option in self.resources for word in resources[option]]
        return [*(word.format(**names) for word in self.line.split()), *chosen]

    def with_output(self, output: str | Path = "", **replaced: str | Path) -> list[str]:
        """Return the command line with an output."""
        return [*self.words(**replaced), self.option, str(output or self.output)]


def _input(name: str, kinds: str, *beside: str, standard: bool = False) -> Input:
    return Input(name, frozenset(kinds.split()), beside, standard)


_BAM = _input("reads.bam", "bam cram", ".bai", standard=True)
_ALIGNED = _input("reads.bam", "bam cram fastq", ".bai", standard=True)
_CRAM = _input("reads.cram", "bam cram fastq", ".crai", standard=True)
_AMPLICONS = _input("amplicons.fq.gz", "bam cram fastq", standard=True)
_READS = "fastq fasta bam cram"
_SHORT = _input("reads.fq.gz", _READS, standard=True)
_LONG = _input("long.fq.gz", _READS, standard=True)
_UNALIGNED = _input("long.bam", _READS, standard=True)
_HAPLOTYPES = _input("haplotypes.fa", "fasta")
_ALLELES = _input("alleles.fa", "fasta")
_BARE = _input("reference.fa", "fasta")
_REFERENCE = _input("reference.fa", "fasta", ".fai")
_BGZIPPED = _input("reference.fa.gz", "fasta", ".fai", ".gzi")
_SITES = _input("sites.vcf.gz", "vcf bcf", ".tbi", standard=True)
_GIVEN_ALLELES = _input("sites.vcf.gz", "vcf bcf", ".tbi")
_TARGETS = _input("targets.bed", "bed")
_INTERVALS = _input("targets.bed", "bed vcf bcf")
_FM_INDEX = _input("kept.hgx", "hgx fasta")
_MINIMIZERS = _input("kept.hgm", "hgm fasta")

_REALIGN_ALL = "realign {reads} {haplotypes} --reference {reference}"
_ON_REFERENCE = {"reads": _ALIGNED, "haplotypes": _HAPLOTYPES, "reference": _REFERENCE}
_AT_TARGETS = {"haplotypes": _HAPLOTYPES, "targets": _TARGETS}

_LIBRARIES = ("igv_reports", "itables", "vl_convert")
_HAS_LIBRARIES: Final = all(map(find_spec, _LIBRARIES))
_REPORTS: Final = (
    Command(
        "report",
        "report {alignments}",
        {"alignments": _input("reads.bam", "bam cram vcf bcf")},
        "out.html",
        resources=("-t",),
    ),
    Command(
        "report_sites",
        "report {sites} --reads {reads} --reference {reference}",
        {
            "sites": _input("sites.vcf.gz", "vcf bcf bam cram"),
            "reads": _input("reads.bam", "bam cram", ".bai"),
            "reference": _REFERENCE,
        },
        "out.html",
        resources=("-t",),
    ),
)
"""Only where the optional libraries of the pages are installed."""

COMMANDS: Final = (
    Command(
        "realign",
        "realign {reads} {haplotypes} -L {targets}",
        {"reads": _ALIGNED, **_AT_TARGETS},
        "out.sam",
        selects="reads",
    ),
    Command("realign_reference", _REALIGN_ALL, _ON_REFERENCE, "out.bam", selects="reads"),
    Command(
        "realign_write_index",
        f"{_REALIGN_ALL} --write-index",
        _ON_REFERENCE,
        "out.bam",
        beside=(".csi",),
        dropped=(".bai", ".crai"),
        to_stdout=False,
    ),
    Command(
        "realign_cram",
        f"{_REALIGN_ALL} --write-index",
        {**_ON_REFERENCE, "reads": _CRAM},
        "out.cram",
        beside=(".crai",),
        dropped=(".bai", ".csi"),
        to_stdout=False,
    ),
    Command(
        "realign_fastq",
        "realign {reads} {haplotypes}",
        {"reads": _AMPLICONS, "haplotypes": _ALLELES},
        "out.sam",
    ),
    Command(
        "alleles_table",
        "realign {reads} {haplotypes} -L {targets} -o /dev/null",
        {"reads": _ALIGNED, **_AT_TARGETS},
        "out.tsv",
        to_stdout=False,
        option="--alleles-table",
    ),
    Command(
        "pairhmm",
        "pairhmm {reads} {haplotypes} -L {targets}",
        {"reads": _BAM, **_AT_TARGETS},
        "out.tsv",
        selects="reads",
    ),
    Command(
        "pairhmm_reference",
        "pairhmm {reads} {haplotypes} --reference {reference}",
        {**_ON_REFERENCE, "reads": _BAM},
        "out.tsv",
        selects="reads",
    ),
    Command(
        "pairhmm_batches",
        "pairhmm --batches {batches}",
        {"batches": _input("batches.in", "batches", standard=True)},
        "out.tsv",
    ),
    Command(
        "haplotypes",
        "haplotypes {reference} {sites} -L {targets}",
        {"reference": _REFERENCE, "sites": _SITES, "targets": _TARGETS},
        "out.fa",
        resources=(),
        selects="sites",
    ),
    Command(
        "genotype",
        "genotype {reads} {reference} {sites} -L {targets}",
        {"reads": _BAM, "reference": _REFERENCE, "sites": _SITES, "targets": _TARGETS},
        "out.vcf",
        selects="sites",
    ),
    Command(
        "genotype_bgzip",
        "genotype {reads} {reference} {sites}",
        {"reads": _BAM, "reference": _BGZIPPED, "sites": _SITES},
        "out.vcf.gz",
        beside=(".tbi",),
        dropped=(".csi",),
        selects="sites",
        to_stdout=False,
    ),
    Command(
        "call",
        "call {reads} {reference} -L {targets}",
        {"reads": _BAM, "reference": _REFERENCE, "targets": _INTERVALS},
        "out.vcf",
        selects="sites",
    ),
    Command(
        "call_alleles",
        "call {reads} {reference} --alleles {alleles}",
        {"reads": _BAM, "reference": _REFERENCE, "alleles": _GIVEN_ALLELES},
        "out.vcf",
        selects="sites",
    ),
    Command(
        "call_bgzip",
        "call {reads} {reference}",
        {"reads": _BAM, "reference": _BGZIPPED},
        "out.vcf.gz",
        beside=(".tbi",),
        dropped=(".csi",),
        selects="sites",
        to_stdout=False,
    ),
    Command(
        "call_bam_out",
        "call {reads} {reference} -L {targets} -o /dev/null",
        {"reads": _BAM, "reference": _REFERENCE, "targets": _INTERVALS},
        "out.bam",
        beside=(".csi",),
        dropped=(".bai", ".crai"),
        to_stdout=False,
        option="--bam-out",
    ),
    Command(
        "index",
        "index {reference}",
        {"reference": _BARE},
        "out.hgx",
        resources=("--device",),
        to_stdout=False,
    ),
    Command(
        "index_minimizers",
        "index --minimizers {reference}",
        {"reference": _BARE},
        "out.hgm",
        to_stdout=False,
    ),
    Command(
        "map",
        "map {reference} {reads}",
        {"reference": _input("reference.fa", "fasta hgx", ".hgx"), "reads": _SHORT},
        "out.sam",
    ),
    Command(
        "map_index",
        "map {reference} {reads}",
        {"reference": _FM_INDEX, "reads": _SHORT},
        "out.bam",
    ),
    Command(
        "chain",
        "chain {reference} {reads}",
        {"reference": _input("reference.fa", "fasta hgm", ".k15w10.hgm"), "reads": _LONG},
        "out.paf",
    ),
    Command(
        "chain_index",
        "chain --paf {reference} {reads}",
        {"reference": _MINIMIZERS, "reads": _UNALIGNED},
        "out.paf",
    ),
    Command(
        "chain_sam",
        "chain -a {reference} {reads}",
        {"reference": _input("reference.fa", "fasta", ".k15w10.hgm"), "reads": _UNALIGNED},
        "out.bam",
    ),
    Command(
        "chain_cigar",
        "chain -c --cs {reference} {reads}",
        {"reference": _BARE, "reads": _LONG},
        "out.paf",
    ),
    Command(
        "chain_anchors",
        "chain --anchors {anchors}",
        {"anchors": _input("anchors.npz", "npz")},
        "out.npz",
    ),
    *(_REPORTS if _HAS_LIBRARIES else ()),
)

EMPTY_READS: Final = frozenset(
    [
        "realign_reference",
        "realign_fastq",
        "map",
        "map_index",
        "chain",
        "chain_index",
        "chain_sam",
        "chain_cigar",
    ]
)
"""Commands whose reads may be an empty file: FASTQ without reads."""


def cells(rows: Iterable[tuple[Command, str]]) -> list[ParameterSet]:
    """Return the parameters of a test that runs over rows of `roles`, `files` or `streamed`.

    Rows of one subcommand and one file are alike: all but the first are exhaustive.
    """
    marks = alike_are_exhaustive()
    return [
        pytest.param(
            command,
            item,
            id=f"{command.name}-{item}",
            marks=marks(command.subcommand, command.file_of(item)),
        )
        for command, item in rows
    ]


def each(commands: Iterable[Command] = COMMANDS) -> list[ParameterSet]:
    """Return the parameters of a test that runs over commands."""
    return [pytest.param(command, id=command.name) for command in commands]


def each_format() -> list[ParameterSet]:
    """Return the parameters of a test that runs over all commands.

    Commands of one subcommand and one output are alike: all but the first are exhaustive.
    """
    marks = alike_are_exhaustive()
    return [
        pytest.param(command, id=command.name, marks=marks(command.subcommand, command.output))
        for command in COMMANDS
    ]


def alike_are_exhaustive() -> Callable[..., list[pytest.MarkDecorator]]:
    """Return a function that returns the marks of what is described by its arguments."""
    known: set[tuple[object, ...]] = set()

    def marks(*description: object) -> list[pytest.MarkDecorator]:
        is_new = description not in known
        known.add(description)
        return [] if is_new else [pytest.mark.exhaustive]

    return marks


def roles() -> Iterator[tuple[Command, str]]:
    """Yield every command with each role of an input."""
    for command in COMMANDS:
        for role in command.inputs:
            yield command, role


def files() -> Iterator[tuple[Command, str]]:
    """Yield every command with each file that it reads, indexes too."""
    for command in COMMANDS:
        for file in command.files:
            yield command, file


def streamed() -> Iterator[tuple[Command, str]]:
    """Yield every command with each role that accepts `-`."""
    for command, role in roles():
        if command.inputs[role].standard:
            yield command, role
