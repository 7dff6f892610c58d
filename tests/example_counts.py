"""Numbers of examples of property tests."""

from __future__ import annotations

from typing import Final

FEWER: Final = 40
"""Examples of a property test that chooses no number: without `--exhaustive`, which takes 100."""

_FRACTION: Final = 5


class _Counts:
    """Whether all examples are tried; `tests/conftest.py` sets it before tests are imported."""

    are_all = False


COUNTS: Final = _Counts()


def many(count: int) -> int:
    """Return how many of many examples to try: all with `--exhaustive`, or else a fifth."""
    return count if COUNTS.are_all else count // _FRACTION
