"""GATK's clipping of a read to an interval, in plain Python on SAM fields: an oracle for tests.

From ReadClipper.java and ReadUtils.java of broadinstitute/gatk (hardClipByReferenceCoordinates and
getReadIndexForReferenceCoordinate), with soft clips turned into aligned bases first.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pysam

from tests.pairhmm.preparation_oracle import Prepared, Rules, prepare


class Index(NamedTuple):
    """The base at a position of the reference; at a deletion, the next base."""

    base: int
    is_deletion: bool


def spelled_out(cigar: str) -> str:
    """Write each operation as a letter."""
    return "".join(op * int(length) for length, op in re.findall(r"(\d+)([MIDNSHP=X])", cigar))


def unclipped(letters: str) -> tuple[str, int]:
    """Turn soft clips at the ends into matches; return also their number at the left end.

    Soft clips in the middle, which SAM does not allow, become insertions.
    """
    on_reference = [k for k, letter in enumerate(letters) if letter in "MDN=X"]
    first, last = on_reference[0], on_reference[-1] + 1
    left, right = (part.replace("S", "M") for part in (letters[:first], letters[last:]))
    middle = letters[first:last].replace("S", "I")
    return left + middle + right, letters[:first].count("S")


def clip(position: int, cigar: str, bases: int, interval: tuple[int, int]) -> tuple[int, int]:
    """Return the range of bases of a read, half-open, in a 0-based, half-open interval."""
    letters = spelled_out(cigar)
    if not set(letters) & set("M=X") or sum(map(letters.count, "MIS=X")) != bases:
        return 0, 0
    letters, before = unclipped(letters)
    at = position - before
    table: dict[int, Index] = {}
    base = 0
    for letter in letters:
        if letter in "MDN=X":
            table[at] = Index(base, letter in "DN")
            at += 1
        base += letter in "MI=X"
    start, end = interval
    first, last = 0, bases
    if start - 1 in table:
        first = table[start - 1].base + (not table[start - 1].is_deletion)
    elif start > max(table):
        first = bases
    if end in table:
        last = table[end].base
    elif end < min(table):
        last = 0
    return first, last


def prepare_part(
    record: pysam.AlignedSegment, rules: Rules, interval: tuple[int, int]
) -> Prepared | None:
    """Clip a read of a file, then prepare it, as GATK does; None if no bases are left."""
    bases = record.query_sequence
    first, end = clip(record.reference_start, record.cigarstring or "", len(bases), interval)
    if first == end:
        return None
    tags = [record.get_tag(name) if record.has_tag(name) else None for name in ("BI", "BD")]
    return prepare(
        bases[first:end],
        record.query_qualities[first:end],
        record.mapping_quality,
        tuple(text and text[first:end] for text in tags),
        rules,
    )
