"""The state of some work, from which a progress display computes rate and time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True, slots=True)
class WorkState:
    """The state of some work at one time.

    Attributes
    ----------
    done
        Units that are done.
    total
        Units in all, if known.
    fraction
        Fraction that is done, 0 to 1, if known.
    seconds
        Time since the start.
    phase
        What is done now; may be empty.
    """

    done: int
    total: int | None
    fraction: float | None
    seconds: float
    phase: str

    @property
    def rate(self) -> float:
        """Units per second so far."""
        return self.done / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """Time to the end at the rate so far, if the fraction is known."""
        if not self.fraction:
            return None
        return self.seconds * (1 - self.fraction) / self.fraction


class Work:
    """Some work: receives what `Progress` receives, from any thread.

    Parameters
    ----------
    clock
        Returns seconds since any fixed time.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self.start(None)

    def start(self, total: int | None) -> None:
        """Start the clock."""
        self._start = self._phase_start = self._clock()
        self._total = total
        self._done = 0
        self._fraction: float | None = None
        self._phase = ""
        self._before = self._end = 0.0

    def advance(self, count: int, fraction: float | None) -> None:
        """Add units, and set the fraction that is done; in a phase, the fraction of it."""
        with self._lock:
            self._done += count
            if fraction is not None:  # an input that is read again must not go back
                self._fraction = max(self._fraction or 0.0, fraction)

    def phase(self, name: str, end: float | None, total: int | None) -> None:
        """Start a phase that ends at a fraction of the work; None: units are counted."""
        with self._lock:
            self._phase = name
            self._total = total or self._total
            if end is not None:
                self._before, self._end, self._fraction = self._end, end, None
                self._phase_start = self._clock()

    def state(self) -> WorkState:
        """Return the state of now."""
        with self._lock:
            now = self._clock()
            fraction = self._fraction_at(now)
            done = self._done
            total = None if self._end else self._total
            if self._end and self._total and fraction is not None:
                done = int(self._total * fraction)
            return WorkState(done, total, fraction, now - self._start, self._phase)

    def _fraction_at(self, now: float) -> float | None:
        """Return the fraction that is done: known, or by the time that phases usually take."""
        if not self._end:
            if self._fraction is None and self._total:
                return min(self._done / self._total, 1.0)
            return self._fraction
        if self._fraction is not None:
            return self._before + self._fraction * (self._end - self._before)
        if not self._before:
            return None
        per_second = self._before / max(self._phase_start - self._start, 1e-9)
        return min(self._before + (now - self._phase_start) * per_second, self._end)


def counted(state: WorkState, unit: str) -> str:
    """Return the units that are done in words, such as `1,500 of 5,000 reads`; perhaps empty."""
    if not state.done and state.phase:
        return ""
    of_total = f" of {state.total:,}" if state.total is not None else ""
    return f"{state.done:,}{of_total} {unit}"


def short_number(number: float) -> str:
    """Return a number in three to four digits, such as `57.3`, `1,250` or `3.21M`."""
    for suffix, size in (("G", 1e9), ("M", 1e6), ("k", 1e4)):
        if number >= size:
            scaled = number / (1e3 if suffix == "k" else size)
            return f"{scaled:.{0 if scaled >= 100 else 1 if scaled >= 10 else 2}f}{suffix}"
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def clock_time(seconds: float) -> str:
    """Return a time as `m:ss` or `h:mm:ss`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
