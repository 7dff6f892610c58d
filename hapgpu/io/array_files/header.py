"""The header of a file of arrays: JSON in which nothing is taken for granted."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

Header: TypeAlias = dict[str, Any]


def parsed_header(text: bytes) -> Header:
    """Return the header that a text holds.

    Raises
    ------
    ValueError
        It is no JSON, or no object.
    """
    try:
        header = json.loads(text)
    except (RecursionError, ValueError) as error:
        message = "its header is no JSON"
        raise ValueError(message) from error
    if not isinstance(header, dict):
        message = "its header is no object of JSON"
        raise ValueError(message)  # noqa: TRY004  (what a file holds is no fault of the program)
    return header


def whole_of(header: Header, key: str) -> int:
    """Return a whole number.

    Raises
    ------
    ValueError
        There is none.
    """
    value = header.get(key)
    if type(value) is not int:  # a bool would be an int, too
        raise _without(key)
    return value


def flag_of(header: Header, key: str) -> bool:
    """Return what is true or false.

    Raises
    ------
    ValueError
        There is no such thing.
    """
    value = header.get(key)
    if not isinstance(value, bool):
        raise _without(key)
    return value


def bytes_of(header: Header, key: str) -> bytes:
    """Return the bytes that hexadecimal digits stand for.

    Raises
    ------
    ValueError
        There are none.
    """
    value = header.get(key)
    if not isinstance(value, str):
        raise _without(key)
    try:
        return bytes.fromhex(value)
    except ValueError:
        raise _without(key) from None


def names_of(header: Header, key: str) -> tuple[str, ...]:
    """Return names, each of them once, that can be written to a file.

    Raises
    ------
    ValueError
        There is no list of them.
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
    """Return a list of objects.

    Raises
    ------
    ValueError
        There is none.
    """
    value = header.get(key)
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise _without(key)
    return value


def _without(key: str) -> ValueError:
    return ValueError(f"its header has no valid {key}")
