"""Array files (`hapgpu.io.files`): records are entries of the header, and arrays."""

from __future__ import annotations

import json
import struct
import zlib
from random import Random
from typing import Any, Final

from tests.fuzz.inputs.fields import Document, Field, Record, joined

_PRELUDE: Final = struct.Struct("<8sIII")
_ALIGNMENT: Final = 64
_CODES: Final = {"<i8": "q", "<u8": "Q", "<u4": "I", "|u1": "B"}


def split(data: bytes) -> Document:
    """Cut a file into its prelude, the entries of its header and its arrays."""
    magic, version, size, _ = _PRELUDE.unpack_from(data)
    header = json.loads(data[_PRELUDE.size : _PRELUDE.size + size])
    start = _aligned(_PRELUDE.size + size)
    arrays = header.pop("arrays")
    del header["data_bytes"]
    prelude = [Field("bytes", magic, "magic"), Field("I", struct.pack("<I", version), "version")]
    entries = [_entry(name, value) for name, value in header.items()]
    return [prelude, *entries, *(_array(entry, data[start:]) for entry in arrays)]


def _entry(name: str, value: Any) -> Record:
    return [Field("text", name.encode(), "name"), Field("json", json.dumps(value).encode(), "json")]


def _array(entry: dict[str, Any], data: bytes) -> Record:
    code = _CODES[entry["dtype"]]
    width = struct.calcsize(code)
    start, items = entry["offset"], entry["items"]
    cuts = range(start, start + width * items, width)
    name = Field("text", entry["name"].encode(), "array")
    dtype = Field("text", entry["dtype"].encode(), "dtype")
    return [name, dtype, *(Field(code, data[at : at + width], "item") for at in cuts)]


def join(document: Document, random: Random) -> bytes:
    """Return the file; its checksums fit, and nearly always its sizes."""
    fields = {field.role: field.data for record in document[:1] for field in record}
    header: dict[str, Any] = {}
    entries, contents = [], []
    offset = 0
    for record in document:
        own = {field.role: field.data for field in record if field.role != "item"}
        if "array" in own:
            content = joined([field for field in record if field.role == "item"])
            entries.append(_directory_entry(own, content, offset))
            contents.append(content.ljust(_aligned(len(content)), b"\0"))
            offset += len(contents[-1])
        elif "json" in own:
            header[own.get("name", b"").decode("utf-8", "replace")] = json.loads(own["json"])
    header |= {"data_bytes": offset, "arrays": entries}
    _spoil(header, random)
    text = json.dumps(header, separators=(",", ":")).encode("utf-8", "surrogatepass")
    text = text if random.random() < 0.98 else text[:-1] + random.choice((b"", b",", b"\xff"))
    version = int.from_bytes(fields.get("version", b"\1")[:4], "little")
    prelude = _PRELUDE.pack(fields.get("magic", b""), version, len(text), zlib.crc32(text))
    return (prelude + text).ljust(_aligned(len(prelude + text)), b"\0") + b"".join(contents)


def _directory_entry(own: dict[str, bytes], content: bytes, offset: int) -> dict[str, Any]:
    dtype = own.get("dtype", b"").decode("latin-1")
    return {
        "name": own["array"].decode("latin-1"),
        "dtype": dtype,
        "offset": offset,
        "items": len(content) // struct.calcsize(_CODES.get(dtype, "B")),
        "crc32": [zlib.crc32(content)] if content else [],
    }


def _spoil(header: dict[str, Any], random: Random) -> None:
    """Give one file in twenty a wrong directory."""
    if random.random() > 0.05:
        return
    value = random.choice((None, -1, 0, 1, 2**40, 2**63, 1.5, "x", [], {}, [0] * 3))
    entries = header["arrays"]
    entry = random.choice(entries) if entries else {}
    part = random.choice((header, entry))
    if part:
        part[random.choice(sorted(part))] = value


def _aligned(size: int) -> int:
    return size + -size % _ALIGNMENT
