"""Checks of the records of a realigned file against the input and the reference.

Shares no code with hapgpu. A finding names its kind, the read and the fault.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tests.realign.mate_claims import Moves, mate_findings
from tests.realign.sam_records import (
    MATE_REVERSE,
    MATE_UNMAPPED,
    NOT_PRIMARY,
    ON_READ,
    ON_REFERENCE,
    PROPER,
    REVERSE,
    SEGMENT,
    UNMAPPED,
    Bases,
    Edits,
    Sam,
    edits_of,
    header_lines,
    read_records,
    span,
)

OF_PAIRS = PROPER | MATE_UNMAPPED | MATE_REVERSE
EXCLUDED = 0xF00
FROM_MATES = frozenset(("MC", "MQ"))
Locus = tuple[str, int, int]


class Finding(NamedTuple):
    """An error in a file."""

    kind: str
    name: str
    detail: str


@dataclass
class Match:
    """A record of the input and its record in the output."""

    before: Sam
    after: Sam

    @cached_property
    def has_moved(self) -> bool:
        """Whether the alignment changed; an unmapped read with its mate's position has none."""
        if self.before.is_unmapped and self.after.is_unmapped:
            return False
        return self.before.alignment != self.after.alignment


@dataclass
class Comparison:
    """An input and its realigned output, record by record."""

    before: list[Sam]
    after: list[Sam]
    bases: Bases
    headers: tuple[list[str], list[str]]
    matches: list[Match] = field(default_factory=list)
    lost: list[Sam] = field(default_factory=list)
    extra: list[Sam] = field(default_factory=list)

    @property
    def moved(self) -> list[Match]:
        return [match for match in self.matches if match.has_moved]

    def edits(self, match: Match) -> tuple[Edits, Edits]:
        """Return the alignments before and after of a read mapped in both files."""
        return edits_of(match.before, self.bases), edits_of(match.after, self.bases)


@dataclass(frozen=True)
class Rules:
    """Conditions of the output."""

    loci: Sequence[Locus] = ()
    """Intervals that reads must overlap with `loci_only`."""
    loci_only: bool = False
    always: bool = False
    """Whether reads may move to an alignment with a lower score."""


def compare(before: Path, after: Path, reference: Path) -> Comparison:
    """Pair the records of two files."""
    found = Comparison(
        read_records(before, reference),
        read_records(after, reference),
        Bases(reference),
        (header_lines(before), header_lines(after)),
    )
    found.lost, found.extra = found.before, found.after
    # A record with changed bases is matched by its name.
    for key in (_key, _name):
        found.lost, found.extra = _match(found, key)
    found.matches.sort(key=lambda match: match.before.row)
    return found


def _match(found: Comparison, key: Callable[[Sam], object]) -> tuple[list[Sam], list[Sam]]:
    """Match records of equal keys; return the records without a match."""
    groups: dict[object, tuple[list[Sam], list[Sam]]] = defaultdict(lambda: ([], []))
    for side, records in enumerate((found.lost, found.extra)):
        for record in records:
            groups[key(record)][side].append(record)
    all_lost, all_extra = [], []
    for inputs, outputs in groups.values():
        pairs, lost, extra = _paired(inputs, outputs)
        found.matches += pairs
        all_lost += lost
        all_extra += extra
    return all_lost, all_extra


def findings(
    before: Path, after: Path, reference: Path, rules: Rules | None = None
) -> list[Finding]:
    """Return all errors of the output."""
    return claims(compare(before, after, reference), rules or Rules())


def claims(found: Comparison, rules: Rules) -> list[Finding]:
    """Return all errors of a comparison."""
    return [
        *header_findings(found),
        *completeness_findings(found, rules),
        *order_findings(found),
        *record_findings(found, rules),
        *(Finding(*claim) for claim in mate_findings(found.matches, found.lost)),
    ]


def header_findings(found: Comparison) -> Iterator[Finding]:
    """Check that the header equals the input's, except @PG lines."""
    before, after = (
        [line for line in header if not line.startswith("@PG")] for header in found.headers
    )
    for line in before:
        if line not in after:
            yield Finding("header", "", f"lost: {line}")
    for line in after:
        if line not in before:
            yield Finding("header", "", f"added: {line}")


