"""Expected output of `hapgpu realign`, read by read, from SAM lines: an oracle for tests.

In coordinates of the haplotypes; `move_oracle` has the coordinates of the reference. Shares no code
with hapgpu except the reference implementation of the aligner. Records are lists of the columns of
SAM text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np

from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from tests.pairhmm import preparation_oracle as hmm
from tests.pairhmm.clipping_oracle import clip
from tests.pairhmm.hmm_oracle import plain_likelihood
from tests.realign import gatk_projection as gatk
from tests.realign.align.reference import Alignment
from tests.realign.compiled_aligner import align

REPLACED = {"AS", "XS", "NM", "MD"}
OF_OLD_ALIGNMENT = {"OC", "OP", "OA"}
OF_MATES = {"MC", "MQ", "ms", "SA"}
TIES = 0.2  # of log10 likelihoods, as in GATK
COMPLEMENTS = str.maketrans("ACGTMRWSYKVHDBN", "TGCAKYWSRMBDHVN")


@dataclass(frozen=True)
class Haplotype:
    """A haplotype; with a locus, 0-based and half-open."""

    name: str
    bases: str
    locus: tuple[str, int, int] | None = None


@dataclass(frozen=True)
class Rules:
    """The options of the command."""

    scoring: Scoring = PRESETS["read-to-haplotype"]
    by_likelihood: bool = False
    min_score: float = 0.2
    write_all: bool = False
    always: bool = False
    required: int = 0
    excluded: int = 0xF00

    def choose(self, flag: int) -> bool:
        return flag & self.required == self.required and not flag & self.excluded


class Record(NamedTuple):
    """A record to compare: its eleven columns, and its fields in any order."""

    columns: tuple[str, ...]
    fields: frozenset[str]


def record_of(line: str) -> Record:
    columns = line.rstrip("\n").split("\t")
    return Record(tuple(columns[:11]), frozenset(columns[11:]))


@dataclass
class Read:
    """A SAM line, parsed."""

    columns: list[str]
    flag: int = field(init=False)
    cigar: gatk.Cigar = field(init=False)

    def __post_init__(self) -> None:
        self.flag = int(self.columns[1])
        self.cigar = gatk.parse(self.columns[5])

    @property
    def bases(self) -> str:
        return "" if self.columns[9] == "*" else self.columns[9]

    @property
    def is_mapped(self) -> bool:
        return not self.flag & 4

    @property
    def clips(self) -> tuple[gatk.Cigar, gatk.Cigar]:
        """Clips at both ends; none for unmapped reads."""
        if not self.is_mapped:
            return [], []
        ends = re.fullmatch(r"((?:\d+[HS])*).*?((?:\d+[HS])*)", self.columns[5])
        assert ends is not None
        return gatk.parse(ends[1]), gatk.parse(ends[2])

    @property
    def soft_clips(self) -> tuple[int, int]:
        leading, trailing = self.clips
        return gatk.span(leading, "S"), gatk.span(trailing, "S")

    def overlaps(self, locus: tuple[str, int, int]) -> bool:
        start = int(self.columns[3]) - 1
        length = gatk.span(self.cigar, gatk.ON_REFERENCE) if self.is_mapped else 1
        contig, first, end = locus
        return self.columns[2] == contig and start < end and start + max(length, 1) > first

    def part_at(self, locus: tuple[str, int, int] | None) -> tuple[int, int]:
        """Return the range of bases aligned within a locus, half-open."""
        if locus is None or not self.is_mapped:
            return 0, len(self.bases)
        return clip(int(self.columns[3]) - 1, self.columns[5], len(self.bases), locus[1:])

    def orientations(self) -> Iterator[tuple[str, str, int]]:
        """Yield bases and qualities in each orientation, and the change of the flag."""
        yield self.bases, self.columns[10], 0
        if not self.is_mapped:
            quality = self.columns[10]
            turned = quality if quality == "*" else quality[::-1]
            yield self.bases.translate(COMPLEMENTS)[::-1], turned, 16


class AlignedRead(NamedTuple):
    """A read aligned with one haplotype, in its better orientation."""

    haplotype: Haplotype
    bases: str
    qualities: str
    turned: int
    alignment: Alignment
    value: float


@cache
def aligned(haplotype: str, bases: str, scoring: Scoring) -> Alignment:
    return align(haplotype.encode(), bases.encode(), scoring, Overhang.SOFTCLIP)


@cache
def likelihood(columns: tuple[tuple[int, ...], ...], haplotype: str) -> float:
    bases, *qualities = (np.array(column, dtype=np.uint8) for column in columns)
    return plain_likelihood(bases, qualities, hmm.array_of(haplotype.upper()))


def expected(line: str, haplotypes: Sequence[Haplotype], rules: Rules) -> list[Record]:
    """Return the output records of the read of a SAM line; none if it is excluded."""
    read = Read(line.rstrip("\n").split("\t"))
    if not rules.choose(read.flag):
        return []
    candidates = [h for h in haplotypes if h.locus is None or read.overlaps(h.locus)]
    if not candidates:
        return []
    if not read.bases:
        return [_unmapped(read)]
    parts = _parts(read, candidates)
    alignments = [aligned_read(read, h, p, rules) for h, p in zip(candidates, parts, strict=True)]
    scores = [p.alignment.score for p in alignments]
    best = first_of_best([p.value for p in alignments], rules)
    if not is_enough(scores[best], read, rules):
        return [_unmapped(read)]
    others = scores[:best] + scores[best + 1 :]
    return [
        _written(read, p, max(others) if others and k == best else None, 0x100 * (k != best))
        for k, p in enumerate(alignments)
        if rules.write_all or k == best
    ]


def first_of_best(values: Sequence[float], rules: Rules) -> int:
    """Return the first of the best pairs; likelihoods that are close are ties."""
    worst = max(values) - TIES * rules.by_likelihood
    return next(k for k, value in enumerate(values) if value >= worst)


def is_enough(score: int, read: Read, rules: Rules) -> bool:
    return score >= rules.min_score * rules.scoring.match * len(read.bases)


def edit_tags(bases: str, cigar: gatk.Cigar, start: int, reference: str) -> tuple[int, str]:
    """Return NM and MD as samtools calmd: N equals nothing, not even N."""
    distance = run = 0
    text = ""
    at, on_read = start, 0
    for length, op in cigar:
        if op == "M":
            for base, other in zip(
                bases[on_read : on_read + length], reference[at : at + length], strict=True
            ):
                if base == other != "N":
                    run += 1
                else:
                    text, run, distance = f"{text}{run}{other}", 0, distance + 1
        elif op == "D":
            text, run = f"{text}{run}^{reference[at : at + length]}", 0
        distance += length if op in "ID" else 0
        on_read += length if op in "MIS" else 0
        at += length if op in "MD" else 0
    return distance, f"{text}{run}"


def score_of(bases: str, cigar: gatk.Cigar, start: int, reference: str, scoring: Scoring) -> int:
    """Return the score of an alignment."""
    score, at, on_read = 0, start, 0
    for length, op in cigar:
        if op == "M":
            pairs = zip(bases[on_read : on_read + length], reference[at : at + length], strict=True)
            score += sum(scoring.match if a == b else scoring.mismatch for a, b in pairs)
        elif op in "ID":
            score += scoring.gap_open + (length - 1) * scoring.gap_extend
        on_read += length if op in "MIS" else 0
        at += length if op in "MD" else 0
    return score


def _parts(read: Read, candidates: Sequence[Haplotype]) -> list[slice | None]:
    """Return the part of a read for each haplotype; None at loci with fewer of its bases.

    A read without bases at any locus counts with all of them.
    """
    parts = [read.part_at(haplotype.locus) for haplotype in candidates]
    most = max(end - start for start, end in parts)
    if most == 0:
        return [slice(0, len(read.bases))] * len(candidates)
    return [slice(start, end) if end - start == most else None for start, end in parts]


def aligned_read(read: Read, haplotype: Haplotype, part: slice | None, rules: Rules) -> AlignedRead:
    """Align a whole read in its better orientation; without a part, its likelihood is -inf."""
    best: AlignedRead | None = None
    for bases, qualities, turned in read.orientations():
        alignment = aligned(haplotype.bases, bases, rules.scoring)
        value: float = alignment.score
        if rules.by_likelihood:
            value = -np.inf
            if part is not None:
                value = likelihood(prepared(read, bases, qualities, part), haplotype.bases)
        if best is None or value > best.value:
            best = AlignedRead(haplotype, bases, qualities, turned, alignment, value)
    assert best is not None
    return best


def prepared(read: Read, bases: str, qualities: str, part: slice) -> tuple[tuple[int, ...], ...]:
    """Return letters and the four qualities of a part of a read, as of a whole read.

    An unmapped read has no MAPQ and no tags.
    """
    tags = {text[:2]: text[5:][part] for text in read.columns[11:] if read.is_mapped}
    phred = [ord(letter) - 33 for letter in qualities[part]]
    cap = int(read.columns[4]) if read.is_mapped else 255
    indels = tags.get("BI"), tags.get("BD")
    columns = hmm.prepare(bases[part], phred, cap, indels, hmm.Rules()).qualities
    return tuple(map(tuple, (bases[part].encode(), *columns)))


def _without_mate(flag: int) -> int:
    return flag & ~(0x2 | 0x8 | 0x20)


def _unmapped(read: Read) -> Record:
    """Return the unmapped record of a read with too low a score."""
    flag = (_without_mate(read.flag) | 4) & ~(0x100 | 0x800)
    columns = [read.columns[0], str(flag), "*", "0", "0", "*"]
    fields = [*_other_fields(read), *original_fields(read)]
    return Record((*columns, "*", "0", "0", *read.columns[9:11]), frozenset(fields))


def _written(read: Read, chosen: AlignedRead, second_score: int | None, secondary: int) -> Record:
    _, start, cigar = chosen.alignment
    flag = (_without_mate(read.flag) & ~4) ^ chosen.turned | secondary
    quality = read.columns[4] if read.is_mapped else "255"
    fields = [
        *_other_fields(read),
        *original_fields(read),
        *score_fields(chosen.alignment.score, second_score),
        *edit_fields(chosen.bases, cigar, start, chosen.haplotype.bases),
    ]
    name = chosen.haplotype.name
    columns = (read.columns[0], str(flag), name, str(start + 1), quality, gatk.spell(cigar))
    return Record((*columns, "*", "0", "0", chosen.bases, chosen.qualities), frozenset(fields))


def score_fields(score: int, second_score: int | None) -> list[str]:
    return [f"AS:i:{score}", *([] if second_score is None else [f"XS:i:{second_score}"])]


def edit_fields(bases: str, cigar: gatk.Cigar, start: int, reference: str) -> list[str]:
    distance, mismatches = edit_tags(bases, cigar, start, reference)
    return [f"NM:i:{distance}", f"MD:Z:{mismatches}"]


def _other_fields(read: Read) -> list[str]:
    replaced = replaced_fields(read)
    return [text for text in read.columns[11:] if text[:2] not in replaced | OF_MATES]


def replaced_fields(read: Read) -> set[str]:
    """Return the names of fields that a new alignment replaces; fewer for unmapped reads."""
    return REPLACED | OF_OLD_ALIGNMENT if read.is_mapped else REPLACED


def original_fields(read: Read) -> list[str]:
    """Return OC, OP and OA; OA after earlier entries, with NM only if the read has it."""
    if not read.is_mapped:
        return []
    _, _, contig, position, quality, cigar = read.columns[:6]
    strand = "-" if read.flag & 16 else "+"
    distances = [text[5:] for text in read.columns[11:] if text.startswith("NM:i:")]
    distance = distances[0] if distances else ""
    alignment = f"{contig},{position},{strand},{cigar},{quality},{distance};"
    earlier = "".join(text[5:] for text in read.columns[11:] if text.startswith("OA:Z:"))
    return [f"OC:Z:{cigar}", f"OP:i:{position}", f"OA:Z:{earlier}{alignment}"]
