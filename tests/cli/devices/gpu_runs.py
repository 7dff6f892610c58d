"""A small run of every command that computes on GPUs, and their inputs."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tests.cli.in_process import status_of_command
from tests.cli.realign.command import make_example
from tests.longread.chain_oracle import Anchor, to_batch

GPU = "cuda"


@dataclass(frozen=True)
class Run:
    """A command on files of the directory that `make_inputs` fills.

    Attributes
    ----------
    files
        The arguments, files by their names.
    suffix
        Of the output.
    options
        Arguments that do not name files.
    """

    name: str
    command: str
    files: tuple[str, ...]
    suffix: str
    options: tuple[str, ...] = ()

    def arguments(self, directory: Path, output: Path) -> list[str]:
        """Return the arguments after the name of the command."""
        files = [name if name.startswith("-") else str(directory / name) for name in self.files]
        return [*files, *self.options, "-q", "-o", str(output)]

    def output(self, directory: Path) -> Path:
        return directory / f"{self.name}{self.suffix}"


NO_PG = ("--no-PG",)
BY_LIKELIHOOD = ("--best-by", "likelihood")
RUNS = {
    run.name: run
    for run in (
        Run("realign", "realign", ("reads.bam", "haplotypes.fa"), ".bam", NO_PG),
        Run(
            "on-reference",
            "realign",
            ("reads.bam", "haplotypes.fa", "--reference", "reference.fa"),
            ".bam",
            NO_PG,
        ),
        Run(
            "by-likelihood",
            "realign",
            ("reads.bam", "haplotypes.fa"),
            ".bam",
            (*NO_PG, *BY_LIKELIHOOD),
        ),
        Run(
            "on-reference-by-likelihood",
            "realign",
            ("reads.bam", "haplotypes.fa", "--reference", "reference.fa"),
            ".bam",
            (*NO_PG, *BY_LIKELIHOOD),
        ),
        Run("amplicons", "realign", ("amplicons.fastq.gz", "alleles.fa"), ".bam", NO_PG),
        Run("pairhmm", "pairhmm", ("reads.bam", "haplotypes.fa"), ".tsv"),
        Run(
            "extended-matrix",
            "pairhmm",
            ("reads.bam", "haplotypes.fa", "--reference", "reference.fa"),
            ".tsv",
            ("--matrix", "--normalize"),
        ),
        Run("batches", "pairhmm", ("--batches", "hmm.in"), ".txt"),
        Run("genotype", "genotype", ("reads.bam", "reference.fa", "sites.vcf"), ".vcf"),
        Run("call", "call", ("reads.bam", "reference.fa"), ".vcf"),
        Run("index", "index", ("reference.fa",), ".hgx"),
        Run("map", "map", ("reference.fa", "reads.fastq.gz"), ".sam", NO_PG),
        Run("chain", "chain", ("reference.fa", "long_reads.fastq.gz"), ".paf"),
        Run("align", "chain", ("reference.fa", "long_reads.fastq.gz"), ".sam", ("-a", *NO_PG)),
        Run(
            "aligned-paf", "chain", ("reference.fa", "long_reads.fastq.gz"), ".paf", ("-c", "--cs")
        ),
        Run("anchors", "chain", ("--anchors", "anchors.npz"), ".npz"),
    )
}


def make_inputs(directory: Path) -> Path:
    """Write the files that the runs read."""
    make_example(directory)
    random = Random(3)  # noqa: S311  (the same data on every run)
    (directory / "hmm.in").write_text("".join(_batch(random) for _ in range(12)))
    reads = [_anchors(random) for _ in range(30)]
    batch = to_batch(reads)
    np.savez(directory / "anchors.npz", x=batch.x, y=batch.y, offsets=batch.offsets)
    return directory


def _batch(random: Random) -> str:
    haplotype = "".join(random.choices("ACGT", k=120))
    other = haplotype[:60] + "ACGT"[random.randrange(4)] + haplotype[61:]
    lines = ["6 2"]
    for _ in range(6):
        start = random.randrange(60)
        bases = haplotype[start : start + 50]
        columns = ("?" * 50, "I" * 50, "I" * 50, "+" * 50)
        lines.append(" ".join((bases, *columns)))
    return "\n".join([*lines, haplotype, other, ""])


def _anchors(random: Random) -> list[Anchor]:
    start = random.randrange(10_000)
    offsets = sorted(random.sample(range(0, 15_000, 3), 60))
    return [Anchor(1 << 31, start + at, 50 + at + random.randrange(3), 15) for at in offsets]


def status_of(run: Run, inputs: Path, output: Path, device: str, *options: str) -> int:
    """Run in this process; return the exit status."""
    arguments = (*run.arguments(inputs, output), "--device", device, *options)
    return status_of_command(run.command, *arguments)


def content_of(path: Path) -> Any:
    """Return the content of an output that does not depend on its path."""
    match path.suffix:
        case ".npz":
            with np.load(path) as arrays:
                return {name: (arrays[name].dtype, arrays[name].tobytes()) for name in arrays}
        case ".vcf":
            return [line for line in path.read_text().splitlines() if not line.startswith("##")]
        case ".bam":  # its compression differs from run to run
            return gzip.decompress(path.read_bytes())
        case _:
            return path.read_bytes()


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}
