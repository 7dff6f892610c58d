"""Files of ready-made anchors (.npz)."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any, Final, cast
from zipfile import ZipFile

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from hapgpu.errors import InputError, UsageError
from hapgpu.io.files.record_limit import MAX_RECORD, too_long
from hapgpu.longread.batches import SPAN_SHIFT, Anchors

_POSITION: Final = np.uint64(2**32 - 1)
_MAX_INT: Final = 2**31 - 1
_SPAN: Final = np.uint64(255)
_SEGMENTS: Final = np.uint64(48)


def checked_anchors(x: NDArray[Any], y: NDArray[Any], offsets: NDArray[Any]) -> Anchors:
    """Return the anchors of n reads after checking every value.

    Parameters
    ----------
    x, y
        uint64[a], as in `Anchors`.
    offsets
        int64[n + 1].

    Raises
    ------
    UsageError
        An array has another dtype or shape.
    InputError
        The offsets, the order of x within a read, a position or a span is invalid.
    """
    x, y = _column(x, "x", np.uint64), _column(y, "y", np.uint64)
    offsets = _column(offsets, "offsets", np.int64)
    if x.size != y.size:
        raise UsageError(f"x: {x.size:,} anchors, but y has {y.size:,}; give arrays of one length")
    _check_offsets(offsets, x.size)
    anchors = Anchors(x, y, offsets)
    is_descending = np.zeros(x.size, dtype=np.bool_)
    is_descending[1:] = x[1:] < x[:-1]
    starts = offsets[:-1]
    is_descending[starts[starts < x.size]] = False
    _refuse(
        anchors,
        is_descending,
        "has a smaller x than the anchor before; sort each read's anchors by x",
    )
    query, span = y & _POSITION, y >> np.uint64(SPAN_SHIFT) & _SPAN
    _refuse(anchors, x & _POSITION > _MAX_INT, "is beyond position 2**31 of the reference")
    _refuse(anchors, query > _MAX_INT, "is beyond position 2**31 of the read")
    _refuse(anchors, span == 0, "has no span; set bits 32 to 39 of y")
    _refuse(
        anchors,
        span > query + np.uint64(1),
        "starts before its read; y holds the position of the last base",
    )
    _refuse(anchors, y >> _SEGMENTS != 0, "has a segment number; clear bits 48 to 63 of y")
    return anchors


def _column(array: NDArray[Any], name: str, dtype: type[np.integer[Any]]) -> NDArray[Any]:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
        given = type(array).__name__
        if isinstance(array, np.ndarray):
            given = f"{array.dtype}, {array.ndim}-dimensional"
        raise UsageError(
            f"{name}: of type {given}; give a 1-dimensional NumPy array of {np.dtype(dtype)}"
        )
    return np.ascontiguousarray(array)


def _check_offsets(offsets: NDArray[np.int64], anchors: int) -> None:
    if not offsets.size or offsets[0] != 0 or offsets[-1] != anchors:
        raise InputError(
            f"offsets: do not go from 0 to {anchors:,}, the number of anchors; give n + 1"
            " offsets for n reads"
        )
    if (offsets[1:] < offsets[:-1]).any():
        read = int(np.argmax(offsets[1:] < offsets[:-1]))
        raise InputError(f"read {read}: the offsets decrease; give ascending offsets")
    if np.diff(offsets).max(initial=0) > _MAX_INT:
        raise InputError("offsets: a read has 2**31 anchors or more; split the read")


def _refuse(anchors: Anchors, is_bad: NDArray[np.bool_], fault: str) -> None:
    """Raise InputError that names the first anchor with a fault, if there is one."""
    if not is_bad.any():
        return
    anchor = int(is_bad.argmax())
    read = int(np.searchsorted(anchors.offsets, anchor, side="right")) - 1
    raise InputError(f"read {read}: anchor {anchor - int(anchors.offsets[read])} {fault}")


_COLUMNS: Final = ("x", "y", "offsets")
_MAX_INFLATION_RATIO: Final = 100
_HEADER_READERS: Final = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def load_anchors(path: str | Path, max_record: int = MAX_RECORD) -> Anchors:
    """Load anchors from a .npz file with the arrays `x`, `y` and `offsets` of `Anchors`.

    Other arrays in the file are ignored.

    Parameters
    ----------
    path
        Path of the file.
    max_record
        Largest size in bytes of an array that inflates to more than a hundred times its size.

    Raises
    ------
    InputError
        The file cannot be read, or does not contain anchors.
    """
    try:
        return checked_anchors(*_load_columns(path, max_record))
    except (InputError, UsageError) as error:
        raise InputError(f"{path}: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except Exception as error:  # (NumPy and zipfile raise many kinds of errors for damaged files)
        raise InputError(f"{path}: damaged or no .npz file ({error}); copy it again") from error


def _load_columns(path: str | Path, max_record: int) -> list[NDArray[Any]]:
    """Read the columns; Python objects in the file are never unpickled."""
    with Path(path).open("rb") as file, NpzFile(file, allow_pickle=False) as arrays:
        missing = [name for name in _COLUMNS if name not in arrays]
        if missing:
            raise InputError(f"no array '{missing[0]}'; save x, y and offsets")
        for name in _COLUMNS:
            _check_size(cast("ZipFile", arrays.zip), name, max_record)
        return [arrays[name] for name in _COLUMNS]


def _check_size(file: ZipFile, name: str, max_record: int) -> None:
    """Raise InputError for an array whose size is not as declared, or that inflates too much."""
    entry = file.getinfo(f"{name}.npy" if f"{name}.npy" in file.namelist() else name)
    if entry.file_size > max(max_record, _MAX_INFLATION_RATIO * entry.compress_size):
        raise too_long(f"array '{name}', inflated", max_record)
    with file.open(entry) as array:
        version = np.lib.format.read_magic(array)
        read_header = _HEADER_READERS.get(version)
        if read_header is None:
            raise InputError(
                f"array '{name}': format {version}, expected 1.0 or 2.0; save it with numpy.savez"
            )
        shape, _, dtype = read_header(array)
        is_whole = prod(shape) * dtype.itemsize == entry.file_size - array.tell()
        if not (is_whole or dtype.hasobject):  # NumPy refuses objects
            raise InputError(
                f"array '{name}': not the declared {prod(shape):,} items; copy the file again"
            )
