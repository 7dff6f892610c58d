"""What a run would leave behind if it ended here and now: temporary files and child processes.

Whoever makes such a thing registers how it is undone. A run that comes to its end, or to an error,
undoes or forgets it itself as far as it can; who ends the process in the middle calls `clear_up`.
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
    """Let no signal end the run between what is done within; it has to be short.

    A file and its registration, or its new name and the end of its registration, are one step.
    """
    with _lock:
        yield


def register(undo: Undo) -> int:
    """Note how something is undone; return a number by which that is forgotten."""
    with _lock:
        number = next(_numbers)
        _registered[number] = undo
        return number


def forget(number: int) -> None:
    """Drop a registration; it may have been dropped before."""
    with _lock:
        _registered.pop(number, None)


def note_result() -> None:
    """Note that a result has got its name: what is left of the run are moments."""
    global _results  # noqa: PLW0603  (as the registrations: one for the process)
    with _lock:
        _results += 1


def has_result() -> bool:
    """Tell whether a result has got its name."""
    return _results > 0


def clear_up() -> None:
    """Undo all that is registered, the latest first.

    Who ends the process after it does both within `steady`: nothing can be made or named between.
    """
    with _lock:
        while _registered:
            _, undo = _registered.popitem()
            with suppress(Exception):  # the others are undone all the same
                undo()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder that is removed, with all in it, when the context ends or the run does."""
    import shutil  # noqa: PLC0415  (they take long, and the program begins with this module)
    import tempfile  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    with steady():
        folder = Path(tempfile.mkdtemp(prefix="hapgpu."))
        number = register(lambda: shutil.rmtree(folder, ignore_errors=True))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        forget(number)
