"""Random reference, haplotypes and tiny reads with ties, gaps and overhangs."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pysam

LOCI = 12
WINDOW = 30
STEP = 40  # windows closer than a read is long, so that some reads overlap two loci


def text(random: Random, length: int, letters: str) -> str:
    return "".join(random.choices(letters, k=length))


def changed(random: Random, bases: str) -> str:
    """Make an allele: a few substitutions, deletions and insertions."""
    for _ in range(random.randint(0, 3)):
        at = random.randrange(len(bases))
        gone, new = random.randint(0, 4), text(random, random.randint(0, 4), "AC")
        bases = (bases[:at] + new + bases[at + gone :]) or "A"
    return bases


def cigar_of(random: Random, length: int) -> str:
    left, right = (random.choice([0, 0, 0, random.randint(1, 6)]) for _ in range(2))
    middle = length - left - right
    gap = random.choice(["", "", "2D", "30N"])
    inner = f"{middle // 2}M{gap}{middle - middle // 2}M" if gap else f"{middle}M"
    return "".join((f"{left}S" if left else "", inner, f"{right}S" if right else ""))


def read_line(random: Random, number: int, reference: str) -> str:
    start = random.randrange(len(reference) - 30)
    bases = changed(random, reference[start : start + random.randint(16, 28)])
    bases = (bases + "ACCAACCCAACCCCAA")[: max(16, len(bases))]
    flag = random.choice([0, 0, 0, 16, 99, 147, 1024, 4, 4, 73, 137, 69])
    nowhere = flag & 4 and random.random() < 0.5
    alignment = (
        ("*", 0, 0, "*") if nowhere else ("chr", start + 1, 37, cigar_of(random, len(bases)))
    )
    contig, position, quality, cigar = alignment
    tags = random.choice(["", "\tNM:i:7\tMC:Z:5M\tMQ:i:3", "\tXX:Z:kept\tXS:i:3\tAS:i:300"])
    fields = (flag, contig, position, quality, cigar, "*", 0, 0, bases)
    quality_text = "".join(chr(33 + random.randrange(40)) for _ in bases)
    return "\t".join(map(str, (f"r{number}", *fields, quality_text))) + tags


def write_small_reads(directory: Path, letters: str, reads: int) -> Path:
    """Write reference.fa, haplotypes.fa and reads.sam."""
    random = Random(7)  # noqa: S311  (the same data on every run)
    reference = text(random, LOCI * STEP + 60, letters)
    (directory / "reference.fa").write_text(f">chr\n{reference}\n")
    pysam.faidx(str(directory / "reference.fa"))
    with (directory / "haplotypes.fa").open("w") as out:
        for locus in range(LOCI):
            start = 20 + locus * STEP
            window = reference[start : start + WINDOW]
            for number, bases in enumerate(
                [window, changed(random, window), window[:7] + "CAC" + window[9:]]
            ):
                out.write(f">h{locus}_{number} chr:{start + 1}-{start + WINDOW}\n{bases}\n")
    lines = [read_line(random, number, reference) for number in range(reads)]
    header = f"@SQ\tSN:chr\tLN:{len(reference)}"
    (directory / "reads.sam").write_text("\n".join([header, *lines, ""]))
    return directory
