"""Files of arrays with correct checksums and wrong headers."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hapgpu.errors import InputError
from hapgpu.io.files.array_file import ArrayFormat, Arrays, Header, whole_of

PRELUDE = struct.Struct("<8sIII")
FORMAT = ArrayFormat(
    what="made file",
    magic=b"\x89MADE\r\n\n",
    version=3,
    dtypes={"first": np.uint32, "second": np.uint64, "third": np.uint32},
    remedy=lambda path: f"make {path.name}",
)
ARRAYS: Arrays = {
    "first": np.arange(16, dtype=np.uint32),
    "second": np.arange(8, dtype=np.uint64),
}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    FORMAT.save(tmp_path / "made", {"size": 24}, ARRAYS)
    return tmp_path / "made"


def load(path: Path) -> tuple[int, Arrays]:
    def make(header: Header, arrays: Arrays) -> tuple[int, Arrays]:
        return whole_of(header, "size"), {"first": arrays["first"], "second": arrays["second"]}

    return FORMAT.load(path, make, lambda _: True)


def with_text(path: Path, text: bytes, size: int | None = None) -> None:
    """Put another header before the arrays, with its checksum."""
    content = path.read_bytes()
    head = PRELUDE.pack(FORMAT.magic, FORMAT.version, size or len(text), zlib.crc32(text)) + text
    path.write_bytes(head + bytes(-len(head) % 64) + content[len(content) - 128 :])


def header_of(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    size = PRELUDE.unpack_from(content)[2]
    header: dict[str, Any] = json.loads(content[PRELUDE.size : PRELUDE.size + size])
    return header


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert message.endswith("; run: make made")
    assert "\n" not in message
    assert len(message) < len(str(path)) + 100
    return message


def test_round_trip(saved: Path) -> None:
    with_text(saved, json.dumps(header_of(saved)).encode())
    size, arrays = load(saved)
    assert size == 24
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)


@pytest.mark.parametrize(
    "change",
    [
        {"offset": -64},
        {"offset": 1},
        {"offset": 64},
        {"offset": 10**30},
        {"offset": None},
        {"items": -1},
        {"items": 10**30},
        {"items": 2.0},
        {"items": True},
        {"items": "2"},
        {"dtype": "<f4"},
        {"name": "third"},
        {"name": "fourth" * 1000},
        {"name": ["first"]},
        {"name": "second"},
        {"crc32": None},
    ],
    ids=lambda change: str(change)[:30],
)
def test_wrong_about_an_array(saved: Path, change: dict[str, Any]) -> None:
    header = header_of(saved)
    header["arrays"][0] |= change
    with_text(saved, json.dumps(header).encode())
    assert "damaged (" in refusal(saved)


def test_arrays_that_overlap(saved: Path) -> None:
    header = header_of(saved)
    first, second = header["arrays"]
    whole = zlib.crc32(saved.read_bytes()[-128:])
    header["arrays"][0] = first | {"items": 32, "crc32": [whole]}
    with_text(saved, json.dumps(header).encode())
    assert "damaged (its header is wrong about its second)" in refusal(saved)
    header["arrays"] = [first, second | {"offset": 0, "crc32": first["crc32"]}]
    with_text(saved, json.dumps(header).encode())
    assert "damaged (its header is wrong about its second)" in refusal(saved)


@pytest.mark.parametrize("arrays", [None, [], {}, "first", [1], [None], [{}], [[]]], ids=str)
def test_arrays_that_are_not_listed(saved: Path, arrays: object) -> None:
    with_text(saved, json.dumps(header_of(saved) | {"arrays": arrays}).encode())
    assert "damaged (" in refusal(saved)


@pytest.mark.parametrize("count", [1, 3])
def test_an_array_is_missing_or_comes_twice(saved: Path, count: int) -> None:
    header = header_of(saved)
    arrays = (header["arrays"] * 2)[:count]
    with_text(saved, json.dumps(header | {"arrays": arrays}).encode())
    expected = "no array 'second'" if count == 1 else "lists an unknown array"
    assert expected in refusal(saved)


@pytest.mark.parametrize("size", [None, -(2**70), 1.0, [], 0])
def test_missing_bytes(saved: Path, size: object) -> None:
    with_text(saved, json.dumps(header_of(saved) | {"data_bytes": size}).encode())
    assert "damaged" in refusal(saved)


@pytest.mark.parametrize("text", [b"[" * 10**5, b'{"a":' * 10**5, b"\xff", b"", b"9" * 10**4, b"1"])
def test_no_header(saved: Path, text: bytes) -> None:
    with_text(saved, text)
    assert "damaged (its header is not" in refusal(saved)


def test_a_header_that_ends_after_the_file(saved: Path) -> None:
    text = json.dumps(header_of(saved) | {"data_bytes": 200 - 2**32}).encode()
    with_text(saved, text, size=2**32 - 1)
    assert "truncated or damaged" in refusal(saved)
