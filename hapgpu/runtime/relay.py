"""Values handed from each batch of a pipeline to the next, wherever they are computed."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from itertools import count
from math import inf
from threading import Condition
from typing import Any, Final, Generic, TypeVar

from hapgpu.runtime.processes.in_run import InRun

Value = TypeVar("Value")


class AbandonedError(Exception):
    """The batch before, or one before that, ended without a value; its own error says why."""


class Relay(Generic[Value]):
    """Chain of values: batch k waits for the value of batch k - 1, and puts one for batch k + 1.

    Threads must take batches in their order: then the first batch that is not done never waits.
    The values are in the process that makes the relay. In a process with workers, a copy of the
    relay asks the run for them.

    Parameters
    ----------
    first
        The value for batch 0.
    """

    def __init__(self, first: Value) -> None:
        self._number = next(_numbers)
        self._process = os.getpid()
        self._chain: _Chain[Value] | None = _Chain(first)
        _chains[self._number] = self._chain

    def __reduce__(self) -> tuple[Callable[[int, int], Relay[Any]], tuple[int, int]]:
        return self._copied, (self._number, self._process)

    @classmethod
    def _copied(cls, number: int, process: int) -> Relay[Any]:
        relay: Relay[Any] = cls.__new__(cls)
        relay._number, relay._process = number, process
        relay._chain = _chains.get(number)
        return relay

    def wait(self, number: int) -> Value:
        """Wait for the value of a batch and take it, once.

        Raises
        ------
        AbandonedError
            There will be no value.
        """
        chain = self._here
        value = None
        while value is None:
            if chain is not None:
                value = chain.wait(number)
            else:  # asks again: in the run, no thread waits for a process that has ended
                value = _wait(self._number, number, _ASK_SECONDS)
        return value

    def put(self, number: int, value: Value) -> None:
        """Hand a value from a batch to the next; only the first value of a batch counts."""
        chain = self._here
        if chain is None:
            _put(self._number, number, value)
        else:
            chain.put(number, value)

    def abandon(self, number: int) -> None:
        """End a batch: without a value, all batches after it end too."""
        chain = self._here
        if chain is None:
            _abandon(self._number, number)
        else:
            chain.abandon(number)

    def abandon_with(self, batch: object, number: int) -> None:
        """Abandon a batch when nothing refers to an object any more, such as the batch itself.

        A pipeline that stops lets batches go, for whose successors workers may wait.
        """
        weakref.finalize(batch, self._dropped, number).atexit = False

    def _dropped(self, number: int) -> None:
        chain = self._here
        if chain is not None:  # a worker's process has copies of all objects of the run
            chain.abandon(number)

    @property
    def _here(self) -> _Chain[Value] | None:
        """The values, if they are in this process."""
        return self._chain if self._process == os.getpid() else None


class _Chain(Generic[Value]):
    """The value of a relay, in the run."""

    def __init__(self, first: Value) -> None:
        self._changed = Condition()
        self._number = 0  # of the batch that `_value` is for, or was for
        self._value: Value | None = first
        self._first_abandoned: float = inf

    def wait(self, number: int, seconds: float | None = None) -> Value | None:
        """Wait for a value, at most some time; None if it is not there then.

        Raises
        ------
        AbandonedError
            There will be none.
        """
        with self._changed:
            if not self._changed.wait_for(
                lambda: self._number >= number or self._first_abandoned < number, seconds
            ):
                return None
            if self._number != number or self._value is None:
                raise AbandonedError
            value, self._value = self._value, None
            return value

    def put(self, number: int, value: Value) -> None:
        with self._changed:
            if self._number == number:
                self._number, self._value = number + 1, value
                self._changed.notify_all()

    def abandon(self, number: int) -> None:
        with self._changed:
            if self._number <= number:
                self._first_abandoned = min(self._first_abandoned, number)
                self._changed.notify_all()


_ASK_SECONDS: Final = 0.05
_numbers: Final = count()
_chains: Final[weakref.WeakValueDictionary[int, _Chain[Any]]] = weakref.WeakValueDictionary()
_wait: Final = InRun(lambda relay, number, seconds: _chains[relay].wait(number, seconds))
_put: Final = InRun(lambda relay, number, value: _chains[relay].put(number, value))
_abandon: Final = InRun(lambda relay, number: _chains[relay].abandon(number))
