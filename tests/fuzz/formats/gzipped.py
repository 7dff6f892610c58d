"""gzip members and BGZF blocks around a text; only the framing is mutated."""

from __future__ import annotations

import zlib
from random import Random
from typing import Final

from tests.fuzz.formats.framing import EOF_BLOCK
from tests.fuzz.inputs.fields import Cursor, Document, Field, Record, joined, size_of, with_roles

_EXTRA: Final = 4


def split(data: bytes) -> Document:
    """Cut a file into its members; their content stays a text."""
    cursor = Cursor(data)
    document = []
    while not cursor.is_done:
        document.append(_member(cursor))
    return document


def _member(cursor: Cursor) -> Record:
    record = [cursor.take(2), cursor.integer("B"), flags := cursor.integer("B")]
    record += [cursor.integer("I"), cursor.integer("B"), cursor.integer("B")]
    if flags.value & _EXTRA:
        record += [cursor.integer("H", "extra_bytes"), cursor.take(2, "bytes", "extra")]
        record += [cursor.integer("H", "extra"), cursor.integer("H", "block_bytes")]
    inflate = zlib.decompressobj(-15)
    content = inflate.decompress(cursor.data[cursor.at :])
    cursor.at = len(cursor.data) - len(inflate.unused_data)
    record.append(Field("text", content, "content"))
    return [*record, cursor.integer("I", "crc"), cursor.integer("I", "content_bytes")]


def join(document: Document, random: Random) -> bytes:
    """Return the file, with sizes and checksums that fit, except changed ones."""
    data = b"".join(_joined(record, random) for record in document)
    if random.random() < 0.1:
        data = data.removesuffix(EOF_BLOCK)
    return data + random.choice(
        (b"", b"", b"", b"", b"", b"", b"", b"", EOF_BLOCK, b"\0" * 9, b"x")
    )


def _joined(record: Record, random: Random) -> bytes:
    content = joined([field for field in record if field.role == "content"])
    deflate = zlib.compressobj(random.choice((0, 1, 6)), zlib.DEFLATED, -15)
    body = deflate.compress(content) + deflate.flush()
    if random.random() < 0.05:
        body = body[: random.randrange(len(body))] + random.choice((b"", b"\0", b"\xff" * 4))
    head = [field for field in record if field.role not in {"content", "crc", "content_bytes"}]
    values = {
        "extra_bytes": size_of(record, "extra", "block_bytes"),
        "block_bytes": len(joined(head)) + len(body) + 7,
        "crc": zlib.crc32(content),
        "content_bytes": len(content),
    }
    framed = [
        Field("bytes", body, "body") if field.role == "content" else field for field in record
    ]
    return joined(with_roles(framed, values))
