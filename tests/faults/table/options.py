"""Options that every command refuses, or every command that has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import cupy

from tests.faults.commands import COMMANDS, Command
from tests.faults.table.messages import (
    FOUND_INSTEAD,
    MISSING_ARGUMENT,
    NO_ARGUMENTS,
    NO_STDIN,
    READS_NEEDED,
    STDIN_ONCE,
)
from tests.faults.table.row import Attempt, Cell, Fault, line, row, values

_WITH_THREADS = " ".join(command.name for command in COMMANDS if "-t" in command.resources)
_WITH_DEVICE = " ".join(command.name for command in COMMANDS if "--device" in command.resources)
_READ_FLAGS = "realign* pairhmm pairhmm_reference"
_SITES = "haplotypes genotype* call*"
_FORMATS = "realign* map*"
_GENOTYPE = "genotype READS.bam... REF.fa SITES.vcf.gz"
_GPU_MEMORY = "realign* pairhmm* genotype* call* map* chain*"


def _cells(keeps: Callable[[Command], bool] = lambda _: True) -> list[Cell]:
    return [(command, "") for command in COMMANDS if keeps(command)]


def _added(*words: str) -> Callable[[Attempt], None]:
    return lambda attempt: attempt.options.extend(words)


def _nothing_else(attempt: Attempt) -> None:
    attempt.line = [attempt.command.subcommand]


def _selects(kind: str) -> list[Cell]:
    """Return commands whose regions choose `reads` or `sites`."""
    return _cells(lambda command: command.selects == kind)


ROWS: Final = [
    Fault("no_arguments", _cells(), 2, NO_ARGUMENTS, _nothing_else, changes=False),
    Fault("unknown", _cells(), 2, "--nonsense", _added("--nonsense"), changes=False),
    Fault("no_value", _cells(), 2, "--json", _added("--json"), changes=False),
    Fault(
        "surplus",
        _cells(),
        2,
        ("surplus", "--nonsense"),
        _added("surplus", "surplus", "surplus", "--nonsense"),
        changes=False,
    ),
    values("-t", _WITH_THREADS, ["0", "-1", "many"]),
    Fault(
        "countless_threads",
        _cells(lambda c: "-t" in c.resources),
        2,
        "-t",
        _added("-t", "99999999999999999999"),
        changes=False,
        # So that a run that starts them all does not overload the machine.
        limits={"RLIMIT_AS": 4 << 30, "RLIMIT_CPU": 20},
    ),
    values(
        "--device",
        _WITH_DEVICE,
        ["nonsense", "cuda:", "cuda:x", "cpu:1", ""],
        "device '{about}': unknown",
    ),
    row("no_such_gpu", _WITH_DEVICE, "--device cuda:4000", 3, "cuda"),
    Fault(
        "no_gpu",
        _cells(lambda c: "--device" in c.resources),
        3,
        ("--device", "cuda"),
        _added("--device", "cuda"),
        changes=False,
        skip_if=cupy.cuda.is_available,
    ),
    values("--gpu-mem", _GPU_MEMORY, ["0", "lots"]),
    # The header of the reads lacks the contig, as it may lack the contig of a haplotype.
    Fault(
        "contig",
        _selects("reads"),
        1,
        "reads.bam: no contig 'chrUn'",
        _added("-r", "chrUn:1-9"),
        changes=False,
    ),
    Fault("contig", _selects("sites"), 2, "chrUn:1-9", _added("-r", "chrUn:1-9"), changes=False),
    Fault(
        "region_backwards",
        _cells(lambda c: bool(c.selects)),
        2,
        "chr20:9-1",
        _added("-r", "chr20:9-1"),
        changes=False,
    ),
    row("prefix_in_region", _SITES, "-r 20:5-9", 2, f"'20' ... {FOUND_INSTEAD}"),
    row("prefix_in_targets", _SITES, "-L prefix.bed", 2, f"'20' ... {FOUND_INSTEAD}"),
    row("bad_targets", _SITES, "-L bad.bed", 1, "bad.bed, line 1"),
    values("-O", _FORMATS, ["vcf", "paf"]),
    values("-F", _READ_FLAGS, ["NONSENSE", "DUPLICATE", "65536"]),
    values("-f", _READ_FLAGS, ["-1", ""]),
    values("--shard", "genotype", ["0/3", "4/3", "3", "1/0", "1/2/3", "-1/3", ""]),
    row(
        "shard_of_a_pipe",
        "genotype",
        "sites=- --shard 1/3",
        2,
        "-: --shard reads the sites twice; give a file",
    ),
    values("--max-record", "map", ["0", "many", "2G"]),
    row(
        "record_over_the_limit",
        "map",
        "reads=good.fq --max-record 20",
        1,
        "good.fq, record 1 'r0': longer than 20 bytes; raise --max-record",
    ),
    *(
        line(f"too_few_arguments: {words}", words, 2, MISSING_ARGUMENT)
        for words in (
            "map reference.fa",
            "genotype reads.bam",
            "genotype reads.bam reference.fa",
            "call reads.bam",
        )
    ),
    *(
        line(f"missing: {words}", words, 2, f"^{name}: missing; usage: hapgpu {usage} ")
        for words, name, usage in (
            ("map reads.fq.gz", "REF.fa", "map [OPTIONS] REF.fa"),
            ("map reference.fa", "READS", "map [OPTIONS] REF.fa"),
            ("realign reads.bam", "HAPLOTYPES.fa", "realign [OPTIONS] READS"),
            ("realign haplotypes.fa", "READS", "realign [OPTIONS] READS"),
            ("call reads.bam", "REF.fa", "call [OPTIONS] READS.bam..."),
            ("call reference.fa", "READS.bam", "call [OPTIONS] READS.bam..."),
            ("genotype reads.bam sites.vcf.gz", "REF.fa", "genotype [OPTIONS] READS.bam..."),
            ("genotype reads.bam reference.fa", "SITES.vcf.gz", "genotype [OPTIONS] READS.bam..."),
            ("genotype reference.fa sites.bcf", "READS.bam", "genotype [OPTIONS] READS.bam..."),
            ("haplotypes sites.vcf.gz", "REF.fa", "haplotypes [OPTIONS] REF.fa"),
        )
    ),
    *(
        line(f"other kind: {words}", words, 1, f"^{file}: looks like {kind}; give {expected}")
        for words, file, kind, expected in (
            ("chain long.fq.gz", "long.fq.gz", "FASTQ", "FASTA (the reference)"),
            ("map reads.fq.gz reads.bam", "reads.fq.gz", "FASTQ", "FASTA (the reference)"),
            ("realign alleles.fa sites.bcf", "alleles.fa", "FASTA", "BAM, CRAM, SAM or FASTQ"),
            ("call reads.bam reads.cram", "reads.cram", "CRAM", "FASTA (the reference)"),
            ("genotype reads.bam reads.cram sites.bcf", "reads.cram", "CRAM", "FASTA"),
            ("index kept.hgm", "kept.hgm", "the index of hapgpu chain", "FASTA (the reference)"),
            ("index targets.bed", "targets.bed", "BED", "FASTA (the reference)"),
        )
    ),
    row(
        "vcf_as_targets",
        "realign pairhmm genotype",
        "-L sites.vcf.gz",
        1,
        "^sites.vcf.gz: looks like VCF; give BED (the regions)$",
    ),
    *(
        row(
            "region_as_targets",
            f"{_READ_FLAGS} haplotypes genotype*",
            f"-L {region}",
            2,
            f"^-L {region}: is a region, expected a BED file; give -r {region}$",
        )
        for region in ("chr20:1-100", "20", "chrX", "HLA*01:1,000-")
    ),
    row(
        "targets_as_region",
        f"{_READ_FLAGS} {_SITES}",
        "-r targets.bed",
        2,
        "^-r targets.bed: is a file, expected a region; give -L targets.bed$",
    ),
    line("no_arguments", "pairhmm", 2, "READS ... HAPLOTYPES.fa ... --batches"),
    line("no_haplotypes", "pairhmm reads.bam", 2, "READS ... HAPLOTYPES.fa"),
    line("no_arguments", "chain", 2, READS_NEEDED),
    line("no_reads", "chain reference.fa", 2, READS_NEEDED),
    *(
        line("standard_input_twice", words, 2, STDIN_ONCE)
        for words in ("map reference.fa - -", "chain reference.fa - -", "genotype - reference.fa -")
    ),
    *(
        line("reference_from_stdin", words, 2, f"REFERENCE: {NO_STDIN}")
        for words in ("chain - good.fq", "genotype reads.bam - sites.vcf.gz", "call reads.bam -")
    ),
]
