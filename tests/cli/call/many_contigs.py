"""A reference of many contigs of which few have reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pysam

from tests.cli.call.made_reads import random_bases, with_snps

LENGTH = 300
READ = 100
STARTS = range(100, 120, 2)
"""Starts of the reads of a contig that has reads."""
SNP = 150


def make_contigs(
    directory: Path, count: int, occupied: Sequence[int], *, others: bool = True
) -> tuple[Path, Path]:
    """Write reads (SAM) and a reference; a contig is the same whatever the others are.

    Parameters
    ----------
    directory
        Directory of both files.
    count
        Number of contigs.
    occupied
        Ascending: the contigs with reads, each with a homozygous SNP.
    others
        Whether the contigs without reads exist.
    """
    directory.mkdir()
    bases = random_bases(np.random.default_rng(5), LENGTH)
    numbers = range(count) if others else occupied
    fasta, sam = directory / "reference.fa", directory / "reads.sam"
    fasta.write_text("".join(f">contig{number}\n{bases}\n" for number in numbers))
    pysam.faidx(str(fasta))
    read = with_snps(bases, [SNP])
    with sam.open("w") as out:
        out.write("@HD\tVN:1.6\tSO:coordinate\n")
        out.writelines(f"@SQ\tSN:contig{number}\tLN:{LENGTH}\n" for number in numbers)
        out.write("@RG\tID:g\tSM:s\n")
        for number in occupied:
            for start in STARTS:
                fields = f"contig{number}\t{start + 1}\t60\t{READ}M\t*\t0\t0"
                text = f"{read[start : start + READ]}\t{'I' * READ}\tRG:Z:g"
                out.write(f"r{number}_{start}\t0\t{fields}\t{text}\n")
    return sam, fasta


def as_indexed(sam: Path, fasta: Path, extension: str) -> Path:
    """Convert reads to BAM or CRAM, with an index; `csi` is BAM with that index."""
    path = sam.with_name(f"{extension}_reads.{'cram' if extension == 'cram' else 'bam'}")
    kind = "-C" if extension == "cram" else "-b"
    options = [kind, "-T", str(fasta), "--no-PG", "-o", str(path), str(sam)]
    pysam.view(*options, catch_stdout=False)
    pysam.index(*(["-c"] if extension == "csi" else []), str(path))
    return path
