"""GZI: records are the number of blocks, and the offsets of each in the file and inflated."""

from __future__ import annotations

from random import Random

from tests.fuzz.inputs.fields import Cursor, Document, joined, with_roles


def split(data: bytes) -> Document:
    """Cut an index into its blocks."""
    cursor = Cursor(data)
    document = [[cursor.integer("Q", "blocks")]]
    while not cursor.is_done:
        document.append([cursor.integer("Q", "offset"), cursor.integer("Q", "start")])
    return document


def join(document: Document, random: Random) -> bytes:
    """Return the index; the number of blocks fits in most cases, unless it was changed."""
    blocks = sum(field.role == "start" for record in document for field in record)
    counts = {"blocks": blocks} if random.random() > 0.1 else {}
    return b"".join(joined(with_roles(record, counts)) for record in document)
