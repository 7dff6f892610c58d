"""Files of ready-made anchors."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from hapgpu.chaining.batches import Anchors
from hapgpu.chaining.ready_anchors import checked_anchors
from hapgpu.errors import InputError, UsageError

_COLUMNS: Final = ("x", "y", "offsets")


def load_anchors(path: str | Path) -> Anchors:
    """Load anchors from a .npz file with the arrays `x`, `y` and `offsets` of `Anchors`.

    Others in the file are left alone.

    Raises
    ------
    InputError
        The file cannot be read, or does not hold anchors.
    """
    try:
        return checked_anchors(*_load_columns(path))
    except (InputError, UsageError) as error:
        raise InputError(f"{path}: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except Exception as error:  # (NumPy and zipfile fail in many ways where a file is damaged)
        raise InputError(f"{path}: is damaged or no .npz file ({error})") from error


def _load_columns(path: str | Path) -> list[NDArray[Any]]:
    """Read the columns; Python objects in the file are never unpickled."""
    with Path(path).open("rb") as file, NpzFile(file, allow_pickle=False) as arrays:
        missing = [name for name in _COLUMNS if name not in arrays]
        if missing:
            raise InputError(f"has no array '{missing[0]}': give x, y and offsets")
        return [arrays[name] for name in _COLUMNS]
