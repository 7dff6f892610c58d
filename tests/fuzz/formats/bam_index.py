"""BAI and CSI: records are bins, with their chunks, and linear indexes."""

from __future__ import annotations

from random import Random

from tests.fuzz.formats.framing import bgzf, inflated
from tests.fuzz.inputs.fields import Cursor, Document, Record, joined, with_roles


def split(data: bytes) -> Document:
    """Cut an index into its head, and for each reference a count, bins and the linear index."""
    is_csi = not data.startswith(b"BAI")
    cursor = Cursor(inflated(data) if is_csi else data)
    head = [cursor.take(4)]
    if is_csi:
        head += [cursor.integer("i"), cursor.integer("i"), size := cursor.integer("i")]
        head.append(cursor.take(size.value))
    head.append(references := cursor.integer("i"))
    document = [head]
    for _ in range(references.value):
        document.append([bins := cursor.integer("i", "bins")])
        document += [_split_bin(cursor, is_csi=is_csi) for _ in range(bins.value)]
        if not is_csi:
            linear = [cursor.integer("i", "offsets")]
            linear += [cursor.integer("Q", "offset") for _ in range(linear[0].value)]
            document.append(linear)
    document.append([cursor.take(len(cursor.data) - cursor.at)])
    return document


def _split_bin(cursor: Cursor, *, is_csi: bool) -> Record:
    record = [cursor.integer("I", "bin")]
    if is_csi:
        record.append(cursor.integer("Q", "floor"))
    record.append(chunks := cursor.integer("i", "chunks"))
    return [*record, *(cursor.integer("Q", "chunk") for _ in range(2 * chunks.value))]


def join(document: Document, random: Random) -> bytes:
    """Return the index, with counts that fit, except changed ones."""
    parts = []
    for at, record in enumerate(document):
        bins = 0
        while at + 1 + bins < len(document) and _is_bin(document[at + 1 + bins]):
            bins += 1
        counts = {
            "bins": bins,
            "chunks": sum(field.role == "chunk" for field in record) // 2,
            "offsets": sum(field.role == "offset" for field in record),
        }
        parts.append(joined(with_roles(record, counts)))
    data = b"".join(parts)
    return data if data.startswith(b"BAI") and random.random() < 0.95 else bgzf(data, random)


def _is_bin(record: Record) -> bool:
    return any(field.role == "bin" for field in record)
