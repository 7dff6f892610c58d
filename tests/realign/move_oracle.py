"""Expected output of `hapgpu realign --reference`, read by read: an oracle for tests.

By docs/methods/realign.md, on the lines of SAM; shares no code with hapgpu except the reference
implementation of the aligner. The mate fields of records are not computed: `mate_claims` checks
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from tests.realign import gatk_projection as gatk
from tests.realign.realign_oracle import (
    Haplotype,
    Read,
    Record,
    Rules,
    aligned,
    aligned_read,
    edit_fields,
    first_of_best,
    is_enough,
    likelihood,
    original_fields,
    prepared,
    record_of,
    replaced_fields,
    score_fields,
)
from tests.realign.sam_records import Bases

FLANK = 64
ROOM = 32
PRICE = 2
MAX_GROWTH = 5
LONGEST_GAP = 12  # longer gaps count as this
OF_PAIRS = {"MC", "SA"}


class Loci:
    """Haplotypes and the reference; haplotypes that do not align with it are ignored."""

    def __init__(self, haplotypes: Sequence[Haplotype], reference: Path) -> None:
        self.reference = reference
        self.bases = Bases(reference)
        self._given = haplotypes
        self._intervals = {h.locus for h in haplotypes if h.locus}
        self._aligned: dict[str, bool] = {}

    @property
    def haplotypes(self) -> list[Haplotype]:
        return [h for h in self._given if self._aligns_with_reference(h)]

    def are_near(self, read: Read) -> bool:
        return any(read.overlaps(locus) for locus in self._intervals)

    def of(self, read: Read) -> list[Haplotype]:
        near = (h for h in self._given if h.locus and read.overlaps(h.locus))
        return [h for h in near if self._aligns_with_reference(h)]

    def longest_deletion(self, locus: tuple[str, int, int]) -> int:
        """Return the length of the reference at a locus less the shortest haplotype."""
        at_locus = (h for h in self._given if h.locus == locus)
        lengths = [len(h.bases) for h in at_locus if self._aligns_with_reference(h)]
        return max(0, locus[2] - locus[1] - min(lengths))

    def _aligns_with_reference(self, haplotype: Haplotype) -> bool:
        """Return whether a haplotype aligns with the reference; computed on first use."""
        if haplotype.name not in self._aligned:
            longer = extended(haplotype, (FLANK, FLANK), self.bases)
            cigar = haplotype_cigar(longer.window, longer.bases)
            self._aligned[haplotype.name] = cigar is not None
        return self._aligned[haplotype.name]


class Extended(NamedTuple):
    """A haplotype with reference flanks, and the reference over the same range."""

    bases: str
    window: str
    start: int
    flanks: tuple[int, int]


class Variant(NamedTuple):
    """Bases of a read to align, and the numbers of bases that stay clipped."""

    bases: str
    leading: int
    trailing: int


class Explained(NamedTuple):
    """An alignment with the reference: its score, and its different and clipped bases."""

    score: int
    differences: int


class Best(NamedTuple):
    """The best haplotype of a read, the clip variant of the read, and the second-best score."""

    haplotype: Haplotype
    extended: Extended
    variant: Variant
    second_score: int | None


@cache
def haplotype_cigar(window: str, bases: str) -> gatk.Cigar | None:
    return gatk.calculate_cigar(window, bases, PRESETS["haplotype-to-reference"], Overhang.SOFTCLIP)


def extended(haplotype: Haplotype, flanks: tuple[int, int], bases: Bases) -> Extended:
    """Extend a haplotype by flanks, at most to the ends of the contig."""
    assert haplotype.locus is not None
    contig, start, end = haplotype.locus
    left, right = min(flanks[0], start), min(flanks[1], bases.length(contig) - end)
    window = bases.fetch(contig, start - left, end + right)
    around = window[:left], window[len(window) - right :]
    return Extended(haplotype.bases.join(around), window, start - left, (left, right))


def flanks_for(read: Read, haplotype: Haplotype, loci: Loci) -> tuple[int, int]:
    """Return the lengths by which the haplotypes of a locus are extended for a read."""
    assert haplotype.locus is not None
    _, locus_start, locus_end = haplotype.locus
    leading, trailing = read.soft_clips
    start = int(read.columns[3]) - 1
    end = start + gatk.span(read.cigar, gatk.ON_REFERENCE) + trailing
    start -= leading
    first, last = min(start, end - len(read.bases)), max(end, start + len(read.bases))
    room = ROOM + loci.longest_deletion(haplotype.locus)
    return _rounded_up(locus_start - first + room), _rounded_up(last - locus_end + room)


def _rounded_up(length: int) -> int:
    return max(FLANK, -(-length // FLANK) * FLANK)


def alignment_cost(
    bases: str, cigar: gatk.Cigar, start: int, reference: str, scoring: Scoring
) -> Explained | None:
    """Return score and cost of an alignment; None with skips, pads, or beyond the contig."""
    if any(op in "NP" for _, op in cigar) or not bases:
        return None
    score = differences = on_read = 0
    at = start
    for length, op in cigar:
        if op in "M=X":
            pairs = list(
                zip(bases[on_read : on_read + length], reference[at : at + length], strict=False)
            )
            if at < 0 or len(pairs) < length:
                return None
            equal = sum(a == b for a, b in pairs)
            score += scoring.match * equal + scoring.mismatch * (length - equal)
            differences += length - equal
        elif op in "ID":
            score += scoring.gap_open + (length - 1) * scoring.gap_extend
        differences += length if op == "S" else 0
        differences += min(length, LONGEST_GAP) if op in "ID" else 0
        on_read += length if op in gatk.ON_READ else 0
        at += length if op in gatk.ON_REFERENCE else 0
    return Explained(score, differences) if on_read == len(bases) else None


def movable_read(line: str, loci: Loci, rules: Rules) -> Read | None:
    """Return the read of a line if it may move: if it is at a locus and differs from the reference.

    With `always`, a read that equals the reference may move, too.
    """
    read = Read(line.rstrip("\n").split("\t"))
    if not (rules.choose(read.flag) and read.is_mapped and read.bases and read.cigar):
        return None
    if not loci.are_near(read):
        return None
    old = _old_alignment(read, loci, rules)
    return read if old is not None and (old.differences or rules.always) else None


def _old_alignment(read: Read, loci: Loci, rules: Rules) -> Explained | None:
    contig, start = read.columns[2], int(read.columns[3]) - 1
    end = min(start + gatk.span(read.cigar, gatk.ON_REFERENCE), loci.bases.length(contig))
    window = loci.bases.fetch(contig, start, end)
    return alignment_cost(read.bases, read.cigar, 0, window, rules.scoring)


def expected_on_reference(line: str, loci: Loci, rules: Rules) -> Record:
    """Return the output record of a SAM line: unchanged, unless its read moves."""
    read = movable_read(line, loci, rules)
    moved = read and _moved(read, loci, rules)
    return moved or record_of(line)


def apart_from_mates(record: Record) -> Record:
    """Remove the fields that depend on moves of other records."""
    columns = list(record.columns)
    columns[1] = str(int(columns[1]) & ~2)
    columns[7:9] = "", ""
    if int(columns[1]) & 4:  # it moves along
        columns[3] = ""
    return Record(tuple(columns), frozenset(x for x in record.fields if x[:2] not in OF_PAIRS))


def _moved(read: Read, loci: Loci, rules: Rules) -> Record | None:
    if not loci.of(read):
        return None
    best = _best(read, loci, rules)
    alignment = aligned(best.extended.bases, best.variant.bases, rules.scoring)
    if not is_enough(alignment.score, read, rules):
        return None
    projected = _projected(best.haplotype, best.extended, best.variant.bases, loci.bases, rules)
    if projected is None:
        return None
    start, inner = projected
    cigar = _clipped(read, best.variant, inner)
    if not rules.always:
        start, cigar = _without_end_insertions(start, cigar)
    if (start, _plain(cigar)) == (int(read.columns[3]) - 1, _plain(read.cigar)):
        return None
    within = start - best.extended.start
    new = alignment_cost(read.bases, cigar, within, best.extended.window, rules.scoring)
    old = _old_alignment(read, loci, rules)
    assert old is not None
    if not rules.always and not (
        new and _is_gain_enough(alignment.score - old.score, old, new, rules)
    ):
        return None
    replaced = replaced_fields(read)
    fields = [
        *(text for text in read.columns[11:] if text[:2] not in replaced),
        *original_fields(read),
        *score_fields(alignment.score, best.second_score),
        *edit_fields(read.bases, cigar, within, best.extended.window),
    ]
    columns = [*read.columns[:11]]
    columns[3], columns[5] = str(start + 1), gatk.spell(cigar)
    return Record(tuple(columns), frozenset(fields))


def _is_gain_enough(gain: int, old: Explained, new: Explained, rules: Rules) -> bool:
    growth = new.differences - old.differences
    price = PRICE * (rules.scoring.match - rules.scoring.mismatch)
    return gain > 0 and gain >= price * growth and growth <= MAX_GROWTH


def _best(read: Read, loci: Loci, rules: Rules) -> Best:
    """Choose the haplotype; by likelihood, with the clip variant of the best by score."""
    candidates = loci.of(read)
    longer = [extended(h, flanks_for(read, h, loci), loci.bases) for h in candidates]
    variants = [_best_variant(read, x, rules) for x in longer]
    scores = [
        aligned(x.bases, v.bases, rules.scoring).score
        for x, v in zip(longer, variants, strict=True)
    ]
    best = scores.index(max(scores))
    variant = variants[best]
    if rules.by_likelihood and len(candidates) > 1:
        part = slice(variant.leading, len(read.bases) - variant.trailing)
        columns = prepared(read, read.bases, read.columns[10], part)
        best = first_of_best([likelihood(columns, x.bases) for x in longer], rules)
    others = scores[:best] + scores[best + 1 :]
    return Best(candidates[best], longer[best], variant, max(others, default=None))


def _best_variant(read: Read, on: Extended, rules: Rules) -> Variant:
    """Align a clipped end if that scores higher than clipping it."""
    variants = list(_variants(read, rules))
    scores = [aligned(on.bases, v.bases, rules.scoring).score for v in variants]
    return variants[scores.index(max(scores))]


def _variants(read: Read, rules: Rules) -> Iterator[Variant]:
    """Yield a read with its clips, without the clip at its end, at its start, and at both."""
    leading, trailing = (0, 0) if rules.always else read.soft_clips
    ends = [dict.fromkeys((clip, 0)) for clip in (leading, trailing)]
    for left, right in product(*ends):
        if bases := read.bases[left : len(read.bases) - right]:
            yield Variant(bases, left, right)


def _projected(
    haplotype: Haplotype, on: Extended, bases: str, reference: Bases, rules: Rules
) -> tuple[int, gatk.Cigar] | None:
    """Project the alignment with a haplotype onto the reference; None where GATK gives up."""
    near = extended(haplotype, (FLANK, FLANK), reference)
    cigar = haplotype_cigar(near.window, near.bases)
    assert cigar is not None
    left, right = (wide - narrow for wide, narrow in zip(on.flanks, near.flanks, strict=True))
    _, offset, to_haplotype = aligned(on.bases, bases, rules.scoring)
    whole = [(left, "M"), *cigar, (right, "M")]
    try:
        start, projected = gatk.project(
            bases, to_haplotype, offset, whole, on.window, clip_ends=not rules.always
        )
    except gatk.GatkError:
        return None
    return on.start + start, projected


def _clipped(read: Read, variant: Variant, inner: gatk.Cigar) -> gatk.Cigar:
    hard = [[part for part in clips if part[1] == "H"] for clips in read.clips]
    soft = [[(n, "S")] * (n > 0) for n in (variant.leading, variant.trailing)]
    return [*hard[0], *soft[0], *inner, *soft[1], *hard[1]]


def _without_end_insertions(start: int, cigar: gatk.Cigar) -> tuple[int, gatk.Cigar]:
    """Clip insertions at the ends, and remove deletions next to them."""
    aligned_at = [k for k, (_, op) in enumerate(cigar) if op in "M=X"]
    if not aligned_at:
        return start, cigar
    first, last = aligned_at[0], aligned_at[-1] + 1
    start += gatk.span(cigar[:first], "D")
    outer = []
    for part in (cigar[:first], cigar[last:]):
        clips = [(gatk.span(part, "H"), "H"), (gatk.span(part, "SI"), "S")]
        outer.append([clip for clip in clips if clip[0]])
    return start, [*outer[0], *cigar[first:last], *outer[1][::-1]]


def _plain(cigar: gatk.Cigar) -> list[str]:
    """Spell each operation; matches and mismatches are the same."""
    return ["M" if op in "=X" else op for length, op in cigar for _ in range(length)]


def expected_of_fastq(line: str, loci: Loci, rules: Rules) -> Record:
    """Return the record of a read without an alignment, given as an unmapped line."""
    read = Read(line.rstrip("\n").split("\t"))
    unmapped = record_of(line)
    if not read.bases:
        return unmapped
    around = len(read.bases) + ROOM
    flanks = (_rounded_up(around), _rounded_up(around))
    longer = [extended(h, flanks, loci.bases) for h in loci.haplotypes]
    everything = slice(0, len(read.bases))
    alignments = [aligned_read(read, Haplotype("", x.bases), everything, rules) for x in longer]
    best = first_of_best([p.value for p in alignments], rules)
    score = alignments[best].alignment.score
    bases, haplotype = alignments[best].bases, loci.haplotypes[best]
    projected = _projected(haplotype, longer[best], bases, loci.bases, rules)
    if not is_enough(score, read, rules) or projected is None:
        return unmapped
    start, cigar = _without_end_insertions(*projected)
    others = [p.alignment.score for k, p in enumerate(alignments) if k != best]
    fields = [
        *read.columns[11:],
        *score_fields(score, max(others, default=None)),
        *edit_fields(bases, cigar, start - longer[best].start, longer[best].window),
    ]
    assert haplotype.locus is not None
    alignment = (haplotype.locus[0], str(start + 1), "255", gatk.spell(cigar))
    columns = (read.columns[0], str(alignments[best].turned), *alignment, "*", "0", "0", bases)
    return Record((*columns, alignments[best].qualities), frozenset(fields))
