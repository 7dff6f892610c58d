"""BCF: the header's text, and records of typed values, in BGZF or plain gzip."""

from __future__ import annotations

import gzip
import re
from random import Random
from typing import Final

from tests.fuzz.formats.framing import bgzf, inflated
from tests.fuzz.inputs.fields import Cursor, Document, Field, Record, joined, size_of, with_roles

_WIDTHS: Final = {1: 1, 2: 2, 3: 4, 5: 4, 7: 1}
_CODES: Final = {1: "b", 2: "h", 3: "i"}
_LONG: Final = 15
_TOKEN: Final = re.compile(rb"[0-9]+|[A-Za-z_]+|[\s\S]")


def split(data: bytes) -> Document:
    """Cut a BCF into its header and its records."""
    cursor = Cursor(inflated(data))
    header = [cursor.take(5), size := cursor.integer("I", "text_bytes")]
    tokens = _TOKEN.findall(cursor.take(size.value).data)
    header += [Field("number" if t.isdigit() else "text", t, "text") for t in tokens]
    document = [header]
    while not cursor.is_done:
        document.append(_split_record(cursor))
    return document


def _split_record(cursor: Cursor) -> Record:
    shared, individual = cursor.integer("I", "shared_bytes"), cursor.integer("I", "own_bytes")
    end = cursor.at + shared.value
    fixed = [cursor.integer(kind, "shared") for kind in "iii"]
    fixed.append(cursor.take(4, "f", "shared"))
    fixed += [cursor.integer("I", "shared"), counts := cursor.integer("I", "shared")]
    while cursor.at < end:
        fixed += _typed(cursor, "shared")
    end = cursor.at + individual.value
    while cursor.at < end:
        fixed += _typed(cursor, "own")
        fixed += _typed(cursor, "own", counts.value & 0xFFFFFF)
    return [shared, individual, *fixed]


def _typed(cursor: Cursor, role: str, samples: int = 1) -> Record:
    """Cut off a descriptor and its values."""
    head = cursor.integer("B", role)
    kind, count = head.value & 15, head.value >> 4
    record = [head]
    if count == _LONG:
        size = _typed(cursor, role)
        record += size
        count = size[-1].value
    values = count * samples
    if kind in _CODES:
        return record + [cursor.integer(_CODES[kind], role) for _ in range(values)]
    return [*record, cursor.take(values * _WIDTHS.get(kind, 0), "text", role)]


def join(document: Document, random: Random) -> bytes:
    """Return the file, with sizes that fit, except changed ones."""
    parts = []
    for record in document:
        sizes = {
            "text_bytes": size_of(record, "text"),
            "shared_bytes": size_of(record, "shared"),
            "own_bytes": size_of(record, "own"),
        }
        parts.append(joined(with_roles(record, sizes)))
    data = b"".join(parts)
    return bgzf(data, random) if random.random() < 0.95 else gzip.compress(data, mtime=0)
