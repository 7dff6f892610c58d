"""NumPy's .npz: records are arrays, with the text of their headers and their numbers."""

from __future__ import annotations

import struct
import zipfile
from io import BytesIO
from random import Random
from typing import Final

from tests.fuzz.formats import text
from tests.fuzz.inputs.fields import Document, Field, Record, joined

_HEAD: Final = struct.Struct("<6sBBH")


def split(data: bytes) -> Document:
    """Cut an archive into its arrays."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return [_array(name, archive.read(name)) for name in archive.namelist()]


def _array(name: str, data: bytes) -> Record:
    *_, size = _HEAD.unpack_from(data)
    start = _HEAD.size + size
    header = text.splitter(1)(data[_HEAD.size : start].rstrip())[0]
    named = [Field("text", name.encode(), "name"), Field("bytes", data[:8], "magic")]
    described = [Field(field.kind, field.data, "header") for field in header]
    values = [Field("Q", data[at : at + 8], "item") for at in range(start, len(data), 8)]
    return [*named, *described, *values]


def join(document: Document, random: Random) -> bytes:
    """Return the archive; its checksums fit."""
    file = BytesIO()
    compression = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(file, "w", compression) as archive:
        seen: set[str] = set()
        for record in document:
            name = _part(record, "name").decode("latin-1").replace("\0", "0") or "-"
            if name not in seen:
                archive.writestr(zipfile.ZipInfo(name), _content(record))
            seen.add(name)
    return file.getvalue()


def _content(record: Record) -> bytes:
    header = _part(record, "header")
    header = header.ljust(len(header) + -(len(header) + _HEAD.size + 1) % 64) + b"\n"
    size = struct.pack("<H", len(header) % 65536)
    return _part(record, "magic") + size + header + _part(record, "item")


def _part(record: Record, role: str) -> bytes:
    return joined([field for field in record if field.role == role])