def completeness_findings(found: Comparison, rules: Rules) -> Iterator[Finding]:
    """Check that every record is written once; with `loci_only`, every record at a locus."""
    for record in found.extra:
        yield Finding("extra record", record.name, f"{record.flag} {record.alignment}")
    for record in found.lost:
        is_asked = not rules.loci_only or (
            not record.flag & EXCLUDED and any(record.overlaps(x) for x in rules.loci)
        )
        if is_asked:
            yield Finding("lost record", record.name, f"{record.flag} {record.alignment}")
    if rules.loci_only:
        for match in found.matches:
            if not any(match.before.overlaps(locus) for locus in rules.loci):
                yield Finding("not at a locus", match.before.name, str(match.before.alignment))


def order_findings(found: Comparison) -> Iterator[Finding]:
    """Check the order: by coordinate if the input is sorted, else the order of the input."""
    before, after = found.headers
    if any(line.startswith("@HD") and "SO:coordinate" in line for line in before):
        contigs = [x.split("\t") for x in after if x.startswith("@SQ")]
        ranks = {part[3:]: n for n, x in enumerate(contigs) for part in x if part[:3] == "SN:"}
        ranks["*"] = len(ranks)
        keys = [(ranks[r.contig], r.position) for r in found.after]
        names = [r.name for r in found.after]
    else:
        inverse = {id(m.after): m.before for m in found.matches}
        kept = [inverse[id(r)] for r in found.after if id(r) in inverse]
        keys, names = [(0, r.row) for r in kept], [r.name for r in kept]
    for number, (left, right) in enumerate(pairwise(keys), 1):
        if left > right:
            yield Finding("order", names[number], f"{right[1]} stands after {left[1]}")


def record_findings(found: Comparison, rules: Rules) -> Iterator[Finding]:
    """Check each record by itself."""
    moves = Moves(found.matches)
    for match in found.matches:
        yield from _kept_findings(match)
        if match.has_moved:
            yield from _moved_findings(match, found.bases, rules)
        else:
            for detail in _changes(match, moves):
                yield Finding("unmoved but changed", match.before.name, detail)


def _key(record: Sam) -> tuple[object, ...]:
    return record.name, record.flag & (SEGMENT | NOT_PRIMARY), record.as_sequenced


def _name(record: Sam) -> tuple[object, ...]:
    return record.name, record.flag & (SEGMENT | NOT_PRIMARY)


def _paired(inputs: list[Sam], outputs: list[Sam]) -> tuple[list[Match], list[Sam], list[Sam]]:
    """Match records of one key: equal ones, by position, by old position, then in order."""
    if len(inputs) == len(outputs) == 1:
        return [Match(inputs[0], outputs[0])], [], []
    pairs, inputs, outputs = [], list(inputs), list(outputs)
    for of_input, of_output in (
        (_whole, _whole),
        (_position_and_cigar, _position_and_cigar),
        (_position_and_cigar, _old_position_and_cigar),
        (_nothing, _nothing),
    ):
        for record in list(inputs):
            other = next((x for x in outputs if of_output(x) == of_input(record)), None)
            if other is not None:
                pairs.append(Match(record, other))
                inputs.remove(record)
                outputs.remove(other)
    return pairs, inputs, outputs


def _whole(record: Sam) -> tuple[object, ...]:
    return tuple(record.columns)


def _position_and_cigar(record: Sam) -> tuple[object, ...]:
    return record.position, record.cigar_text


def _old_position_and_cigar(record: Sam) -> tuple[object, ...]:
    return int(record.value("OP") or 0), record.value("OC")


def _nothing(_: Sam) -> tuple[object, ...]:
    return ()


def _kept_findings(match: Match) -> Iterator[Finding]:
    """Check the fields that realignment never changes; an unmapped read may become mapped."""
    before, after = match.before, match.after
    is_placed = before.is_unmapped and not after.is_unmapped
    kept = {"MAPQ": 4} if not is_placed else {}
    if not (before.flag ^ after.flag) & REVERSE:
        kept |= {"SEQ": 9, "QUAL": 10}
    for name, column in kept.items():
        if before.columns[column] != after.columns[column]:
            detail = f"{before.columns[column]} -> {after.columns[column]}"
            yield Finding(name, before.name, detail)
    free = OF_PAIRS | ((UNMAPPED | REVERSE) if is_placed else 0)
    if (before.flag ^ after.flag) & ~free:
        yield Finding("flag", before.name, f"{before.flag} -> {after.flag}")


