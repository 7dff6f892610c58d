"""BAM: header, references and records, in BGZF."""

from __future__ import annotations

import re
from random import Random
from typing import Final

from tests.fuzz.formats.framing import bgzf, inflated
from tests.fuzz.inputs.fields import (
    Cursor,
    Document,
    Field,
    Record,
    integer,
    joined,
    size_of,
    with_roles,
)

_TAG_INTEGERS: Final = {b"c": "b", b"C": "B", b"s": "h", b"S": "H", b"i": "i", b"I": "I"}
_HEADER_TOKEN: Final = re.compile(rb"[0-9]+|[A-Za-z_]+|[\s\S]")


def split(data: bytes) -> Document:
    """Cut a BAM file into its header, its references and its records."""
    cursor = Cursor(inflated(data))
    header = [cursor.take(4), size := cursor.integer("i", "text_bytes")]
    text = cursor.take(size.value).data
    tokens = _HEADER_TOKEN.findall(text)
    header += [Field("number" if t.isdigit() else "text", t, "text") for t in tokens]
    header.append(count := cursor.integer("i", "references"))
    document = [header]
    for _ in range(count.value):
        length = cursor.integer("i", "name_bytes")
        name = cursor.take(length.value, "text", "reference_name")
        document.append([length, name, cursor.integer("i")])
    while not cursor.is_done:
        document.append(_split_record(cursor))
    return document


def _split_record(cursor: Cursor) -> Record:
    end = cursor.at + 4 + int.from_bytes(cursor.data[cursor.at : cursor.at + 4], "little")
    kinds = "iiiBBHHHiiii"
    roles = ("size", "", "", "name_bytes", "", "", "operations", "", "bases", "", "", "")
    record = [cursor.integer(kind, role) for kind, role in zip(kinds, roles, strict=True)]
    name_bytes, operations, bases = (record[k].value for k in (3, 6, 8))
    record.append(cursor.take(name_bytes, "bytes", "name"))
    record += [cursor.integer("I", "cigar") for _ in range(operations)]
    record.append(cursor.take((bases + 1) // 2, "bytes", "seq"))
    record.append(cursor.take(bases, "bytes", "qual"))
    while cursor.at < end:
        record += _split_tag(cursor)
    return record


def _split_tag(cursor: Cursor) -> Record:
    name = cursor.take(2, "bytes", "tag")
    kind = cursor.take(1, "bytes", "tag")
    if kind.data in _TAG_INTEGERS:
        return [name, kind, cursor.integer(_TAG_INTEGERS[kind.data], "tag")]
    if kind.data == b"B":
        subtype = cursor.take(1, "bytes", "tag")
        count = cursor.integer("i", "tag")
        code = _TAG_INTEGERS.get(subtype.data, "I")
        values = [cursor.integer(code, "tag") for _ in range(count.value)]
        return [name, kind, subtype, count, *values]
    if kind.data in {b"A", b"f"}:
        return [name, kind, cursor.take(1 if kind.data == b"A" else 4, "bytes", "tag")]
    size = cursor.data.index(b"\0", cursor.at) + 1 - cursor.at
    return [name, kind, cursor.take(size, "text", "tag")]


def join(document: Document, random: Random) -> bytes:
    """Return the file, with sizes and counts that fit, except changed ones."""
    references = sum(_is_reference(record) for record in document)
    parts = []
    for record in document:
        if _is_reference(record):
            values = {"name_bytes": size_of(record, "reference_name")}
        elif any(field.role == "size" for field in record):
            values = _counts(record)
        else:
            values = {"text_bytes": size_of(record, "text"), "references": references}
        parts.append(joined(with_roles(record, values)))
    return bgzf(b"".join(parts), random)


def _is_reference(record: Record) -> bool:
    return any(field.role == "reference_name" for field in record)


def _counts(record: Record) -> dict[str, int]:
    return {
        "size": len(joined(record)) - 4,
        "name_bytes": size_of(record, "name"),
        "operations": size_of(record, "cigar") // 4,
        "bases": size_of(record, "qual"),
    }


def change_several(document: Document, random: Random) -> None:
    """Change several fields together: read lengths, unknown operations, long CIGARs."""
    records = [r for r in document if any(field.role == "size" for field in r)]
    if not records or random.random() < 0.8:
        return
    record = random.choice(records)
    at = {field.role: k for k, field in enumerate(record)}
    match random.randrange(4):
        case 0 if "seq" in at and "qual" in at:
            bases = random.choice((0, 1, 2, 7, 200, 1001))
            record[at["seq"]] = Field("bytes", random.randbytes((bases + 1) // 2), "seq")
            record[at["qual"]] = Field(
                "bytes", random.choice((b"\xff", b"\x28", b"\0")) * bases, "qual"
            )
        case 1 if "cigar" in at:
            length, operation = random.choice((0, 1, 5, 2**28 - 1)), random.randrange(16)
            record[at["cigar"]] = integer("I", length << 4 | operation, "cigar")
        case 2:
            count = random.choice((1, 2, 3, 500))
            operations = [
                random.choice((0, 1, 5, 60)) << 4 | random.randrange(16) for _ in range(count)
            ]
            record += [Field("bytes", b"CGBI", "tag"), integer("i", count, "tag")]
            record += [integer("I", value, "tag") for value in operations]
        case _ if "name" in at:
            name = bytes(
                random.randrange(33, 127) for _ in range(random.choice((0, 1, 253, 254, 255)))
            )
            record[at["name"]] = Field("bytes", name + b"\0", "name")
