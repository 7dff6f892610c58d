"""A small reference with all difficult kinds of sequence, and reads of every kind from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

LENGTHS = (10, 11, 12, 13, 15, 20, 24, 31, 32, 33, 50, 63, 64, 65, 100, 127, 128, 129, 150, 191)
"""Lengths around half a word and whole words, of 64 bases."""

LONG_LENGTHS = (192, 193, 200, 255, 256, 257, 300, 511, 512, 513, 1000, 1023, 1500)

AMBIGUITY_CODES = "RYSWKMBDHV"

_COMPLEMENTS = str.maketrans("ACGTacgt", "TGCAtgca")


def reverse_complement(bases: str) -> str:
    return bases.translate(_COMPLEMENTS)[::-1]


def make_contigs(seed: int = 1) -> list[str]:
    """Make twelve contigs of about 10,000 bases, the shortest with one base."""
    random = Random(seed)  # noqa: S311  (the same reads on every run)
    unique = random_bases(random, 2500)
    mirrored = random_bases(random, 150)
    return [
        unique,
        "G",
        _with_gaps(random, random_bases(random, 1200)),
        random_bases(random, 40) + "A" * 1300 + _runs(random) + "T" * 30,
        "T" * 25 + random_bases(random, 100) + "G" * 25,
        "G" * 40 + random_bases(random, 60),
        unique[100:109],
        _tandem_repeats(random),
        "NNNNN",
        _copies(random, unique),
        mirrored + reverse_complement(mirrored) + "GAATTC" * 10,
        "nnn" + random_bases(random, 600).lower() + "NN",
    ]


def write_fasta(path: Path, contigs: list[str]) -> Path:
    records = [f">contig_{number}\n{bases}\n" for number, bases in enumerate(contigs)]
    path.write_text("".join(records))
    return path


def make_reads(contigs: list[str], each: int, seed: int = 1) -> dict[str, list[str]]:
    """Make groups of `each` reads, named for their property, on either strand."""
    random = Random(seed)  # noqa: S311  (the same reads on every run)
    groups: dict[str, Callable[[], str]] = {
        "exact": lambda: _piece(random, contigs),
        "substitution_first": lambda: _substituted(random, _piece(random, contigs), 0),
        "substitution_last": lambda: _substituted(random, _piece(random, contigs), -1),
        "substitution_middle": lambda: _middle_substituted(random, _piece(random, contigs)),
        "substitution": lambda: _edited(random, _piece(random, contigs), "S"),
        "insertion": lambda: _edited(random, _piece(random, contigs), "I"),
        "deletion": lambda: _edited(random, _piece(random, contigs), "D"),
        "insertion_near_end": lambda: _edited(random, _piece(random, contigs), "I", margin=2),
        "deletion_near_end": lambda: _edited(random, _piece(random, contigs), "D", margin=2),
        "insertion_in_middle": lambda: _edited_in_middle(random, _piece(random, contigs), "I"),
        "deletion_in_middle": lambda: _edited_in_middle(random, _piece(random, contigs), "D"),
        "two_errors": lambda: _edited(
            random, _edited(random, _piece(random, contigs), "SID"), "SID"
        ),
        "contig_end": lambda: _at_contig_end(random, contigs),
        "contig_boundary": lambda: _across_contigs(random, contigs),
        "n_in_read": lambda: _with_letters(random, _piece(random, contigs), "N"),
        "ambiguity_in_read": lambda: _with_letters(
            random, _piece(random, contigs), AMBIGUITY_CODES
        ),
        "n_in_reference": lambda: _edited(
            random, _piece(random, [contigs[2]], LENGTHS[:12], filled=True), "SID---"
        ),
        "homopolymer": lambda: _edited(random, _piece(random, [contigs[3]]), "SID---"),
        "end_of_run": lambda: _at_end_of_run(random, contigs[3:6], at_contig_end=False),
        "run_at_contig_end": lambda: _at_end_of_run(random, contigs[3:6], at_contig_end=True),
        "tandem_repeat": lambda: _edited(random, _piece(random, [contigs[7]]), "SID---"),
        "copies": lambda: _edited(random, _piece(random, [contigs[9]]), "SID---"),
        "palindrome": lambda: _edited(random, _palindrome(random, contigs[10]), "SI-"),
        "short": lambda: random_bases(random, random.randint(1, 12)),
        "lower_case": lambda: _piece(random, contigs).lower(),
        "random": lambda: random_bases(random, random.choice(LENGTHS)),
        "long": lambda: _edited(
            random, _piece(random, [contigs[0], contigs[3]], LONG_LENGTHS), "SID-"
        ),
    }
    return {
        name: [_on_either_strand(random, make()) for _ in range(each)]
        for name, make in groups.items()
    }


def random_bases(random: Random, length: int) -> str:
    return "".join(random.choices("ACGT", k=length))


def _with_gaps(random: Random, bases: str) -> str:
    """Put runs of N, of one to forty, and ambiguity codes over some of the bases."""
    letters = list(bases)
    for run in (1, 1, 1, 1, 2, 2, 3, 5, 12, 40):
        start = random.randrange(len(letters) - run)
        letters[start : start + run] = "N" * run
    for _ in range(12):
        letters[random.randrange(len(letters))] = random.choice(AMBIGUITY_CODES)
    return "".join(letters)


def _runs(random: Random) -> str:
    """Make runs of one base, a third of them with another base before their end."""
    runs = []
    for _ in range(24):
        base, length = random.choice("ACGT"), random.randint(5, 40)
        interrupted = random.choice(["", "", random.choice("ACGT") + base])
        runs.append(base * length + interrupted + random_bases(random, random.randint(5, 40)))
    return "".join(runs)


def _tandem_repeats(random: Random) -> str:
    units = ("AC", "ACG", "AATG", "CCGTA", "ACGTTGCATA")
    repeats = (unit * random.randint(20, 40) + random_bases(random, 25) for unit in units)
    return "".join(repeats)


def _copies(random: Random, unique: str) -> str:
    """Repeat a piece: exactly, with each kind of error, on the other strand.

    And the start of the reference, with the same bases before it.
    """
    piece = unique[700:900]
    copies = [
        piece,
        *(_edited(random, piece, kind) for kind in "SSIIDD"),
        reverse_complement(piece),
    ]
    return "".join(copy + random_bases(random, random.randint(0, 3)) for copy in copies)


def _piece(
    random: Random,
    contigs: list[str],
    lengths: tuple[int, ...] = LENGTHS,
    *,
    filled: bool = False,
) -> str:
    """Cut a read out of a contig; letters other than bases are replaced, always or mostly."""
    length = random.choice(lengths)
    source = random.choice([contig for contig in contigs if len(contig) >= length])
    start = random.randint(0, len(source) - length)
    piece = source[start : start + length].upper()
    if not filled and random.random() < 0.2:
        return piece
    return "".join(base if base in "ACGT" else random.choice("ACGT") for base in piece)


def _substituted(random: Random, read: str, offset: int) -> str:
    letters = list(read)
    letters[offset] = random.choice([base for base in "ACGT" if base != letters[offset]])
    return "".join(letters)


def _middle_substituted(random: Random, read: str) -> str:
    return _substituted(random, read, len(read) // 2 + random.randint(-1, 1))


def _edited(random: Random, read: str, kinds: str, margin: int | None = None) -> str:
    """Insert one error of a random kind, within `margin` of an end if that is given."""
    offset = random.randrange(len(read))
    if margin is not None:
        offset = random.choice(
            [random.randint(0, margin), len(read) - 1 - random.randint(0, margin)]
        )
    return _edit(random, read, random.choice(kinds), offset)


def _edited_in_middle(random: Random, read: str, kinds: str) -> str:
    return _edit(random, read, random.choice(kinds), len(read) // 2 + random.randint(-1, 1))


def _edit(random: Random, read: str, kind: str, offset: int) -> str:
    if kind == "S":
        return _substituted(random, read, offset)
    if kind == "I":
        return read[:offset] + random.choice("ACGT") + read[offset:]
    if kind == "D":
        return read[:offset] + read[offset + 1 :]
    return read


def _at_contig_end(random: Random, contigs: list[str]) -> str:
    """Cut a read at the start or end of a contig, with up to two bases hanging over."""
    length = random.choice(LENGTHS)
    contig = random.choice([contig for contig in contigs if len(contig) >= 9])
    over = random_bases(random, random.randint(0, 2))
    if random.random() < 0.5:
        return over + contig[:length]
    return contig[-length:] + over


def _across_contigs(random: Random, contigs: list[str]) -> str:
    """Cut a read across a boundary, often with a base or two on one side, and with an error."""
    length = random.choice(LENGTHS)
    number = random.randrange(1, len(contigs))
    left, right = "".join(contigs[:number])[-length:], "".join(contigs[number:])
    before = random.choice([1, 2, length - 2, length - 1, random.randint(1, length - 1)])
    before = min(before, len(left))
    return _edited(random, left[len(left) - before :] + right[: length - before], "SIDD-")


def _at_end_of_run(random: Random, contigs: list[str], *, at_contig_end: bool) -> str:
    """Cut a read over the start or end of a run of one base, with an error there.

    It starts or ends with the second of the contigs if requested, otherwise anywhere.
    """
    text = "".join(contigs)
    length = random.choice(LENGTHS)
    if at_contig_end:
        boundary = len(contigs[0]) + random.choice([0, len(contigs[1])])
        start = boundary - random.choice([0, length])
        edges = [offset for offset in _run_ends(text) if start < offset < start + length]
        edge = random.choice(edges or [start + length // 2])
    else:
        edge = random.choice([offset for offset in _run_ends(text) if offset > length])
        start = min(edge - random.randrange(length), len(text) - length)
    read = text[start : start + length]
    offset = min(max(edge - start + random.randint(-1, 0), 0), length - 1)
    return _edit(random, read, random.choice("SIDID"), offset)


def _run_ends(text: str) -> list[int]:
    """Find the offsets between a run of at least five equal bases and another base."""
    return [
        offset
        for offset in range(5, len(text) - 5)
        if text[offset - 1] != text[offset]
        and 1 in {len(set(text[offset - 5 : offset])), len(set(text[offset : offset + 5]))}
    ]


def _with_letters(random: Random, read: str, letters: str) -> str:
    for _ in range(random.randint(1, 2)):
        offset = random.randrange(len(read))
        width = random.randint(0, 1)
        read = read[:offset] + random.choice(letters) + read[offset + width :]
    return read


def _palindrome(random: Random, contig: str) -> str:
    """Cut a read around the middle of the mirrored piece, or out of the repeated palindrome."""
    if random.random() < 0.3:
        return "GAATTC" * random.randint(2, 9)
    half = random.choice(LENGTHS) // 2 + 3
    return contig[150 - half : 150 + half]


def _on_either_strand(random: Random, read: str) -> str:
    return reverse_complement(read) if random.random() < 0.5 else read
