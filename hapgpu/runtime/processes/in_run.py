"""Functions that are computed in the run also when a worker in another process calls them.

CUDA does not survive a fork. So processes with workers leave the GPU to the run.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic, ParamSpec, TypeVar
from weakref import WeakSet

from hapgpu.runtime.processes.channel import Channel, EndedError, sendable
from hapgpu.runtime.processes.locks import held_at_forks

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_thread: Final = threading.local()
_TRY_SECONDS: Final = 0.02
_functions: Final[WeakSet[InRun[Any, Any]]] = WeakSet()
_functions_lock: Final = held_at_forks(threading.Lock())


def functions_in_run() -> list[InRun[Any, Any]]:
    """Return all functions of this kind, which processes that are forked now share."""
    with _functions_lock:
        return list(_functions)


@contextmanager
def serving(channel: Channel) -> Iterator[None]:
    """Let functions that are called in this thread go through a channel to the run."""
    _thread.channel = channel
    try:
        yield
    finally:
        del _thread.channel


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a call, or its error."""

    result: Any
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """Call of a function that a worker asks the run for."""

    function: InRun[Any, Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def answer(self, channel: Channel) -> None:
        """Call the function in the run, and send the outcome to the worker, which waits for it."""
        try:
            channel.send(Outcome(self.function(*self.args, **self.kwargs)))
        except EndedError:
            raise
        except BaseException as error:  # noqa: BLE001  (raised again where the worker calls)
            channel.send(Outcome(None, sendable(error)))


class TurnInRun:
    """Turn that one worker of all processes has at a time: a context manager.

    A worker that waits for it asks again: so nobody waits for a process that has ended.
    """

    def __init__(self) -> None:
        lock = threading.Lock()
        self._take = InRun(lambda: lock.acquire(blocking=False))
        self._give_back = InRun(lock.release)

    def __enter__(self) -> None:
        while not self._take():
            time.sleep(_TRY_SECONDS)

    def __exit__(self, *_error: object) -> None:
        self._give_back()


class InRun(Generic[_Arguments, _Result]):
    """Function that is computed in the run, whichever process calls it.

    One that a process with workers makes for itself is computed there.

    Parameters
    ----------
    function
        The function; it can be called in several threads at once. Arguments and result can be
        pickled.
    """

    def __init__(self, function: Callable[_Arguments, _Result]) -> None:
        self._function = function
        self._process = os.getpid()
        with _functions_lock:
            _functions.add(self)

    def __call__(self, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        """Call the function."""
        channel: Channel | None = getattr(_thread, "channel", None)
        if channel is None or self._process == os.getpid():
            return self._function(*args, **kwargs)
        channel.send(Call(self, args, kwargs))
        outcome: Outcome = channel.receive()
        if outcome.error is not None:
            raise outcome.error
        result: _Result = outcome.result
        return result
