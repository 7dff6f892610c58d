"""Columns of the table of chains: int32[COLUMNS, c], one number per chain each."""

from __future__ import annotations

from typing import Final

SCORE: Final = 0
COUNT: Final = 1
SEQUENCE: Final = 2
IS_REVERSE: Final = 3
QUERY_START: Final = 4
QUERY_END: Final = 5
TARGET_START: Final = 6
TARGET_END: Final = 7
CHAIN: Final = 8
COLUMNS: Final = 9
