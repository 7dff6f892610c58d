"""A small reference with thousands of copies, reads with thousands of hits, and their records."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np

from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.runtime.devices import CpuDevice
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.fm_index import FMIndexArrays
from tests.shortread.made_reads import reverse_complement, write_fasta


def hard_index(directory: Path) -> FMIndexArrays:
    """Index 6,000 A, and 60 copies of a unit of 31 bases of which some differ."""
    random = Random(8)  # noqa: S311  (reproducible data, not secrets)
    unit = "".join(random.choices("ACGT", k=31))
    copies = [
        unit if random.random() < 0.5 else unit[:k] + "C" + unit[k + 1 :]
        for k in random.choices(range(31), k=60)
    ]
    between = "".join(random.choices("ACGT", k=300))
    contigs = [between + "A" * 6000 + "G", "".join(copies), between[100:160]]
    return build_index(write_fasta(directory / "hard.fa", contigs), CpuDevice())


def hard_reads(index: FMIndexArrays, count: int = 60) -> list[str]:
    """Make reads of all places, of either strand, with up to one error; some without a hit."""
    random = Random(9)  # noqa: S311  (as above)
    text = "".join("ACGTN"[code] for code in _codes(index))
    reads = []
    for number in range(count):
        length = random.choice((10, 20, 33, 64, 70))
        start = random.choice(
            (random.randrange(300), random.randrange(6302, len(text) - length))
            if number % 7
            else (2000,)
        )
        read = text[start : start + length]
        if random.random() < 0.6:
            k = random.randrange(length)
            read = read[:k] + random.choice(("", "A", "C", "GT")) + read[k + 1 :]
        reads.append(reverse_complement(read) if random.random() < 0.5 else read)
    return [*reads, "", "ACG", "GATTACA" * 5, "A" * 30, "T" * 12]


def _codes(index: FMIndexArrays) -> list[int]:
    bases, total = index.bases, int(index.contigs.offsets[-1])
    positions = np.arange(total) + 64
    shifts = (positions % 64).astype(np.uint64)
    low, high, other = (
        (words[positions // 64] >> shifts) & np.uint64(1)
        for words in (bases.planes[::2], bases.planes[1::2], bases.others)
    )
    return np.where(other, 4, low + 2 * high).astype(int).tolist()


def block_of(reads: list[str], *, is_fasta: bool = False) -> ReadBlock:
    """Return the reads as a block, with qualities that differ from base to base."""
    records = []
    for number, read in enumerate(reads):
        qualities = "".join(chr(33 + (k + number) % 60) for k in range(len(read)))
        records.append(
            f">r{number}\n{read}\n" if is_fasta else f"@r{number}\n{read}\n+\n{qualities}\n"
        )
    text = np.frombuffer("".join(records).encode(), dtype=np.uint8)
    return ReadBlock(text, is_fasta, first=1, name="hard.fq")


def cut_lines(lines: list[str], max_hits: int | None, *, best: bool) -> list[str]:
    """Return the records of a run with these options, made of all records of the same reads."""
    cut = []
    for line in lines:
        head, _, rest = line.partition("\tNH:i:")
        if not rest:
            cut.append(line)
            continue
        total, number, exact, inexact = (int(tag.split(":")[-1]) for tag in rest.split("\t"))
        is_reported = not best or number <= exact
        reported = exact if best else total
        if is_reported and (max_hits is None or number <= max_hits):
            tags = f"NH:i:{reported}\tHI:i:{number}\tX0:i:{exact}\tX1:i:{inexact}"
            limit = f"\tXL:i:{max_hits}" if max_hits is not None and max_hits < reported else ""
            cut.append(f"{head}\t{tags}{limit}")
    return cut
