"""The place in the genome that a haplotype's FASTA header binds it to."""

from __future__ import annotations

import re

from hapgpu.errors import InputError
from hapgpu.io.genome.regions import Region
from hapgpu.io.text.excerpt import excerpt
from hapgpu.io.text.positions import LAST_POSITION, parse_position

_INTERVAL = re.compile(r"(?P<contig>\S+):(?P<start>[0-9,]+)-(?P<end>[0-9,]+)")


def parse_locus(name: str, description: str) -> tuple[str, Region | None]:
    """Return a haplotype's own name, and its locus if the header line states one.

    Two ways to write the same locus are understood:

    `>alt1 chr20:10000101-10000500`
        The first word of the description that reads as `contig:start-end`: 1-based, both ends
        belong to it, commas allowed, as in samtools.
    `>alt1::chr20:10000100-10000500`
        As `bedtools getfasta -name` writes it, with or without its `(+)`: 0-based and
        half-open, like the BED line that it came from. The haplotype is then called `alt1`.

    The suffix of the name wins over the description. Text that does not read as an interval, or
    is an empty one, is no locus: the name is then left as it is.

    Raises
    ------
    InputError
        A position is above 2**31 - 1, which no contig reaches. Or the suffix says `(-)`: bedtools
        has reverse-complemented the sequence, and a haplotype at a locus has to be in the
        orientation of the reference.
    """
    try:
        return _parsed(name, description)
    except _BeyondError as error:
        raise InputError(
            f"haplotype '{excerpt(name)}': its locus '{excerpt(str(error))}' goes beyond"
            f" {LAST_POSITION:,}, the end of the longest contig; correct it"
        ) from None


class _BeyondError(Exception):
    """An interval with a position that no contig has."""


def _parsed(name: str, description: str) -> tuple[str, Region | None]:
    short, colons, suffix = name.rpartition("::")
    if colons and short and (region := _parse(suffix.removesuffix("(+)"), first=0)):
        return short, region
    if colons and short and suffix.endswith("(-)") and _parse(suffix[:-3], first=0):
        raise InputError(
            f"haplotype '{name}' is from the reverse strand; write it in the orientation of the"
            " reference (bedtools getfasta without -s)"
        )
    for word in description.split():
        if region := _parse(word, first=1):
            return name, region
    return name, None


def _parse(word: str, first: int) -> Region | None:
    """Read `contig:start-end`, where positions count from `first`."""
    match = _INTERVAL.fullmatch(word)
    if match is None:
        return None
    digits = [match[side].replace(",", "") for side in ("start", "end")]
    if not all(digits):
        return None
    start, end = map(parse_position, digits)
    if start is None or end is None:
        raise _BeyondError(word)
    if start < first or end <= start - first:
        return None
    return Region(match["contig"], start - first, end)
