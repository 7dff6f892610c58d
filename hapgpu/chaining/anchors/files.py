"""Files of ready-made anchors (.npz)."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any, Final, cast
from zipfile import ZipFile

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from hapgpu.chaining.anchors.checks import checked_anchors
from hapgpu.chaining.batches import Anchors
from hapgpu.errors import InputError, UsageError
from hapgpu.io.files.record_limit import MAX_RECORD, too_long

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
