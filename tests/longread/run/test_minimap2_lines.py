"""The reference implementation and the CPU against stored lines of minimap2 2.30.

After a line with each set of options, `minimap2_lines.txt` has the output of
`minimap2 OPTIONS reference.fa reads.fa` for the sequences made below.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

import numpy as np
import pytest

from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.longread.cpu import CpuChainer
from hapgpu.longread.index.build import build_index
from tests.longread.index.reference import index_of
from tests.longread.made_cases import fasta_of
from tests.longread.minimap2_options import options_of
from tests.longread.run.reference import paf_lines
from tests.longread.stage_runs import computed

Records = list[tuple[str, bytes]]
COMPLEMENTS: Final = bytes.maketrans(b"ACGTN", b"TGCAN")
OPTIONS: Final = (
    "-x map-ont",
    "-x map-ont --max-chain-skip=1000000000 --no-long-join",
    "-x map-ont -P",
    "-x map-hifi -N 20 -p 0.1",
    "-x map-pb --paf-no-hit",
    "-x map-ont -k 14 -w 5 -f 3 -e 50 --no-hash-name",
)


def letters(random: Random, count: int) -> bytes:
    return bytes(b"ACGT"[int(4 * random.random())] for _ in range(count))


def mutated(random: Random, sequence: bytes, rate: float) -> bytes:
    """Substitute, delete and insert letters, each with a third of the rate."""
    made = bytearray()
    for base in sequence:
        drawn = random.random() / rate
        if drawn < 1 / 3:
            made += letters(random, 1)
        elif drawn >= 2 / 3:
            made.append(base)
            if drawn < 1:
                made += letters(random, 1)
    return bytes(made)


def made_reference(random: Random) -> Records:
    """Make two sequences with distant, inverted and tandem repeats, and a gap."""
    repeat, unit = letters(random, 900), letters(random, 31)
    inverted = mutated(random, repeat, 0.02).translate(COMPLEMENTS)[::-1]
    parts = [
        *(letters(random, 3000), repeat, letters(random, 1500), unit * 12),
        *(letters(random, 2000), inverted, b"N" * 60, letters(random, 2500), b"A" * 40),
    ]
    other = letters(random, 1500) + mutated(random, repeat, 0.05) + letters(random, 1200)
    return [("one", b"".join(parts)), ("two", other)]


def made_reads(random: Random, reference: Records) -> Records:
    """Make reads of one part of the reference, of several, and of none."""
    reads = []
    for number in range(10):
        pieces = b""
        for _ in range(1 if number < 4 else 3):
            _, sequence = reference[int(1.3 * random.random())]
            start = int(random.random() * (len(sequence) - 1500))
            pieces += sequence[start : start + 400 + int(1500 * random.random())]
        read = mutated(random, pieces, (0.01, 0.05, 0.1)[number % 3])
        reads.append((f"read{number}", read.translate(COMPLEMENTS)[::-1] if number % 2 else read))
    return [*reads, ("none", letters(random, 1000)), ("short", b"ACGT")]


def made_data() -> tuple[Records, Records]:
    random = Random(230)  # noqa: S311  (nothing secret)
    reference = made_reference(random)
    return reference, made_reads(random, reference)


def stored_lines() -> dict[str, list[str]]:
    text = Path(__file__).with_name("minimap2_lines.txt").read_text(encoding="ascii")
    sets = (part.splitlines() for part in text.split("# ")[1:])
    return {arguments: lines for arguments, *lines in sets}


@pytest.mark.parametrize("arguments", OPTIONS)
def test_reference(arguments: str) -> None:
    reference, reads = made_data()
    options = options_of(arguments.split())
    found = paf_lines(reads, index_of(reference, options.sketch), options)
    assert list(found) == stored_lines()[arguments]


@pytest.mark.parametrize("arguments", OPTIONS)
def test_cpu(tmp_path: Path, arguments: str) -> None:
    reference, reads = made_data()
    options = options_of(arguments.split())
    fasta = tmp_path / "reference.fa"
    fasta.write_bytes(fasta_of(reference))
    chainer = CpuChainer(build_index(fasta, options.sketch, threads=1), options)
    text = np.frombuffer(fasta_of(reads), dtype=np.uint8)
    found = computed(chainer, ReadBlock(text, is_fasta=True, first=1, name="reads.fa"))
    assert found.text.tobytes().decode().splitlines() == stored_lines()[arguments]
