"""Checks of a record's claims about its mate and about other alignments of its read.

The rules of `samtools fixmate`, written independently: nothing here comes from hapgpu.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pysam

from tests.realign.sam_records import (
    MATE_REVERSE,
    MATE_UNMAPPED,
    NOT_PRIMARY,
    ON_REFERENCE,
    PAIRED,
    PROPER,
    REVERSE,
    SECONDARY,
    SEGMENT,
    UNMAPPED,
    Sam,
    read_records,
    span,
)

MATE_FLAGS = (MATE_UNMAPPED, MATE_REVERSE)

Violations = dict[str, str]
"""Errors of a record, by kind."""
Key = tuple[str, int, str, int]
Changes = dict[Key, dict[str, str]]
"""Changes of fixmate: the fields of each record with their values before and after."""


class BeforeAndAfter(Protocol):
    """A record of the input and its record in the output."""

    before: Sam
    after: Sam

    @property
    def has_moved(self) -> bool: ...


class Templates:
    """Records by the names and segments of their reads."""

    def __init__(self, records: Iterable[Sam]) -> None:
        self._records: dict[tuple[str, int], list[Sam]] = defaultdict(list)
        for record in records:
            self._records[record.name, record.flag & SEGMENT].append(record)

    def mates(self, record: Sam) -> list[Sam]:
        """Return the primary records of the other segment; several if reads occur twice."""
        segment = record.flag & SEGMENT
        if not record.flag & PAIRED or segment in {0, SEGMENT}:
            return []
        found = self._records.get((record.name, segment ^ SEGMENT), [])
        return [mate for mate in found if mate.is_primary]

    def others(self, record: Sam) -> list[Sam]:
        """Return the other alignments of the same read, except secondary ones."""
        found = self._records.get((record.name, record.flag & SEGMENT), [])
        return [x for x in found if x is not record and not x.flag & SECONDARY]


class Moves:
    """The reads that moved."""

    def __init__(self, matches: Iterable[BeforeAndAfter]) -> None:
        self._primary: set[tuple[str, int]] = set()
        self._any: set[tuple[str, int]] = set()
        for match in matches:
            if match.has_moved:
                key = match.before.name, match.before.flag & SEGMENT
                self._any.add(key)
                if match.before.is_primary:
                    self._primary.add(key)

    def of_mate(self, record: Sam) -> bool:
        """Whether the primary record of the other segment moved."""
        other = (record.flag & SEGMENT) ^ SEGMENT
        return bool(record.flag & PAIRED) and (record.name, other) in self._primary

    def of_read(self, record: Sam) -> bool:
        """Whether any alignment of the same read moved."""
        return (record.name, record.flag & SEGMENT) in self._any


def mate_findings(
    matches: Sequence[BeforeAndAfter], lost: Sequence[Sam] = ()
) -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and detail of errors of a record that its input record does not have.

    Records that were `lost` count as mates where they were, as nothing may have moved them.
    """
    inputs = Templates([*(match.before for match in matches), *lost])
    outputs = Templates([*(match.after for match in matches), *lost])
    for match in matches:
        if not match.before.flag & PAIRED and match.after.value("SA") is None:
            continue
        known = violations(match.before, inputs)
        for kind, detail in violations(match.after, outputs).items():
            if kind not in known:
                yield kind, match.after.name, detail
        yield from _proper_findings(match, outputs)
        yield from _orphan_findings(match, outputs)


def violations(record: Sam, templates: Templates) -> Violations:
    """Return the errors of a record about its mate and about other alignments."""
    found: Violations = {}
    mates = templates.mates(record)
    if mates:
        # If a read occurs twice, values of either are right.
        stated = [_of_mate(record, mate) for mate in mates]
        found = {
            kind: stated[0][kind]
            for kind in stated[0]
            if all(kind in other for other in stated[1:])
        }
    if wrong := _wrong_supplements(record, templates.others(record)):
        found["SA"] = wrong
    return found


def _of_mate(record: Sam, mate: Sam) -> Violations:
    flags = (bool(mate.flag & UNMAPPED), bool(mate.flag & REVERSE))
    stated: dict[str, tuple[object, object]] = {
        "RNEXT": (record.mate_contig, mate.contig),
        "PNEXT": (record.columns[7], mate.columns[3]),
        "flag 0x8": (bool(record.flag & MATE_UNMAPPED), flags[0]),
        "flag 0x20": (bool(record.flag & MATE_REVERSE), flags[1]),
        "MC": (record.value("MC") or mate.cigar_text, mate.cigar_text),
    }
    if not mate.is_unmapped:
        stated["MQ"] = (record.value("MQ") or mate.columns[4], mate.columns[4])
    if record.is_primary:
        stated["TLEN"] = (int(record.columns[8]), template_length(record, mate))
        if record.flag & PROPER:
            stated["flag 0x2"] = (True, may_be_proper(record, mate))
        if record.is_unmapped and not mate.is_unmapped:
            stated["position of unmapped"] = (record.columns[2:4], mate.columns[2:4])
    return {
        kind: f"{value}, not {expected} ({record.flag} {record.alignment}; mate {mate.alignment})"
        for kind, (value, expected) in stated.items()
        if value != expected
    }


def template_length(record: Sam, mate: Sam) -> int:
    """Return the distance between 5' ends, with fixmate's sign."""
    if record.is_unmapped or mate.is_unmapped or record.contig != mate.contig:
        return 0
    return _five_prime(mate) - _five_prime(record)


