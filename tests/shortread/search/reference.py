"""Reference implementation of the search: a plain scan of the contigs.

A hit is an interval of a contig, on one of two strands, that differs from the read by at most one
error: a mismatch, an inserted read base (the interval is one base shorter than the read) or a
deleted base (one base longer).

1. Intervals as long as the read with at most one mismatch are hits.
2. Shorter and longer intervals are hits unless an ungapped hit of the same read on the same strand
   of the same contig has the same start or the same end: they would add nothing.
3. The reverse strand is searched with the reverse complement of the read. Both strands count,
   even for a read that is its own reverse complement.
4. Letters other than A, C, G and T, in the read or the reference, match nothing, not even
   themselves: each costs an error. Case does not matter.
5. The gap is at the leftmost of equivalent positions on the forward strand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.shortread.search.hits import SearchOptions

_COMPLEMENTS: Final = bytes.maketrans(b"ACGT", b"TGCA")
_BASE_OR_DOT: Final = bytes(byte if byte in b"ACGT" else ord(".") for byte in range(256))
"""With it, letters other than A, C, G and T in a read differ from every letter of a contig."""


@dataclass(frozen=True, slots=True)
class Hit:
    """An alignment of a read with at most one error.

    Attributes
    ----------
    contig
        Index of the contig.
    strand
        0 forward, 1 reverse.
    start, end
        The interval on the contig, 0-based, half-open.
    distance
        The number of errors, 0 or 1.
    cigar
        CIGAR of the read as aligned to the forward strand, for example `10M1D5M`.
    """

    contig: int
    strand: int
    start: int
    end: int
    distance: int
    cigar: str


def find_hits(contigs: Sequence[bytes], read: bytes, options: SearchOptions) -> list[Hit]:
    """Find all hits of a read; O(n m) time for n bases of reference and m of the read.

    Parameters
    ----------
    contigs
        The sequences of the reference, text.
    read
        Text of at least one base.
    options
        The hits to find.

    Returns
    -------
    The hits in ascending order of distance, contig, start, strand and end.
    """
    forward = read.upper()
    oriented = [forward, forward.translate(_COMPLEMENTS)[::-1]]
    hits = [
        hit
        for contig, bases in enumerate(contigs)
        for strand, sequence in enumerate(oriented[: 1 if options.forward_only else 2])
        for hit in _hits_on_strand(contig, bases.upper(), strand, sequence, options)
    ]
    return sorted(hits, key=lambda hit: (hit.distance, hit.contig, hit.start, hit.strand, hit.end))


def _hits_on_strand(
    contig: int, bases: bytes, strand: int, read: bytes, options: SearchOptions
) -> Iterator[Hit]:
    m = len(read)
    read = read.translate(_BASE_OR_DOT)
    prefixes = _matching_prefixes(bases, read)
    suffixes = _matching_prefixes(bases[::-1], read[::-1])[::-1]
    exact = _matching_intervals(prefixes, suffixes, m, min_matches=m)
    ungapped = exact if options.errors == 0 else _matching_intervals(prefixes, suffixes, m, m - 1)
    for start in ungapped:
        distance = 0 if start in exact else 1
        yield Hit(contig, strand, start, start + m, distance, f"{m}M")
    if options.errors == 0 or not options.indels:
        return
    ends = {start + m for start in ungapped}
    for start in _matching_intervals(prefixes, suffixes, m - 1, m - 1):
        end = start + m - 1
        if start not in ungapped and end not in ends:
            cigar = _gap_cigar(m - 1 - int(suffixes[end]), "I", m - 1)
            yield Hit(contig, strand, start, end, 1, cigar)
    for start in _matching_intervals(prefixes, suffixes, m + 1, m):
        end = start + m + 1
        if start not in ungapped and end not in ends:
            cigar = _gap_cigar(m - int(suffixes[end]), "D", m)
            yield Hit(contig, strand, start, end, 1, cigar)


def _matching_prefixes(bases: bytes, read: bytes) -> NDArray[np.int64]:
    """Return int64[n + 1]: the number of matching read bases at each position of a contig.

    Counted from the first base of the read to the first mismatch or the end of the contig.
    """
    text = np.frombuffer(bases, dtype=np.uint8)
    lengths = np.zeros(text.size + 1, dtype=np.int64)
    matching = np.arange(text.size)
    for k, base in enumerate(read):
        matching = matching[matching + k < text.size]
        matching = matching[text[matching + k] == base]
        if not matching.size:
            break
        lengths[matching] = k + 1
    return lengths


def _matching_intervals(
    prefixes: NDArray[np.int64], suffixes: NDArray[np.int64], length: int, min_matches: int
) -> set[int]:
    """Return the starts of intervals whose two ends together match `min_matches` read bases.

    An interval with one error matches the read before and after the error. `suffixes` has, per
    position, the number of last read bases that match the contig bases before the position.
    """
    count = prefixes.size - length
    if length < 1 or count < 1:
        return set()
    matches = prefixes[:count] + suffixes[length:]
    return set(np.flatnonzero(matches >= min_matches).tolist())


def _gap_cigar(before: int, gap: str, matches: int) -> str:
    """Return the CIGAR of `before` matches, a gap of one base, and the other matches."""
    parts = [(before, "M"), (1, gap), (matches - before, "M")]
    return "".join(f"{count}{operation}" for count, operation in parts if count)
