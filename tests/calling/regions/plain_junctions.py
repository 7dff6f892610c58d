"""Junctions of split reads by their rules, on strings: all positions, without speed."""

from __future__ import annotations

from collections.abc import Sequence

from tests.calling.regions.reference import PlainRead

MAX_JUMP, MIN_JUMP = 300, 20
MIN_SCORE, MIN_LEAD, MISMATCH = 16, 4, -3
SEED = 8
MAX_SHIFT, MIN_READS = 50, 2

Junction = tuple[int, int]
"""Start and end, half-open."""


def best_score(one: str, other: str) -> int:
    """Return the best score of consecutive bases of two strings of one length."""
    scores = [1 if a == b else MISMATCH for a, b in zip(one, other, strict=True)]
    starts = range(len(scores))
    return max(sum(scores[start:end]) for start in starts for end in range(start, len(scores) + 1))


def jump_of(clip: str, at: int, reference: str, start: int) -> int:
    """Return by how much a clip has to move from position `at` to continue; 0 for nowhere.

    The reference starts at position `start`. A seed has two bits per base: N is as G.
    """
    seeds = clip[:SEED].replace("N", "G"), clip[-SEED:].replace("N", "G")
    scores = {}
    for jump in range(-MAX_JUMP, MAX_JUMP + 1):
        low = at + jump - start
        bases = reference[low : low + len(clip)] if low >= 0 else ""
        if abs(jump) < MIN_JUMP or len(bases) < len(clip):
            continue
        own = bases[:SEED].replace("N", "G"), bases[-SEED:].replace("N", "G")
        if own[0] == seeds[0] or own[1] == seeds[1]:
            scores[jump] = best_score(clip, bases)
    if not scores:
        return 0
    *others, best = sorted(scores.values())
    if best < MIN_SCORE or any(best < other + MIN_LEAD for other in others):
        return 0
    return max(scores, key=scores.__getitem__)


def ends_of(read: PlainRead, reference: str, start: int, min_quality: int) -> list[tuple[int, int]]:
    """Return the left end and the jump of the junction of each clipped end of a read."""
    cigar = [element for element in read.cigar if element[1] != "H"]
    if len(cigar) < 2:
        return []
    bases = list(zip(read.bases, read.qualities, strict=True))
    found = []
    if cigar[0][1] == "S":
        clip = bases[: cigar[0][0]]
        while clip and clip[0][1] < min_quality:
            clip.pop(0)
        at = read.position - 1
        text = "".join(base for base, _ in clip)
        jump = jump_of(text, at - len(text), reference, start) if len(text) >= SEED else 0
        found += [(at + jump, -jump)] if jump else []
    if cigar[-1][1] == "S":
        clip = bases[-cigar[-1][0] :]
        while clip and clip[-1][1] < min_quality:
            clip.pop()
        at = read.position - 1 + sum(length for length, letter in cigar if letter in "MDN=X")
        text = "".join(base for base, _ in clip)
        jump = jump_of(text, at, reference, start) if len(text) >= SEED else 0
        found += [(at, jump)] if jump else []
    return found


def shared(ends: Sequence[tuple[int, int]]) -> list[Junction]:
    """Join ends of reads with equal jumps whose left ends are near those of others."""
    found = []
    for jump in sorted({jump for _, jump in ends}):
        lefts = sorted(left for left, other in ends if other == jump)
        groups = [[lefts[0]]]
        for left in lefts[1:]:
            if left - groups[-1][-1] <= MAX_SHIFT:
                groups[-1].append(left)
            else:
                groups.append([left])
        for group in groups:
            if len(group) >= MIN_READS:
                both = [*group, *(left + jump for left in group)]
                found.append((min(both), max(both)))
    return found


def plain_junctions(
    reads: Sequence[PlainRead], reference: str, start: int, min_quality: int
) -> list[Junction]:
    """Return the junctions of reads; the reference starts at position `start`."""
    return shared([end for read in reads for end in ends_of(read, reference, start, min_quality)])
