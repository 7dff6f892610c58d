"""Lines of SAM with every kind of field, and the BAM records that samtools makes of them."""

from __future__ import annotations

import gzip
import string
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pysam
from hypothesis import strategies as st

from hapgpu.io.bam.header import SamHeader, encode_header

NAMES = ("chr1", "HLA:A*01:01", "c=2", "a|b.c", "#3", "~x", "c", "12", *(f"u{k}" for k in range(9)))
HEADER = SamHeader.from_references(NAMES, [10**9] * len(NAMES))
FIRST = "*\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*"
"""A line before the others: a first name may start with @."""
FIRST_BYTES = 38
_PRINTABLE = "".join(map(chr, range(33, 127)))
_RANGES = {"c": 7, "s": 15, "i": 31, "C": 8, "S": 16, "I": 32}


def by_samtools(lines: Sequence[bytes]) -> bytes | None:
    """Return the records of some lines, end to end; None if samtools refuses them."""
    with TemporaryDirectory() as directory:
        sam, bam = Path(directory, "x.sam"), Path(directory, "x.bam")
        sam.write_bytes(b"".join(b"%s\n" % line for line in (head(), *lines)))
        try:
            pysam.samtools.view("-u", "--no-PG", "-o", str(bam), str(sam), catch_stdout=False)
        except pysam.SamtoolsError:
            return None
        return gzip.decompress(bam.read_bytes())[len(encode_header(HEADER)) + FIRST_BYTES :]


def head() -> bytes:
    return f"{HEADER.text}{FIRST}".encode()


def texts(characters: str, least: int = 0, most: int = 30) -> st.SearchStrategy[str]:
    return st.text(characters, min_size=least, max_size=most)


def decimals() -> st.SearchStrategy[str]:
    """Return decimals as programs print them, and others that C reads."""
    digits = st.integers(0, 10**20).map(str)
    return st.one_of(
        st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: f"{x:.9g}"),
        st.floats(0, 1, width=32).map(lambda x: f"{x:.4f}"),
        st.floats(allow_nan=False, allow_infinity=False).map(repr),
        st.tuples(digits, digits).map(".".join),
        st.tuples(digits, st.integers(-60, 60).map(str)).map("e".join),
        st.sampled_from(["0", "-0", ".5", "5.", "00.10", "1E5", "1e+5", "-1e-05", "3.4028236e38"]),
    )


def _array(kind: str) -> st.SearchStrategy[str]:
    if kind == "f":
        values = decimals()
    else:
        lowest = -(2 ** _RANGES[kind]) if kind.islower() else 0
        values = st.integers(lowest, 2 ** _RANGES[kind] - 1).map(str)
    return st.lists(values, max_size=20).map(lambda row: ",".join([f"B:{kind}", *row]))


def _pairs(text: str) -> str:
    return text[: len(text) // 2 * 2]


def tags() -> st.SearchStrategy[str]:
    """Return fields of all types."""
    letters = string.ascii_letters
    names = st.builds("{}{}".format, st.sampled_from(letters), st.sampled_from(letters + "019"))
    integers = st.one_of(
        st.integers(-(2**31), 2**32 - 1),
        st.sampled_from([s + d for s in (-(2**15), -128, 0, 256, 2**16, 2**31) for d in (-1, 0)]),
    )
    values = st.one_of(
        st.sampled_from(_PRINTABLE).map("A:{}".format),
        integers.map("i:{}".format),
        decimals().map("f:{}".format),
        texts(_PRINTABLE + " é").map("Z:{}".format),
        texts(string.hexdigits).map(_pairs).map("H:{}".format),
        st.sampled_from([*_RANGES, "f"]).flatmap(_array),
    )
    return st.builds("{}:{}".format, names.filter(lambda name: name != "CG"), values)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """Return a line of a record, well-formed as programs write it."""
    operations = draw(
        st.lists(st.tuples(st.integers(0, 40), st.sampled_from("MIDNSHP=X")), max_size=12)
    )
    length = sum(size for size, letter in operations if letter in "MIS=X")
    if not operations:
        length = draw(st.integers(1, 40))
    has_bases = length > 0 and draw(st.integers(0, 9)) > 0
    bases, qualities = "*", "*"
    if has_bases:
        bases = draw(texts(draw(st.sampled_from(["ACGT", "=ACMGRSVTWYHKDBNacgtn.", _PRINTABLE])),
                           length, length))  # fmt: skip
        if draw(st.booleans()) or bases == "*":
            qualities = draw(texts(_PRINTABLE, length, length))
    contigs = st.sampled_from(["*", *NAMES])
    positions = st.one_of(st.integers(0, 10**9), st.sampled_from([0, 1, 2**29, 2**31]))
    fields = [
        draw(texts(_PRINTABLE, 1, 40)),
        draw(st.integers(0, 65535)),
        draw(contigs),
        draw(positions),
        draw(st.integers(0, 255)),
        "".join(f"{size}{letter}" for size, letter in operations) or "*",
        draw(st.one_of(contigs, st.just("="))),
        draw(positions),
        draw(st.integers(-(2**31), 2**31 - 1)),
        bases,
        qualities,
        *draw(st.lists(tags(), max_size=8)),
    ]
    return "\t".join(map(str, fields)).encode()


def as_text(rows: Sequence[bytes]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(b"".join(b"%s\n" % row for row in rows), dtype=np.uint8)
