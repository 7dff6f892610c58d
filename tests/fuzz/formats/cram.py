"""CRAM 3.0: records are container headers and blocks; their checksums are restored."""

from __future__ import annotations

import struct
import zlib
from random import Random
from typing import Final

from tests.fuzz.inputs.fields import Cursor, Document, Field, Record, joined

_DEFINITION_BYTES: Final = 26
_RAW, _GZIP = 0, 1


def split(data: bytes) -> Document:
    """Cut a file into its definition, and containers into a header and blocks each."""
    cursor = Cursor(data)
    document = [[cursor.take(_DEFINITION_BYTES, "bytes", "definition")]]
    while not cursor.is_done:
        header, blocks = _container(cursor)
        document.append(header)
        document += [_block(cursor) for _ in range(blocks)]
    return document


def _container(cursor: Cursor) -> tuple[Record, int]:
    record = [cursor.integer("i", "length")]
    record += [_varint(cursor) for _ in range(4)]
    record += [_varint(cursor, "long") for _ in range(2)]
    record += [blocks := _varint(cursor), count := _varint(cursor, "landmarks")]
    record += [_varint(cursor, "landmark") for _ in range(count.value)]
    cursor.take(4)
    return record, blocks.value


def _block(cursor: Cursor) -> Record:
    method, kind = cursor.integer("B", "method"), cursor.integer("B", "content_type")
    number, size, raw_size = (_varint(cursor, role) for role in ("", "size", "raw_size"))
    content = cursor.take(size.value).data
    cursor.take(4)
    if method.value == _GZIP:
        content = zlib.decompress(content, 31)
    half = len(content) // 2  # two fields: mutation can cut one of them only
    parts = [Field("bytes", content[:half], "content"), Field("bytes", content[half:], "content")]
    return [method, kind, number, size, raw_size, *parts]


def _varint(cursor: Cursor, role: str = "int") -> Field:
    """Cut off an ITF8, or LTF8 if it is `long`."""
    first = cursor.take(1).data[0]
    bits = 8 if role == "long" else 4
    more = next((k for k in range(bits) if not first << k & 0x80), bits)
    rest = cursor.take(more).data
    if role == "long":
        value = int.from_bytes(bytes([first & 0xFF >> min(more + 1, 8)]) + rest)
    elif more < bits:
        value = int.from_bytes(bytes([first & 0x7F >> more]) + rest)
    else:
        value = int.from_bytes(bytes([first & 0x0F]) + rest[:3]) << 4 | rest[3] & 0x0F
    if role != "long" and value >= 1 << 31:
        value -= 1 << 32
    return Field("varint", b"%d" % value, role or "int")


def _itf8(value: int) -> bytes:
    value %= 1 << 32
    for more in range(4):
        if value < 1 << 7 * (more + 1):
            head = 0xFF00 >> more & 0xFF
            return (value | head << 8 * more).to_bytes(more + 1)
    return bytes(
        [0xF0 | value >> 28, value >> 20 & 255, value >> 12 & 255, value >> 4 & 255, value & 15]
    )


def _ltf8(value: int) -> bytes:
    value %= 1 << 64
    for more in range(8):
        if value < 1 << 7 * (more + 1):
            head = 0xFF00 >> more & 0xFF
            return (value | head << 8 * more).to_bytes(more + 1)
    return b"\xff" + value.to_bytes(8)


def join(document: Document, random: Random) -> bytes:
    """Return the file: container lengths, block sizes and checksums fit, unless changed."""
    parts: list[bytes] = []
    containers: list[tuple[Record, list[bytes]]] = []
    for record in document:
        roles = {field.role for field in record}
        if "definition" in roles:
            parts.append(joined(record))
        elif "length" in roles:
            containers.append((record, []))
        elif containers:
            containers[-1][1].append(_joined_block(record, random))
    return b"".join([*parts, *(_joined_container(*each) for each in containers)])


def _joined_container(header: Record, blocks: list[bytes]) -> bytes:
    size = sum(map(len, blocks))
    fields = [
        field.with_value(size) if field.role == "length" and not field.is_frozen else field
        for field in header
    ]
    return _with_checksum(fields) + b"".join(blocks)


def _joined_block(record: Record, random: Random) -> bytes:
    content = joined([field for field in record if field.role == "content"])
    method = next((field.value for field in record if field.role == "method"), _RAW)
    body = content
    if method == _GZIP:
        deflate = zlib.compressobj(random.choice((0, 6)), zlib.DEFLATED, 31)
        body = deflate.compress(content) + deflate.flush()
    values = {"size": len(body), "raw_size": len(content)}
    fields = [
        field.with_value(values[field.role])
        if field.role in values and not field.is_frozen
        and (field.role == "size" or method in {_RAW, _GZIP})
        else field
        for field in record
        if field.role != "content"
    ]  # fmt: skip
    return _with_checksum([*fields, Field("bytes", body)])


def _with_checksum(record: Record) -> bytes:
    data = b"".join(_packed(field) for field in record)
    return data + struct.pack("<I", zlib.crc32(data))


def _packed(field: Field) -> bytes:
    if field.kind != "varint":
        return field.data
    return _ltf8(field.value) if field.role == "long" else _itf8(field.value)
