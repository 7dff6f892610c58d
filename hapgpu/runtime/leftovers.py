"""Clean-up of temporary files and child processes when a run ends early.

Code that makes one registers how to undo it. A run that ends, with or without an error, undoes or
forgets its registrations itself; code that ends the process before that calls `clear_up`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from threading import RLock
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

Undo: TypeAlias = Callable[[], object]

_lock = RLock()
_registered: dict[int, Undo] = {}
_numbers = count()
_results = 0


@contextmanager
def steady() -> Iterator[None]:
    """Keep signals from ending the run within the context, which has to be short.

    For example, creating a file and registering it are one step, and so are renaming it and
    forgetting it.
    """
    with _lock:
        yield


def register(undo: Undo) -> int:
    """Register how to undo something; return a number for `forget`."""
    with _lock:
        number = next(_numbers)
        _registered[number] = undo
        return number


def forget(number: int) -> None:
    """Remove a registration, if it is still there."""
    with _lock:
        _registered.pop(number, None)


def forget_all() -> None:
    """Remove all registrations, in a forked process: they are those of the run."""
    with _lock:
        _registered.clear()


def note_result() -> None:
    """Note that an output file has its final name: the run is about to end."""
    global _results  # noqa: PLW0603  (as the registrations: one for the process)
    with _lock:
        _results += 1


def has_result() -> bool:
    """Tell whether an output file has its final name."""
    return _results > 0


def clear_up() -> None:
    """Undo all registrations, the latest first.

    Code that ends the process afterwards does both within `steady`, so that no file can be made or
    renamed in between.
    """
    with _lock:
        while _registered:
            _, undo = _registered.popitem()
            with suppress(Exception):  # undo the others in any case
                undo()


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Make a directory that is removed with its content when the context or the run ends."""
    import shutil  # noqa: PLC0415  (slow, and the program starts with this module)
    import tempfile  # noqa: PLC0415  (slow, and the program starts with this module)
    from pathlib import Path  # noqa: PLC0415  (slow, and the program starts with this module)

    with steady():
        directory = Path(tempfile.mkdtemp(prefix="hapgpu."))
        number = register(lambda: shutil.rmtree(directory, ignore_errors=True))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        forget(number)
