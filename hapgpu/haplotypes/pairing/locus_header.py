"""The locus in the FASTA header of a haplotype."""

from __future__ import annotations

import re

from hapgpu.errors import InputError
from hapgpu.io.genome.regions import Region
from hapgpu.io.text.excerpt import excerpt
from hapgpu.io.text.positions import LAST_POSITION, parse_position

_INTERVAL = re.compile(r"(?P<contig>\S+):(?P<start>[0-9,]+)-(?P<end>[0-9,]+)")


def parse_locus(name: str, description: str) -> tuple[str, Region | None]:
    """Return the name of a haplotype without its locus, and the locus if the header has one.

    A locus can be written in two ways:

    `>alt1 chr20:10000101-10000500`
        The first word of the description of the form `contig:start-end`: 1-based, both ends
        included, commas allowed, as in samtools.
    `>alt1::chr20:10000100-10000500`
        As `bedtools getfasta -name` writes it, with or without its `(+)`: 0-based and
        half-open, as in BED. The name of the haplotype is then `alt1`.

    The suffix of the name has precedence over the description. Text that is not an interval, or
    an empty interval, is no locus; the name then stays as it is.

    Raises
    ------
    InputError
        A position is above 2**31 - 1, the length of the longest contig. Or the suffix is `(-)`:
        bedtools reverse-complemented the sequence, but a haplotype at a locus must be in the
        orientation of the reference.
    """
    try:
        return _parsed(name, description)
    except _PositionError as error:
        raise InputError(
            f"haplotype '{excerpt(name)}': locus '{excerpt(str(error))}' ends after"
            f" {LAST_POSITION:,}, the end of the longest contig; correct it"
        ) from None


class _PositionError(Exception):
    """An interval with a position after the end of any contig."""


def _parsed(name: str, description: str) -> tuple[str, Region | None]:
    short, colons, suffix = name.rpartition("::")
    if colons and short and (region := _parse(suffix.removesuffix("(+)"), first=0)):
        return short, region
    if colons and short and suffix.endswith("(-)") and _parse(suffix[:-3], first=0):
        raise InputError(
            f"haplotype '{name}': from the reverse strand; write it in the orientation of the"
            " reference (run: bedtools getfasta without -s)"
        )
    for word in description.split():
        if region := _parse(word, first=1):
            return name, region
    return name, None


def _parse(word: str, first: int) -> Region | None:
    """Return the region of `contig:start-end`, where the first position of a contig is `first`."""
    match = _INTERVAL.fullmatch(word)
    if match is None:
        return None
    digits = [match[side].replace(",", "") for side in ("start", "end")]
    if not all(digits):
        return None
    start, end = map(parse_position, digits)
    if start is None or end is None:
        raise _PositionError(word)
    if start < first or end <= start - first:
        return None
    return Region(match["contig"], start - first, end)
