"""Reads as plain rows: from our columns, from pysam, and made up by hypothesis."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pysam
from hypothesis import strategies as st

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged

TagValue = str | int | float | array
QUERY_OPERATIONS = (0, 1, 4, 7, 8)
_SIZES = {"c": 1, "C": 1, "s": 2, "S": 2, "i": 4, "I": 4, "f": 4}
_FORMATS = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "f": "f"}
_RANGES = {
    "c": (-(2**7), 2**7 - 1),
    "C": (0, 2**8 - 1),
    "s": (-(2**15), 2**15 - 1),
    "S": (0, 2**16 - 1),
    "i": (-(2**31), 2**31 - 1),
    "I": (0, 2**32 - 1),
}


@dataclass(frozen=True)
class Row:
    """One read; `tags` are (name, type, value) in the order of the file."""

    name: str
    flag: int
    reference: int
    position: int
    mapping_quality: int
    cigar: tuple[tuple[int, int], ...]
    mate_reference: int
    mate_position: int
    template_length: int
    bases: str
    qualities: tuple[int, ...] | None
    tags: tuple[tuple[str, str, TagValue], ...]


def pysam_rows(records: Iterable[pysam.AlignedSegment]) -> list[Row]:
    return [_pysam_row(record) for record in records]


def rows_of_file(path: Path | str) -> list[Row]:
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        return pysam_rows(file.fetch(until_eof=True))


def _pysam_row(record: pysam.AlignedSegment) -> Row:
    return Row(
        name=record.query_name or "*",
        flag=record.flag,
        reference=record.reference_id,
        position=record.reference_start,
        mapping_quality=record.mapping_quality,
        cigar=tuple(record.cigartuples or ()),
        mate_reference=record.next_reference_id,
        mate_position=record.next_reference_start,
        template_length=record.template_length,
        bases=record.query_sequence or "",
        qualities=tuple(record.query_qualities) if record.query_qualities is not None else None,
        tags=tuple(_pysam_tags(record)),
    )


def _pysam_tags(record: pysam.AlignedSegment) -> Iterator[tuple[str, str, TagValue]]:
    for name, value, kind in record.get_tags(with_value_type=True):
        # pysam returns the type I as if it were signed.
        yield name, kind, value % 2**32 if kind == "I" else value


def batch_rows(batches: Iterable[ReadBatch]) -> list[Row]:
    return [_batch_row(batch, k) for batch in batches for k in range(len(batch))]


def _batch_row(batch: ReadBatch, k: int) -> Row:
    qualities = batch.qualities[k]
    missing = qualities.size == 0 or qualities[0] == 255
    if missing:
        assert (qualities == 255).all()
    return Row(
        name=batch.names[k].tobytes().decode(),
        flag=int(batch.flags[k]),
        reference=int(batch.reference_ids[k]),
        position=int(batch.positions[k]),
        mapping_quality=int(batch.mapping_qualities[k]),
        cigar=tuple((int(c) & 15, int(c) >> 4) for c in batch.cigars[k]),
        mate_reference=int(batch.mate_reference_ids[k]),
        mate_position=int(batch.mate_positions[k]),
        template_length=int(batch.template_lengths[k]),
        bases=batch.bases[k].tobytes().decode(),
        qualities=None if missing else tuple(qualities.tolist()),
        tags=tuple(_decoded_tags(batch.tags[k].tobytes())),
    )


def _decoded_tags(data: bytes) -> Iterator[tuple[str, str, TagValue]]:
    at = 0
    while at < len(data):
        name, kind = data[at : at + 2].decode(), chr(data[at + 2])
        at += 3
        if kind == "A":
            yield name, kind, chr(data[at])
            at += 1
        elif kind in "ZH":
            end = data.index(0, at)
            yield name, kind, data[at:end].decode()
            at = end + 1
        elif kind == "B":
            element = chr(data[at])
            (count,) = struct.unpack_from("<i", data, at + 1)
            end = at + 5 + count * _SIZES[element]
            yield name, kind, array(_FORMATS[element], data[at + 5 : end])
            at = end
        else:
            yield name, kind, struct.unpack_from(f"<{_FORMATS[kind]}", data, at)[0]
            at += _SIZES[kind]


def encoded_tags(tags: Iterable[tuple[str, str, TagValue]]) -> bytes:
    return b"".join(name.encode() + _encoded_tag(kind, value) for name, kind, value in tags)


def _encoded_tag(kind: str, value: TagValue) -> bytes:
    if isinstance(value, array):
        element = next(k for k, code in _FORMATS.items() if code == value.typecode)
        return b"B" + element.encode() + struct.pack("<i", len(value)) + value.tobytes()
    if isinstance(value, str):
        return kind.encode() + value.encode() + (b"" if kind == "A" else b"\0")
    return kind.encode() + struct.pack(f"<{_FORMATS[kind]}", value)


def batch_of(rows: Sequence[Row]) -> ReadBatch:
    def column(values: Iterable[int], dtype: type[np.generic]) -> np.ndarray:
        return np.array(list(values), dtype=dtype)

    cigars = [[length << 4 | operation for operation, length in row.cigar] for row in rows]
    lengths = [len(row.bases) for row in rows]
    missing = [row.qualities or (255,) * len(row.bases) for row in rows]
    return ReadBatch(
        names=Ragged.from_sequences(row.name for row in rows),
        flags=column((row.flag for row in rows), np.uint16),
        reference_ids=column((row.reference for row in rows), np.int32),
        positions=column((row.position for row in rows), np.int32),
        mapping_qualities=column((row.mapping_quality for row in rows), np.uint8),
        cigars=Ragged.from_lengths(
            column((c for cigar in cigars for c in cigar), np.uint32), list(map(len, cigars))
        ),
        mate_reference_ids=column((row.mate_reference for row in rows), np.int32),
        mate_positions=column((row.mate_position for row in rows), np.int32),
        template_lengths=column((row.template_length for row in rows), np.int32),
        bases=Ragged.from_sequences(row.bases for row in rows),
        qualities=Ragged.from_lengths(column((q for m in missing for q in m), np.uint8), lengths),
        tags=Ragged.from_sequences(encoded_tags(row.tags) for row in rows),
    )


def _short_floats() -> st.SearchStrategy[float]:
    """Numbers with at most six digits, as samtools writes no more."""
    return st.integers(-4000, 4000).map(lambda k: k / 4)


@cache  # building a strategy is slower than drawing from it
def _tag_values() -> st.SearchStrategy[tuple[str, TagValue]]:
    printable = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)
    numbers = [
        st.tuples(st.just(kind), st.integers(low, high)) for kind, (low, high) in _RANGES.items()
    ]
    arrays = [
        st.lists(st.integers(low, high), min_size=1, max_size=5).map(
            lambda values, code=_FORMATS[kind]: ("B", array(code, values))
        )
        for kind, (low, high) in _RANGES.items()
    ]
    return st.one_of(
        *numbers,
        *arrays,
        st.lists(_short_floats(), min_size=1, max_size=4).map(lambda v: ("B", array("f", v))),
        st.tuples(st.just("f"), _short_floats()),
        st.tuples(st.just("A"), st.sampled_from("!AZaz~")),
        st.tuples(st.just("Z"), printable),
        st.tuples(st.just("H"), st.sampled_from(["", "00", "1AE301"])),
    )


@cache
def _tag_names() -> st.SearchStrategy[list[str]]:
    name = st.from_regex(r"[A-Za-z][A-Za-z0-9]", fullmatch=True)
    return st.lists(name, max_size=5, unique=True)


@cache
def _cigars() -> st.SearchStrategy[list[tuple[int, int]]]:
    return st.lists(st.tuples(st.integers(0, 8), st.integers(0, 40)), max_size=6)


@cache
def _names() -> st.SearchStrategy[str]:
    letters = st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="@")
    return st.text(letters, min_size=1, max_size=254)


@st.composite
def _tags(draw: st.DrawFn) -> tuple[tuple[str, str, TagValue], ...]:
    names = draw(_tag_names())
    values = [draw(_tag_values()) for name in names if name != "CG"]
    kept = [name for name in names if name != "CG"]
    return tuple((name, kind, value) for name, (kind, value) in zip(kept, values, strict=True))


def _as_qualities(data: bytes) -> tuple[int, ...]:
    """Make qualities of bytes, which are drawn faster than as many numbers."""
    return tuple(value % 94 for value in data)


@st.composite
def rows(draw: st.DrawFn, references: int = 2) -> Row:
    """Draw any read that a BAM file can store, sensible or not."""
    cigar = tuple(draw(_cigars()) if draw(st.booleans()) else ())
    length = sum(size for operation, size in cigar if operation in QUERY_OPERATIONS)
    if not cigar:
        length = draw(st.integers(0, 60))
    elif draw(st.booleans()):
        length = 0
    letters = st.text(
        "ACGTN" if draw(st.booleans()) else "=ACMGRSVTWYHKDBN", min_size=length, max_size=length
    )
    scores = st.none()
    if length:
        scores = st.binary(min_size=length, max_size=length).map(_as_qualities)
    return Row(
        name=draw(_names()),
        flag=draw(st.integers(0, 4095)),
        reference=draw(st.integers(-1, references - 1)),
        position=draw(st.integers(-1, 2**29 - 1000)),
        mapping_quality=draw(st.integers(0, 255)),
        cigar=cigar,
        mate_reference=draw(st.integers(-1, references - 1)),
        mate_position=draw(st.integers(-1, 2**31 - 2)),
        template_length=draw(st.integers(-(2**31) + 1, 2**31 - 1)),
        bases=draw(letters),
        qualities=draw(st.one_of(st.none(), scores)),
        tags=draw(_tags()),
    )
