"""Header of a file of arrays: JSON of which every value is checked."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

Header: TypeAlias = dict[str, Any]


def parsed_header(text: bytes) -> Header:
    """Parse a header.

    Raises
    ------
    ValueError
        The text is not JSON, or not an object.
    """
    try:
        header = json.loads(text)
    except (RecursionError, ValueError) as error:
        message = "its header is not JSON"
        raise ValueError(message) from error
    if not isinstance(header, dict):
        message = "its header is not a JSON object"
        raise ValueError(message)  # noqa: TRY004  (a fault of the file, not of the program)
    return header


def whole_of(header: Header, key: str) -> int:
    """Return the integer of a key.

    Raises
    ------
    ValueError
        There is no integer.
    """
    value = header.get(key)
    if type(value) is not int:  # bool is a subclass of int
        raise _without(key)
    return value


def flag_of(header: Header, key: str) -> bool:
    """Return the boolean of a key.

    Raises
    ------
    ValueError
        There is no boolean.
    """
    value = header.get(key)
    if not isinstance(value, bool):
        raise _without(key)
    return value


def bytes_of(header: Header, key: str) -> bytes:
    """Return the bytes of a key, stored as hexadecimal digits.

    Raises
    ------
    ValueError
        There are no hexadecimal digits.
    """
    value = header.get(key)
    if not isinstance(value, str):
        raise _without(key)
    try:
        return bytes.fromhex(value)
    except ValueError:
        raise _without(key) from None


def names_of(header: Header, key: str) -> tuple[str, ...]:
    """Return the names of a key; they are unique and can be encoded.

    Raises
    ------
    ValueError
        There is no list of such names.
    """
    value = header.get(key)
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise _without(key)
    try:
        "".join(value).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _without(key) from None
    if len(set(value)) < len(value):
        raise _without(key)
    return tuple(value)


def records_of(header: Header, key: str) -> list[Header]:
    """Return the objects of a key.

    Raises
    ------
    ValueError
        There is no list of objects.
    """
    value = header.get(key)
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise _without(key)
    return value


def _without(key: str) -> ValueError:
    return ValueError(f"its header has no valid {key}")