def _moved_findings(match: Match, bases: Bases, rules: Rules) -> Iterator[Finding]:
    before, after = match.before, match.after
    if after.is_unmapped:
        if not before.is_unmapped:
            yield Finding("unmapped", after.name, f"was at {before.alignment}")
        return
    broken = list(cigar_faults(after, bases))
    for detail in broken:
        yield Finding("CIGAR", after.name, f"{after.cigar_text}: {detail}")
    if broken:
        return
    edits = edits_of(after, bases)
    expected = {"NM": str(edits.distance), "MD": edits.md}
    if not before.is_unmapped:
        expected |= {"OC": before.cigar_text, "OP": str(before.position)}
    for tag, value in expected.items():
        if after.value(tag) != value:
            yield Finding(tag, after.name, f"{after.value(tag)}, not {value}")
    if not before.is_unmapped:
        yield from _history_findings(match)
        yield from _score_findings(match, bases, rules)


def _history_findings(match: Match) -> Iterator[Finding]:
    """Check that the last entry of OA is the old alignment, after earlier entries."""
    before, after = match.before, match.after
    strand = "-" if before.flag & REVERSE else "+"
    expected = (
        f"{before.contig},{before.position},{strand},{before.cigar_text},"
        f"{before.columns[4]},{before.value('NM') or ''};"
    )
    expected = (before.value("OA") or "") + expected
    if after.value("OA") != expected:
        yield Finding("OA", after.name, f"{after.value('OA')}, not {expected}")


def _score_findings(match: Match, bases: Bases, rules: Rules) -> Iterator[Finding]:
    """Check that the new alignment scores at least as high as the old one."""
    score = match.after.value("AS")
    if score is None:
        yield Finding("AS", match.after.name, "is missing")
    elif not rules.always and int(score) < edits_of(match.before, bases).score:
        old = edits_of(match.before, bases).score
        yield Finding("score", match.after.name, f"{score}, was {old} ({match.before.alignment})")


def cigar_faults(record: Sam, bases: Bases) -> Iterator[str]:
    """Yield the errors in the CIGAR of a mapped record."""
    cigar = record.cigar
    if "".join(f"{length}{code}" for length, code in cigar) != record.cigar_text or not cigar:
        yield "cannot be read"
        return
    if record.bases and span(cigar, ON_READ) != len(record.bases):
        yield f"consumes {span(cigar, ON_READ)} of {len(record.bases)} bases"
    end = record.position - 1 + span(cigar, ON_REFERENCE)
    if record.position < 1 or end > bases.length(record.contig):
        yield f"from {record.position} to {end}, beyond {record.contig}"
    if any(length == 0 for length, _ in cigar):
        yield "an operation of length 0"
    if any(a[1] == b[1] for a, b in pairwise(cigar)):
        yield "an operation twice"
    codes = [code for _, code in cigar]
    inner = "".join(codes).strip("SH")
    if not set(inner) & set("M=X"):
        yield "no base is aligned"
    elif inner[0] in "DN" or inner[-1] in "DN":
        yield "a deletion at an end"
    if not re.fullmatch("H?S?[^HS]*S?H?", "".join(codes)):
        yield "clips in the middle"


def _changes(match: Match, moves: Moves) -> Iterator[str]:
    """Yield forbidden changes of a record that did not move."""
    before, after = match.before, match.after
    if before.raw and after.raw and _stored(before.raw) == _stored(after.raw):
        return
    by_mate, by_read = moves.of_mate(before), moves.of_read(before)
    columns = {"MAPQ": 4, "CIGAR": 5}
    if not by_mate:
        columns |= {"FLAG": 1, "RNAME": 2, "POS": 3, "RNEXT": 6, "PNEXT": 7, "TLEN": 8}
    for name, column in columns.items():
        if before.columns[column] != after.columns[column]:
            yield f"{name} {before.columns[column]} -> {after.columns[column]}"
    free = {*(FROM_MATES if by_mate else ()), *(["SA"] if by_read else ())}
    fields = [[x for x in r.columns[11:] if x[:2] not in free] for r in (before, after)]
    if fields[0] != fields[1]:
        lost, added = (sorted(set(x) - set(y)) for x, y in (fields, fields[::-1]))
        yield f"fields {lost} -> {added}" if lost or added else "order of fields"
    elif before.raw and after.raw and before.columns == after.columns:
        yield "stored bytes"


def _stored(raw: bytes) -> bytes:
    """Return the bytes of a BAM record except the bin, which depends on other fields."""
    return raw[:10] + raw[12:]
