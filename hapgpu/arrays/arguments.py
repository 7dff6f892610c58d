"""Arguments of the Python API, checked: numbers, names, files, and resources of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, Self, TypeAlias, TypeVar

from hapgpu.arrays.sequences import has_rows
from hapgpu.errors import UsageError
from hapgpu.runtime.devices import Device, given_threads, resolve_devices
from hapgpu.runtime.progress import Progress, shown_progress

PathName: TypeAlias = str | PathLike[str]

_MAX_MAPPING_QUALITY: Final = 255
_MAX_PROCESSES: Final = 4096

_Kind = TypeVar("_Kind", bound=StrEnum)


def whole_number(name: str, value: Any, minimum: int, maximum: int) -> int:
    """Return a whole number, as of Python or NumPy; a bool is none.

    Raises
    ------
    UsageError
        It is something else, or out of range; the message has its name.
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not (is_whole and minimum <= value <= maximum):
        raise UsageError(
            f"{name}={value!r}: out of range; give a whole number from {minimum} to {maximum:,}"
        )
    return int(value)


def number_from_0(name: str, value: Any) -> float:
    """Return a finite number of at least 0.

    Raises
    ------
    UsageError
        It is something else; the message has its name.
    """
    is_number = isinstance(value, Real)
    if not (is_number and 0 <= value < math.inf):
        raise UsageError(f"{name}={value!r}: out of range; give a number of at least 0")
    return float(value)


def number_up_to(name: str, value: Any, maximum: int) -> float:
    """Return a number from 0 to a maximum, an int if it is whole; a bool is none.

    Raises
    ------
    UsageError
        It is something else, or out of range; the message has its name.
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and 0 <= value <= maximum):
        raise UsageError(f"{name}={value!r}: out of range; give a number from 0 to {maximum:,}")
    return int(value) if isinstance(value, Integral) else float(value)


def one_of(kind: type[_Kind], name: str, text: str) -> _Kind:
    """Return the member of an enumeration with a value.

    Raises
    ------
    UsageError
        There is none; the message has the name of the argument.
    """
    if text not in list(kind):
        raise UsageError(f"{name} {text!r}: unknown; give one of {', '.join(kind)}")
    return kind(text)


def file_names(given: PathName | Sequence[PathName], what: str) -> list[str]:
    """Return the names of one or several files.

    Parameters
    ----------
    given
        A name, or a list of names.
    what
        The kind of file, singular, for messages.

    Raises
    ------
    UsageError
        It is something else.
    """
    names = [given] if isinstance(given, str | PathLike) else given
    if not has_rows(names):
        raise UsageError(f"{what}s: not a list nor a file name; give one of them")
    return [file_name(name, f"{what} {number}") for number, name in enumerate(names)]


def file_name(given: PathName, what: str) -> str:
    """Return the name of a file.

    Parameters
    ----------
    given
        The name, as text or a path.
    what
        The argument, for messages.

    Raises
    ------
    UsageError
        It is something else.
    """
    name = fspath(given) if isinstance(given, str | PathLike) else None
    if not isinstance(name, str):
        raise UsageError(f"{what}: of type {type(given).__name__}; give str or a path")
    return name


def check_replaced(path: str, is_index: Callable[[Path], bool]) -> None:
    """Refuse to write an index over another file, such as the reference that it was made of.

    Parameters
    ----------
    path
        The file to write.
    is_index
        Tells whether a file is an index of the same kind.

    Raises
    ------
    UsageError
        There is a file with other content.
    """
    file = Path(path)
    if file.is_file() and file.stat().st_size and not is_index(file):
        raise UsageError(f"{path}: exists and is no index; give another file, or remove it")


def mapping_quality(name: str, value: Any) -> int:
    """Return a mapping quality, from 0 to 255; errors as of `whole_number`."""
    return whole_number(name, value, 0, _MAX_MAPPING_QUALITY)


@dataclass(frozen=True, slots=True)
class Resources:
    """What a run may use, and whether it shows its progress.

    Attributes
    ----------
    devices
        The devices that compute, at least one.
    threads
        CPU threads.
    processes
        Processes that the threads are divided into.
    shows_progress
        Whether a bar is shown.
    """

    devices: Sequence[Device]
    threads: int
    processes: int
    shows_progress: bool

    @classmethod
    def of(cls, device: str, threads: int | None, processes: int, *, progress: bool) -> Self:
        """Check the arguments of these names.

        Raises
        ------
        UsageError
            There is no such kind of device, or a number is out of range.
        DeviceError
            A named device cannot be used.
        """
        count = given_threads(threads)
        parts = whole_number("processes", processes, 1, _MAX_PROCESSES)
        devices, _ = resolve_devices(device, threads=count)
        return cls(devices, count, parts, progress)

    def progress(self, description: str, unit: str) -> Progress:
        """Return a bar, if it is wanted, with text before it, for a count in a unit."""
        return shown_progress(description, unit, is_shown=self.shows_progress)
