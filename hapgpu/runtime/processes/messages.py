"""What the run and its worker processes send each other, beside batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Kept:
    """Part of a divided batch that is a function: it stays where what it refers to is."""

    number: int


@dataclass(frozen=True, slots=True)
class Reply:
    """What a worker makes of a batch, or its error; and what was counted and logged meanwhile."""

    result: Any
    error: BaseException | None
    counted: Sequence[Any]
    logged: Sequence[Any]
