"""Values handed from each batch of a pipeline to the next, whichever threads compute them."""

from __future__ import annotations

from math import inf
from threading import Condition
from typing import Generic, TypeVar

Value = TypeVar("Value")


class AbandonedError(Exception):
    """The batch before, or one before that, ended without a value; its own error says why."""


class Relay(Generic[Value]):
    """Chain of values: batch k waits for the value of batch k - 1, and puts one for batch k + 1.

    Threads must take batches in their order: then the first batch that is not done never waits.

    Parameters
    ----------
    first
        The value for batch 0.
    """

    def __init__(self, first: Value) -> None:
        self._changed = Condition()
        self._number = 0  # of the batch that `_value` is for, or was for
        self._value: Value | None = first
        self._first_abandoned: float = inf

    def wait(self, number: int) -> Value:
        """Wait for the value of a batch and take it, once.

        Raises
        ------
        AbandonedError
            There will be no value.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._number >= number or self._first_abandoned < number)
            if self._number != number or self._value is None:
                raise AbandonedError
            value, self._value = self._value, None
            return value

    def put(self, number: int, value: Value) -> None:
        """Hand a value from a batch to the next; only the first value of a batch counts."""
        with self._changed:
            if self._number == number:
                self._number, self._value = number + 1, value
                self._changed.notify_all()

    def abandon(self, number: int) -> None:
        """End a batch: without a value, all batches after it end too."""
        with self._changed:
            if self._number <= number:
                self._first_abandoned = min(self._first_abandoned, number)
                self._changed.notify_all()