def may_be_proper(record: Sam, mate: Sam) -> bool:
    """Return whether mates face each other; fixmate clears 0x2 of other mates."""
    if record.is_unmapped or mate.is_unmapped or record.contig != mate.contig:
        return False
    if not (record.flag ^ mate.flag) & REVERSE:
        return False
    forward, reverse = (mate, record) if record.flag & REVERSE else (record, mate)
    return _five_prime(forward) <= _five_prime(reverse)


def _five_prime(record: Sam) -> int:
    """Return the position of the 5' end between bases, 0-based."""
    length = span(record.cigar, ON_REFERENCE) if record.flag & REVERSE else 0
    return record.position - 1 + length


def _proper_findings(match: BeforeAndAfter, templates: Templates) -> Iterator[tuple[str, str, str]]:
    """Check that 0x2 is never newly set, and cleared only where fixmate would clear it."""
    had, has = (bool(r.flag & PROPER) for r in (match.before, match.after))
    if has and not had:
        yield "flag 0x2", match.after.name, f"newly set ({match.after.alignment})"
    if had and not has and match.after.is_primary:
        mates = templates.mates(match.after)
        if mates and all(may_be_proper(match.after, mate) for mate in mates):
            yield (
                "flag 0x2",
                match.after.name,
                f"cleared ({match.after.alignment}; {mates[0].alignment})",
            )


def _orphan_findings(match: BeforeAndAfter, templates: Templates) -> Iterator[tuple[str, str, str]]:
    """Check that the fields about a mate outside the file do not change."""
    before, after = match.before, match.after
    if templates.mates(after):
        return
    pairs = [(before.mate_contig, after.mate_contig), (before.columns[7], after.columns[7])]
    pairs += [(f"{before.flag & x:#x}", f"{after.flag & x:#x}") for x in MATE_FLAGS]
    pairs += [(before.value(tag) or "", after.value(tag) or "") for tag in ("MC", "MQ")]
    for old, new in pairs:
        if old != new:
            yield "mate outside the file", after.name, f"{old} -> {new} ({after.alignment})"


def _wrong_supplements(record: Sam, others: Sequence[Sam]) -> str:
    """Return the entries of SA that match no other alignment in the file."""
    entries = [x.split(",") for x in (record.value("SA") or "").split(";") if x]
    if len(others) < len(entries):
        return ""  # some of them are not in the file
    wrong = [x for x in entries if not any(_agrees(x, other) for other in others)]
    return ";".join(",".join(entry) for entry in wrong)


def _agrees(entry: Sequence[str], other: Sam) -> bool:
    strand = "-" if other.flag & REVERSE else "+"
    expected = [
        other.contig,
        other.columns[3],
        strand,
        other.cigar_text.replace("H", "S"),
        other.columns[4],
        other.value("NM") or entry[5],
    ]
    return [*entry[:3], entry[3].replace("H", "S"), *entry[4:6]] == expected


def fixmate(path: Path, out: Path, reference: Path | None = None) -> Path:
    """Write a file after `samtools sort -n` and `samtools fixmate`, sorted by name."""
    by_name = out.with_suffix(".by_name.bam")
    options = ["--reference", str(reference)] if reference else []
    pysam.sort("-n", *options, "-o", str(by_name), str(path))
    pysam.samtools.fixmate("--no-PG", str(by_name), str(out))
    return by_name


def fixmate_changes(path: Path, directory: Path, reference: Path | None = None) -> Changes:
    """Return the changes of `samtools fixmate` in a file; the order of tags is ignored.

    Of a name with more than two primary records it pairs any two: such names are excluded.
    """
    out = directory / f"{path.name}.fixmate.bam"
    records = read_records(fixmate(path, out, reference))
    times = Counter(record.name for record in records if record.is_primary)
    before, after = _by_key(records), _by_key(read_records(out))
    changes: Changes = {}
    for key, record in before.items():
        if times[record.name] > 2:
            continue
        if key not in after:
            changes[key] = {"record": "lost"}
        elif changed := dict(_differences(record, after[key])):
            changes[key] = changed
    return changes


def new_fixmate_changes(before: Changes, after: Changes) -> Changes:
    """Return the changes of fields that fixmate does not also make in the input."""
    fresh: Changes = {}
    for key, fields in after.items():
        known: Mapping[str, str] = before.get(key, {})
        if changed := {name: text for name, text in fields.items() if name not in known}:
            fresh[key] = changed
    return fresh


def _by_key(records: Iterable[Sam]) -> dict[Key, Sam]:
    found: dict[Key, Sam] = {}
    times: dict[tuple[str, int, str], int] = defaultdict(int)
    for record in records:
        key = record.name, record.flag & (SEGMENT | NOT_PRIMARY), record.as_sequenced
        found[*key, times[key]] = record
        times[key] += 1
    return found


def _differences(before: Sam, after: Sam) -> Iterator[tuple[str, str]]:
    names = ("QNAME", "FLAG", "RNAME", "POS", "MAPQ", "CIGAR", "RNEXT", "PNEXT", "TLEN")
    for name, old, new in zip(names, before.columns, after.columns, strict=False):
        if old != new:
            yield name, f"{old} -> {new}"
    for tag in before.tags.keys() | after.tags.keys():
        if before.tags.get(tag) != after.tags.get(tag):
            yield tag, f"{before.tags.get(tag)} -> {after.tags.get(tag)}"
