"""Made PAF: several contigs, split reads, secondary mappings, reads without a mapping."""

from __future__ import annotations

import random

CONTIGS = {"chr1": 100_000, "chr2": 30_000, "short": 40}


def paf_lines(seed: int, reads: int) -> list[list[str]]:
    """Return the fields of lines, read by read."""
    chance = random.Random(seed)  # noqa: S311  (data for a test)
    lines = []
    for number in range(reads):
        length = chance.randrange(100, 5000)
        name = f"read{number}"
        if chance.random() < 0.1:
            lines.append([name, str(length), "0", "0", "*", "*", *"000000"])
            continue
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            start = chance.randrange(length - 50)
            end = chance.randrange(start + 1, length + 1)
            contig = chance.choice(list(CONTIGS))
            size = CONTIGS[contig]
            low = chance.randrange(size)
            high = min(low + end - start, size)
            fields = [name, length, start, end, chance.choice("+-"), contig, size, low, high]
            fields += [max(end - start - 3, 0), end - start + 2, chance.choice([0, 5, 60])]
            tags = [chance.choice(["tp:A:P", "tp:A:P", "tp:A:S"])]
            if chance.random() < 0.8:
                tags.append(
                    f"{chance.choice(['dv', 'de'])}:f:{chance.choice(['0.0312', '1e-05', '0'])}"
                )
            if chance.random() < 0.7:
                tags.append(f"NM:i:{chance.randrange(60)}")
            if chance.random() < 0.7:
                tags.append(f"cg:Z:{chance.randrange(30, 900)}M2I30N3D4X{chance.randrange(9)}=")
            lines.append([*map(str, fields), *tags])
    return lines


def text_of(lines: list[list[str]]) -> str:
    """Return lines as text."""
    return "".join("\t".join(fields) + "\n" for fields in lines)
