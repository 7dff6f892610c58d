"""Mutations at the level of records and fields, the same for the same random numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from tests.fuzz.inputs.fields import INTEGERS, Document, Field, Record

_EDGES: Final = sorted(
    {sign * ((1 << bits) + more) for bits in (0, 7, 8, 15, 16, 24, 28, 29, 30, 31, 32, 40, 62, 63)
     for more in (-1, 0, 1) for sign in (-1, 1)}
)  # fmt: skip
_NUMBERS: Final = [
    b"", b"-", b"+1", b"-0", b"007", b"1.5", b"1e9", b"1e309", b"-1e-320", b"nan", b"inf", b"0x1F",
    b"1_000", b"1,000", b"9" * 10, b"9" * 30, b"9" * 400, "٣".encode(), b" 1", b"1 ", b".", b"*",
]  # fmt: skip
_SPECIAL: Final = [
    b"\0", b"\t", b"\n", b"\r", b"\r\n", b" ", b"\x0b", b"\x1b", b"\x7f", b"\x80", b"\xff",
    "é".encode(), b"\xef\xbb\xbf", b":", b";", b",", b"=", b"|", b"/", b"\\", b"*", b".", b"<",
    b">", b"[", b"]", b"(-)", b"::", b"{", b"}", b"%", b"'", b'"', b"@", b"+", b"#", b"##", b"N",
    b"-", b"!", b"~",
]  # fmt: skip
_JSON: Final = [
    None, True, False, 0, 1, -1, 2**31, 2**32, 2**63, 2**64, -(2**63), 10**30, 0.5, 1e308, "", "x",
    "é\n", "\ud800", [], [1], ["x"], [None], [[]], {}, {"x": 1}, ["chr1"] * 3, "9" * 40,
]  # fmt: skip
_TYPES: Final = b"AcCsSiIfZHBXdQ\0*"
_LONGEST: Final = 4096


def mutate(document: Document, other: Document, random: Random) -> Document:
    """Return a document with one to a few changes; `other` gives records to splice in."""
    changed = [list(record) for record in document]
    for _ in range(min(1 + int(random.expovariate(0.8)), 8)):
        change = _change_records if random.random() < 0.2 else _change_record
        change(changed, other, random)
    return changed


def _change_records(document: Document, other: Document, random: Random) -> None:
    """Delete, repeat, swap or splice in records."""
    size = len(document)
    at, to = (random.randrange(size) if size else 0 for _ in range(2))
    match random.randrange(6):
        case 0:
            del document[at : at + random.choice((1, 1, 2, size))]
        case 1:
            document[to:to] = [list(record) for record in document[at : at + 1]]
        case 2 if size:
            document[at], document[to] = document[to], document[at]
        case 3:
            first = random.randrange(len(other)) if other else 0
            document[at:at] = [list(record) for record in other[first : first + 2]]
        case 4:
            del document[at:]
        case _:
            document[at : at + 1] *= random.choice((2, 5, 40))


def _change_record(document: Document, other: Document, random: Random) -> None:
    """Change the fields of one record."""
    if not document:
        document.extend(list(record) for record in other)
        return
    # The first record is usually a header: as likely as all others together.
    record = document[0] if random.random() < 0.2 else random.choice(document)
    if not record:
        return
    at = random.randrange(len(record))
    kind = random.random()
    if kind < 0.8:
        record[at] = _changed(record[at], record, random)
    elif kind < 0.9:
        _change_fields(record, at, random)
    else:
        _fill(record, at, random)


def _change_fields(record: Record, at: int, random: Random) -> None:
    """Delete, repeat, swap or cut off fields."""
    to = random.randrange(len(record))
    match random.randrange(5):
        case 0:
            del record[at]
        case 1:
            record.insert(at, record[to])
        case 2:
            record[at], record[to] = record[to], record[at]
        case 3:
            del record[at:]
        case _:
            record[at : at + 1] *= random.choice((2, 3, 70))


def _fill(record: Record, at: int, random: Random) -> None:
    """Give several integers in a row the same value, reverse them or shift them."""
    end = random.choice((len(record), at + 1 + random.randrange(8)))
    rows = [k for k, field in enumerate(record[:end]) if k >= at and field.kind in INTEGERS]
    values = [record[k].value for k in rows]
    value = random.choice(_EDGES)
    match random.randrange(4):
        case 0:
            values = [value] * len(values)
        case 1:
            values = values[::-1]
        case 2:
            values = [old + value for old in values]
        case _:
            random.shuffle(values)
    for k, new in zip(rows, values, strict=True):
        record[k] = replace(record[k].with_value(new), is_frozen=True)


def _changed(field: Field, record: Record, random: Random) -> Field:
    """Return a field with another content."""
    if field.kind in INTEGERS or field.kind == "varint":
        return replace(field.with_value(_number(field.value, random)), is_frozen=True)
    change = _CHANGES.get(field.kind, _bytes)
    if random.random() < 0.1:
        alike = [each for each in record if each.kind == field.kind]
        return replace(random.choice(alike), role=field.role, is_frozen=True)
    data = change(field.data, random)
    return replace(field, data=data if change is _json else data[:_LONGEST], is_frozen=True)


def _number(value: int, random: Random) -> int:
    choice = random.random()
    if choice < 0.4:
        return random.choice(_EDGES)
    if choice < 0.7:
        return value + random.choice((-16, -4, -2, -1, 1, 2, 4, 16))
    if choice < 0.85:
        return value ^ 1 << random.randrange(32)
    return random.choice((0, -value, value * 2, value // 2, random.getrandbits(32)))


def _digits(data: bytes, random: Random) -> bytes:
    if random.random() < 0.4:
        return random.choice(_NUMBERS)
    value = int(data) if data.isdigit() and len(data) < 30 else 0
    return b"%d" % _number(value, random)


def _text(data: bytes, random: Random) -> bytes:  # noqa: PLR0911  (a case per kind of mutation)
    at = random.randrange(len(data) + 1)
    match random.randrange(7):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + random.choice(_SPECIAL) + data[at:]
        case 2:
            return random.choice(_SPECIAL)
        case 3:
            return data * random.choice((0, 2, 3, 90))
        case 4:
            return data.swapcase()
        case 5:
            return data[:at] + random.choice(_NUMBERS)
        case _:
            return _bytes(data, random)


def _bytes(data: bytes, random: Random) -> bytes:  # noqa: PLR0911  (a case per kind of mutation)
    if not data:
        return random.randbytes(random.choice((1, 2, 8)))
    at = random.randrange(len(data))
    match random.randrange(7):
        case 0:
            return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]
        case 1:
            return data[:at] + random.choice((b"\0", b"\xff", b"\x7f")) + data[at + 1 :]
        case 2:
            return data[:at]
        case 3:
            edge = random.choice(_EDGES) % (1 << 32)
            return data[:at] + edge.to_bytes(4, "little") + data[at + 4 :]
        case 4:
            return data[:at] + data[at:] * random.choice((2, 3, 50))
        case 5:
            return data[:at] + random.randbytes(random.choice((1, 3))) + data[at:]
        case _:
            return data[:at] + bytes([random.choice(_TYPES)]) + data[at + 1 :]


def _json(data: bytes, random: Random) -> bytes:
    """Change a value of JSON, or one within it."""
    value = json.loads(data)
    if isinstance(value, list) and value and random.random() < 0.6:
        value[random.randrange(len(value))] = random.choice(_JSON)
    elif isinstance(value, dict) and value and random.random() < 0.8:
        value[random.choice(sorted(value))] = random.choice(_JSON)
    elif isinstance(value, int) and random.random() < 0.6:
        value = _number(value, random)
    elif isinstance(value, str) and random.random() < 0.5:
        value = _text(value.encode("utf-8", "surrogatepass"), random).decode("utf-8", "replace")
    else:
        value = random.choice(_JSON)
    return json.dumps(value).encode()


_CHANGES: Final[dict[str, Callable[[bytes, Random], bytes]]] = {
    "number": _digits,
    "text": _text,
    "json": _json,
    "bytes": _bytes,
}


def damaged(data: bytes, random: Random) -> bytes:
    """Return a file, one in twenty of which is cut, flipped or continued."""
    if random.random() > 0.05:
        return data
    at = random.randrange(len(data) + 1)
    return random.choice((data[:at], _bytes(data, random), data + data[:at], data + b"\0" * 40))


def any_of(documents: Sequence[Document], random: Random) -> Document:
    """Return one of the documents."""
    return random.choice(documents) if documents else []
