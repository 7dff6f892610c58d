"""Texts of FASTQ and FASTA, well-formed and with a byte changed, for the parser on the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

BASES = "ACGTNRYSWKMBDHVacgtnryswkmbdhv"
PRINTABLE = "".join(map(chr, range(33, 127)))
DESCRIPTIONS = ("", "", " ", "\t1:N:0:ACGT", " a b  c", " \x7f\x01")
BLANKS = ("", "", "\n", "\r\n", "\n \n\t\n")
BYTES = b"\n\n\r\t @+>/1A*!~\x00\x0b\x1f\x7f\x80\xffEe"


def record(random: Random, newline: str, *, is_fasta: bool) -> str:
    """Return a record, seldom with a long name or a long read."""
    name = "".join(random.choices(PRINTABLE, k=random.choice([3, 20, 40, 70, 252])))
    name = "*" + name[1:] if name.startswith("@") else name
    header = name + random.choice(["", "/1", "/2"]) + random.choice(DESCRIPTIONS)
    length = random.choice([0, 1, 31, 32, 33, 100, 100, 100, 500, 1500])
    bases = "".join(random.choices(BASES, k=length))
    if is_fasta:
        return newline.join([f">{header}", bases, ""])
    qualities = "".join(random.choices(PRINTABLE, k=length))
    plus = random.choice(["+", "+", f"+{header}"])
    return newline.join([f"@{header}", bases, plus, qualities, ""])


def well_formed(random: Random, *, is_fasta: bool) -> bytes:
    """Return up to 12 records, and blank lines."""
    newline = random.choice(["\n", "\r\n"])
    records = [record(random, newline, is_fasta=is_fasta) for _ in range(random.randrange(13))]
    blank = random.choice(BLANKS[:4] if is_fasta else BLANKS)
    return ("".join(records) + blank).encode() or b"\n"


def corrupted(random: Random, text: bytes) -> Iterator[bytes]:
    """Yield the text with a byte replaced, inserted, or deleted; it still ends with a newline."""
    for _ in range(30):
        at = random.randrange(len(text))
        put = bytes([random.choice(BYTES)])
        for other in (text[:at] + put + text[at + 1 :], text[:at] + put + text[at:]):
            yield other if other.endswith(b"\n") else other + b"\n"
        rest = text[:at] + text[at + 1 :]
        yield rest if rest.endswith(b"\n") else rest + b"\n"
