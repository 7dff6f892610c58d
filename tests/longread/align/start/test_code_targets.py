"""Codes of reference sequences."""

from __future__ import annotations

import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.longread.align.start import code_targets

SEQUENCES = [b"ACGTacgtUuN", b"", b"RYn-", b"GATTACA"]
CODES = [[0, 1, 2, 3, 0, 1, 2, 3, 3, 3, 4], [], [4, 4, 4, 4], [2, 0, 3, 3, 0, 1, 0]]


@pytest.mark.parametrize("threads", [1, 3, 40])
def test_any_number_of_threads(threads: int) -> None:
    targets = code_targets(Ragged.from_sequences(SEQUENCES), threads)
    found = [
        targets.codes[start : start + length].tolist()
        for start, length in zip(targets.starts, targets.lengths, strict=True)
    ]
    assert found == CODES
