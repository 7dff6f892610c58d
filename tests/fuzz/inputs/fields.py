"""Files for mutation: documents of records of fields."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

INTEGERS: Final = "bBhHiIqQ"
"""The `struct` codes of fields that are little-endian integers."""


@dataclass(frozen=True, slots=True)
class Field:
    """A part of a record.

    Attributes
    ----------
    kind
        A code of `INTEGERS`, `f`, or one of `number` (digits), `text` (other characters), `json`
        (a value of a JSON header), `varint` (an integer that the format packs itself) and `bytes`.
    data
        As in the file; of a `varint` its decimal digits.
    role
        Its use when the format restores sizes and counts.
    is_frozen
        Whether mutation has set it, so that it stays wrong.
    """

    kind: str
    data: bytes
    role: str = ""
    is_frozen: bool = False

    @property
    def value(self) -> int:
        """The number in an integer field."""
        if self.kind in INTEGERS:
            return int(struct.unpack(f"<{self.kind}", self.data)[0])
        return int(self.data)

    def with_value(self, value: int) -> Field:
        """Return the field with another number, cut to its width."""
        if self.kind not in INTEGERS:
            return replace(self, data=b"%d" % value)
        size = len(self.data)
        return replace(self, data=(value % (1 << 8 * size)).to_bytes(size, "little"))


Record: TypeAlias = list[Field]
Document: TypeAlias = list[Record]


def integer(kind: str, value: int, role: str = "") -> Field:
    """Return an integer field."""
    return Field(kind, bytes(struct.calcsize(kind)), role).with_value(value)


def joined(record: Record) -> bytes:
    """Return the bytes of a record."""
    return b"".join(field.data for field in record)


def size_of(record: Record, *roles: str) -> int:
    """Return the size of the fields of these roles, in bytes."""
    return sum(len(field.data) for field in record if field.role in roles)


def with_roles(record: Record, values: dict[str, int]) -> Record:
    """Set the fields of some roles, except frozen fields."""
    return [
        field.with_value(values[field.role])
        if field.role in values and not field.is_frozen
        else field
        for field in record
    ]


class Cursor:
    """Cuts bytes into fields, from start to end; the last may be short."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def is_done(self) -> bool:
        return self.at >= len(self.data)

    def take(self, size: int, kind: str = "bytes", role: str = "") -> Field:
        """Cut off a field of `size` bytes."""
        part = self.data[self.at : self.at + size]
        self.at += size
        return Field(kind, part, role)

    def integer(self, kind: str, role: str = "") -> Field:
        """Cut off an integer."""
        return self.take(struct.calcsize(kind), kind, role)
