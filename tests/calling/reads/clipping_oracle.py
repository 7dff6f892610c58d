"""Reads clipped to an active region: GATK's steps, read by read, on a column per base or gap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from tests.io.sam_oracle import Row

OPERATIONS = "MIDNSHP=X"

Column = tuple[str, int | None, int | None]
"""Operation, position on the reference and offset of the base in the record."""


@dataclass(frozen=True)
class Clipped:
    """A clipped read; `qualities` are those of the columns with a base."""

    row: Row
    number: int
    sample: int
    columns: tuple[Column, ...]
    qualities: tuple[int, ...]

    @property
    def bases(self) -> list[int]:
        return [base for _, _, base in self.columns if base is not None]

    @property
    def positions(self) -> list[int]:
        return [position for _, position, _ in self.columns if position is not None]

    @property
    def start(self) -> int:
        return self.positions[0]

    @property
    def end(self) -> int:
        return self.positions[-1] + 1

    @property
    def cigar(self) -> str:
        runs = [(op, len(list(run))) for op, run in groupby(self.columns, key=lambda c: c[0])]
        return "".join(f"{length}{op}" for op, length in runs)


def clipped_read(
    row: Row, number: int, sample: int, span: tuple[int, int], **options: Any
) -> Clipped | None:
    """Return a read clipped to a padded span, or None."""
    columns = _columns(row)
    aligned = [position for op, position, _ in columns if position is not None and op != "S"]
    if not (aligned[0] < span[1] and aligned[-1] >= span[0]):
        return None
    qualities = row.qualities or ()
    if options.get("use_soft_clips", True) and _is_well_defined(row, aligned[0], aligned[-1] + 1):
        columns = [("M" if op == "S" else op, at, base) for op, at, base in columns]
        columns = [column for column in columns if column[1] is None or column[1] >= 0]
    else:
        columns = [column for column in columns if column[0] != "S"]
    limit = options.get("min_base_quality", 10)
    columns = _shaved(columns, lambda c: c[2] is not None and qualities[c[2]] >= limit)
    columns = _without_adaptor(row, columns)
    columns = _between(columns, *span)
    if not _has_position(columns):
        return None
    bases = [base for _, _, base in columns if base is not None]
    return Clipped(row, number, sample, tuple(columns), tuple(qualities[base] for base in bases))


def _has_position(columns: Sequence[Column]) -> bool:
    return any(position is not None for _, position, _ in columns)


def _columns(row: Row) -> list[Column]:
    elements = [(OPERATIONS[op], length) for op, length in row.cigar]
    first = next(k for k, (op, _) in enumerate(elements) if op not in "SH")
    position = row.position - sum(length for op, length in elements[:first] if op == "S")
    columns: list[Column] = []
    base = 0
    for op, length in elements:
        for _ in range(length if op not in "HP" else 0):
            columns.append((op, None if op == "I" else position, None if op == "D" else base))
            position += op != "I"
            base += op != "D"
    return columns


def _is_well_defined(row: Row, start: int, end: int) -> bool:
    is_reverse, mate_is_reverse = bool(row.flag & 16), bool(row.flag & 32)
    if row.template_length == 0 or not _has_mate(row) or is_reverse == mate_is_reverse:
        return False
    # 1-based, as GATK: the end is the position of the last base.
    if is_reverse:
        return end > row.mate_position + 1
    return start + 1 <= row.mate_position + 1 + row.template_length


def _has_mate(row: Row) -> bool:
    has_position = row.mate_reference >= 0 and row.mate_position >= 0
    return bool(row.flag & 1) and not row.flag & 8 and has_position


def _shaved(columns: list[Column], stays: Callable[[Column], bool]) -> list[Column]:
    """Remove columns at both ends up to one that stays."""
    kept = [k for k, column in enumerate(columns) if stays(column)]
    return columns[kept[0] : kept[-1] + 1] if kept else []


def _without_adaptor(row: Row, columns: list[Column]) -> list[Column]:
    positions = [position for _, position, _ in columns if position is not None]
    if not positions or not _is_well_defined(row, positions[0], positions[-1] + 1):
        return columns
    if row.flag & 16:
        boundary = row.mate_position - 1
        is_inside = positions[0] <= boundary <= positions[-1]
        return _between(columns, boundary + 1, positions[-1] + 1) if is_inside else columns
    boundary = positions[0] + abs(row.template_length)
    is_inside = positions[0] <= boundary <= positions[-1]
    return _between(columns, positions[0], boundary) if is_inside else columns


def _between(columns: list[Column], start: int, end: int) -> list[Column]:
    """Remove columns before and after an interval, then gaps at the ends."""
    before = [k for k, (_, at, _) in enumerate(columns) if at is not None and at < start]
    after = [k for k, (_, at, _) in enumerate(columns) if at is not None and at >= end]
    kept = columns[before[-1] + 1 if before else 0 : after[0] if after else len(columns)]
    return _shaved(kept, lambda column: column[0] != "D")


def sort_key(read: Clipped) -> tuple[Any, ...]:
    row = read.row
    mate = (row.mate_reference, row.mate_position) if _has_mate(row) else (-1, -1)
    return (
        read.start,
        bool(row.flag & 16),
        row.name.encode(),
        row.flag,
        row.mapping_quality,
        mate,
        row.template_length,
        read.number,
    )


def with_lowered_overlaps(reads: Sequence[Clipped]) -> list[Clipped]:
    """Lower the qualities where mates overlap; `reads` are sorted."""
    qualities = [list(read.qualities) for read in reads]
    waiting: dict[tuple[int, str], int] = {}
    for k, read in enumerate(reads):
        if not _has_mate(read.row) or read.row.mate_position > read.end - 1:
            continue
        key = read.sample, read.row.name
        if key not in waiting:
            waiting[key] = k
            continue
        other = waiting.pop(key)
        first, second = (other, k) if reads[other].start < read.start else (k, other)
        _lower(reads[first], reads[second], qualities[first], qualities[second])
    return [replace(read, qualities=tuple(row)) for read, row in zip(reads, qualities, strict=True)]


def _lower(first: Clipped, second: Clipped, one: list[int], two: list[int]) -> None:
    if first.end - 1 < second.start:
        return
    i, j = _base_at(first, second.start), _base_at(second, second.start)
    count = 1 + min(
        _base_at(first, first.end - 1) - i,
        _base_at(second, second.end - 1) - j,
    )
    for t in range(count):
        base, other = (
            read.row.bases[read.bases[at]] for read, at in ((first, i + t), (second, j + t))
        )
        limit = 20 if base == other else 0
        one[i + t], two[j + t] = min(one[i + t], limit), min(two[j + t], limit)


def _base_at(read: Clipped, position: int) -> int:
    """Return the number of bases before a position; within a deletion, before it."""
    at = next(k for k, column in enumerate(read.columns) if column[1] == position)
    return sum(base is not None for _, _, base in read.columns[:at])


def finalized(
    rows: Sequence[Row], samples: Sequence[int], span: tuple[int, int], **options: Any
) -> list[Clipped]:
    """Return the reads of an active region, by its padded span."""
    clipped = (
        clipped_read(row, number, sample, span, **options)
        for number, (row, sample) in enumerate(zip(rows, samples, strict=True))
    )
    reads = [read for read in clipped if read is not None]
    return with_lowered_overlaps(sorted(reads, key=sort_key))


def reclipped(reads: Sequence[Clipped], span: tuple[int, int], min_bases: int) -> list[Clipped]:
    """Return the reads clipped again to a span, without short ones."""
    found = []
    for read in reads:
        columns = _between(list(read.columns), *span)
        quality_of = dict(zip(read.bases, read.qualities, strict=True))
        bases = [base for _, _, base in columns if base is not None]
        if _has_position(columns) and len(bases) >= min_bases:
            qualities = tuple(quality_of[base] for base in bases)
            found.append(replace(read, columns=tuple(columns), qualities=qualities))
    return sorted(found, key=sort_key)
