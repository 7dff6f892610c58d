"""Small files of reads with all flags, tags and qualities that matter to the pair-HMM."""

from __future__ import annotations

from pathlib import Path
from random import Random

MAPPING_QUALITIES = (0, 5, 17, 20, 37, 60, 60, 255)
# Single and paired, reversed, unmapped in two ways, each flag that is excluded by default, paired
# without a number, and numbered but not paired.
FLAGS = (0, 16, 0, 99, 147, 83, 163, 4, 256, 512, 1024, 2048, 77, 1, 64)


def write_sam(path: Path, reference_length: int, lines: list[str]) -> Path:
    path.write_text("\n".join([f"@SQ\tSN:chr\tLN:{reference_length}", *lines, ""]))
    return path


def random_reads(random: Random, reference: str, count: int, *, all_kinds: bool) -> list[str]:
    """Return sorted SAM lines; unmapped, excluded and empty reads only with `all_kinds`."""
    starts = sorted(random.randrange(len(reference) - 30) for _ in range(count))
    return [
        _line(random, f"r{number}", reference, start, all_kinds=all_kinds)
        for number, start in enumerate(starts)
    ]


def _line(random: Random, name: str, reference: str, start: int, *, all_kinds: bool) -> str:
    length = random.randint(1, 28)
    bases = "".join(
        random.choice("ACGTN") if random.random() < 0.03 else base
        for base in reference[start : start + length]
    )
    qualities = "".join(chr(33 + random.randint(2, 60)) for _ in bases)
    cigar = _cigar(random, length)
    flag = random.choice(FLAGS) if all_kinds else 0
    tags = _tags(random, length)
    if all_kinds and random.random() < 0.1:
        bases, qualities, tags = "*", "*", ""
    mapping_quality = random.choice(MAPPING_QUALITIES)
    line = f"{name}\t{flag}\tchr\t{start + 1}\t{mapping_quality}\t{cigar}\t*\t0\t0"
    return f"{line}\t{bases}\t{qualities}\t{tags}".rstrip("\t")


def _cigar(random: Random, length: int) -> str:
    """Align so many bases with a gap, an insertion and soft clips, each now and then."""
    left, right, inserted = (random.choice([0, 0, random.randint(1, 4)]) for _ in range(3))
    aligned = length - left - right - inserted
    if aligned < 2:
        return f"{length}M"
    gap = random.choice(["", "", "3D", "60N"])
    middle = [f"{aligned // 2}M", f"{inserted}I", gap, f"{aligned - aligned // 2}M"]
    parts = [f"{left}S", *middle, f"{right}S"]
    return "".join(part for part in parts if part and not part.startswith("0"))


def _tags(random: Random, length: int) -> str:
    """Make fields of every type around BI and BD, each of which may be there."""
    fields = ["NM:i:-7", "XA:A:c", "XF:f:1.5", "XZ:Z:", "XH:H:1AE3", "XB:B:s,-1,2", "XC:B:C,7"]
    for name in ("BI", "BD"):
        if random.random() < 0.5:
            text = "".join(chr(random.randint(33, 126)) for _ in range(length))
            fields.append(f"{name}:Z:{text}")
    random.shuffle(fields)
    return "\t".join(fields[: random.randint(0, len(fields))])
