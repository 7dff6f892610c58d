"""Files of arrays: written and checked as a whole, and mapped into memory.

A file starts with a magic number, the version of its format, and the size and CRC-32 of a header
in JSON; the arrays follow, each aligned to `ALIGNMENT` bytes. The header has their names, the
CRC-32 of each of their pieces, and all data other than arrays. The bytes do not depend on the time
or machine of writing.
"""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from hapgpu.arrays.bytes import AnyArray
from hapgpu.errors import InputError
from hapgpu.io.files.output import OutputFile
from hapgpu.runtime.devices import usable_cpus
from hapgpu.runtime.pool import Pool

Header: TypeAlias = dict[str, Any]

ALIGNMENT: Final = 64
PIECE_BYTES: Final = 1 << 26
"""Bytes per checksum, so that several threads can verify an array."""

Arrays: TypeAlias = dict[str, AnyArray]
_Content = TypeVar("_Content")
_PRELUDE = struct.Struct("<8sIII")  # magic, version, size and CRC-32 of the header

CHUNK: Final = 1 << 18
"""Rows per check: temporary arrays of a chunk stay in the cache of a core."""


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
    if not isinstance(value, list) or not set(map(type, value)) <= {str}:
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


@dataclass(frozen=True, slots=True)
class ArrayFormat:
    """Format of a file of arrays.

    Attributes
    ----------
    what
        Name of the format, for messages.
    magic
        The first eight bytes; no text starts with them.
    version
        Version of the header and the arrays.
    dtypes
        Dtypes of all arrays that a file may have.
    remedy
        Returns the command that makes a file anew, given its path.
    """

    what: str
    magic: bytes
    version: int
    dtypes: Mapping[str, type[np.generic]]
    remedy: Callable[[Path], str]

    def is_format_of(self, path: Path) -> bool:
        """Tell whether a file, which may be missing, has the magic number of this format."""
        try:
            with path.open("rb") as file:
                return file.read(len(self.magic)) == self.magic
        except OSError:
            return False

    def save(self, path: str | Path, header: Header, arrays: Arrays) -> None:
        """Write a file, whole or not at all.

        Parameters
        ----------
        path
            Where to write; an existing file is replaced.
        header
            Data for JSON, without the keys `arrays` and `data_bytes`.
        arrays
            One-dimensional, in file order.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        text = json.dumps(header | self._directory(arrays), separators=(",", ":")).encode()
        prelude = _PRELUDE.pack(self.magic, self.version, len(text), isal_zlib.crc32(text))
        with OutputFile(path) as output:
            output.write(prelude + text + _padding(len(prelude) + len(text)))
            for array in arrays.values():
                output.write(array.view(np.uint8).data)
                output.write(_padding(array.nbytes))

    def load(
        self,
        path: str | Path,
        make: Callable[[Header, Arrays], _Content],
        is_consistent: Callable[[_Content], bool],
    ) -> _Content:
        """Map a file into memory, read-only, and verify every byte of its arrays.

        Parameters
        ----------
        path
            The file.
        make
            Makes the content from header and arrays; raises KeyError if an array is missing, and
            ValueError if the header is malformed.
        is_consistent
            Tells whether no use of the content can leave the bounds of an array.

        Raises
        ------
        InputError
            The file is missing, of another format or version, truncated or damaged.
        """
        content = self._map(Path(path))
        try:
            header, data = self._read_header(content, path)
            made = make(header, self._find_arrays(header, data))
            consistent = is_consistent(made)
        except InputError:  # a ValueError, which has the message already
            raise
        except KeyError as error:
            self._raise(path, f"damaged (no array {error})", error)
        except ValueError as error:
            self._raise(path, f"damaged ({error})", error)
        if not consistent:
            self._raise(path, "damaged (its arrays do not fit each other)")
        return made

    def _directory(self, arrays: Arrays) -> Header:
        """Return the header entries of the arrays; offsets count from the first array."""
        entries, offset = [], 0
        checksums = _checksums([array.view(np.uint8) for array in arrays.values()])
        for (name, array), crc32 in zip(arrays.items(), checksums, strict=True):
            entries.append(
                {
                    "name": name,
                    "dtype": np.dtype(self.dtypes[name]).str,
                    "offset": offset,
                    "items": array.size,
                    "crc32": crc32,
                }
            )
            offset += array.nbytes + len(_padding(array.nbytes))
        return {"data_bytes": offset, "arrays": entries}

    def _map(self, path: Path) -> NDArray[np.uint8]:
        """Return uint8: the bytes of a file, mapped into memory."""
        try:
            with path.open("rb") as file:
                if path.stat().st_size < _PRELUDE.size:
                    self._raise(path, f"no {self.what}")
                return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
        except FileNotFoundError:
            self._raise(path, "no such file")
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from error

    def _read_header(
        self, content: NDArray[np.uint8], path: str | Path
    ) -> tuple[Header, NDArray[np.uint8]]:
        """Return the header and the bytes of the arrays."""
        magic, version, size, checksum = _PRELUDE.unpack(content[: _PRELUDE.size].tobytes())
        if magic != self.magic:
            self._raise(path, f"no {self.what}")
        if version != self.version:
            fault = f"version {version}, but this hapgpu reads version {self.version}"
            self._raise(path, fault)
        start = _PRELUDE.size + size + len(_padding(_PRELUDE.size + size))
        text = content[_PRELUDE.size : _PRELUDE.size + size].tobytes()
        if start > content.size or isal_zlib.crc32(text) != checksum:
            self._raise(path, "truncated or damaged")
        header = parsed_header(text)
        if content.size - start != whole_of(header, "data_bytes"):
            self._raise(path, "truncated or damaged")
        return header, content[start:]

    def _find_arrays(self, header: Header, data: NDArray[np.uint8]) -> Arrays:
        """Return the arrays by name.

        Raises
        ------
        ValueError
            An array fails its checksum or contradicts the header.
        """
        entries = records_of(header, "arrays")
        parts = self._find_parts(entries, data)
        checksums = _checksums(parts.values())
        for name, entry, found in zip(parts, entries, checksums, strict=True):
            if entry.get("crc32") != found:
                message = f"the checksum of its {name} is wrong"
                raise ValueError(message)
        return {name: part.view(self.dtypes[name]) for name, part in parts.items()}

    def _find_parts(
        self, entries: list[Header], data: NDArray[np.uint8]
    ) -> dict[str, NDArray[np.uint8]]:
        """Return the bytes of the arrays by name, at the offsets that `_directory` gives them."""
        parts: dict[str, NDArray[np.uint8]] = {}
        offset = 0
        for entry in entries:
            name = entry.get("name")
            if not isinstance(name, str) or name not in self.dtypes or name in parts:
                message = "its header lists an unknown array"
                raise ValueError(message)
            dtype = np.dtype(self.dtypes[name])
            size = dtype.itemsize * whole_of(entry, "items")
            parts[name] = data[offset : max(offset + size, 0)]
            expected = {"dtype": dtype.str, "offset": offset}
            if parts[name].size != size or expected != {key: entry.get(key) for key in expected}:
                message = f"its header is wrong about its {name}"
                raise ValueError(message)
            offset += size + len(_padding(size))
        return parts

    def _raise(self, path: str | Path, fault: str, cause: Exception | None = None) -> NoReturn:
        """Raise an InputError with the command that makes the file anew."""
        raise InputError(f"{path}: {fault}; run: {self.remedy(Path(path))}") from cause


def _padding(size: int) -> bytes:
    """Return the zeros that align the offset after `size` bytes."""
    return bytes(-size % ALIGNMENT)


def _checksums(arrays: Iterable[NDArray[np.uint8]]) -> list[list[int]]:
    """Return the CRC-32 of each piece of each array."""
    pieces = [
        [data[at : at + PIECE_BYTES].data for at in range(0, data.size, PIECE_BYTES)]
        for data in arrays
    ]
    with ThreadPoolExecutor(usable_cpus()) as pool:
        found = pool.map(isal_zlib.crc32, chain.from_iterable(pieces))
        return [list(islice(found, len(own))) for own in pieces]


def holds_everywhere(check: Callable[[int, int], bool], rows: int) -> bool:
    """Tell whether `check(start, end)` holds for every chunk of the rows."""
    starts = range(0, rows, CHUNK)
    with Pool(min(usable_cpus(), max(len(starts), 1))) as pool:
        tasks = [pool.submit(check, start, min(start + CHUNK, rows)) for start in starts]
        holds = pool.results(tasks)
    return all(holds)


def never_decreases(values: NDArray[np.integer]) -> bool:
    """Tell whether each of `values`, [n] of any integer dtype, is at least the value before."""

    def rises(start: int, end: int) -> bool:
        return bool((values[start:end] <= values[start + 1 : end + 1]).all())

    return holds_everywhere(rises, values.size - 1)
