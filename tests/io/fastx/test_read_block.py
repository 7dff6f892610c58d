"""Blocks of reads cut in two."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.io.fastx.read_block import ReadBlock


def block_of(records: list[bytes], *, is_fasta: bool) -> ReadBlock:
    return ReadBlock(np.frombuffer(b"".join(records), dtype=np.uint8), is_fasta, 10, "made")


@pytest.mark.parametrize("is_fasta", [True, False])
@pytest.mark.parametrize("count", [2, 3, 7])
def test_all_records_stay(is_fasta: bool, count: int) -> None:
    rest = b"" if is_fasta else b"+\nII\n"
    records = [b">r%d\nAC\n%b" % (number, rest) for number in range(count)]
    first, second = block_of(records, is_fasta=is_fasta).halves()
    cut = first.text.tobytes().count(b">r")
    assert (first.first, second.first) == (10, 10 + cut)
    assert cut == count // 2
    assert first.text.tobytes() == b"".join(records[:cut])
    assert second.text.tobytes() == b"".join(records[cut:])


def test_one_record_stays_whole() -> None:
    block = block_of([b">r\nAC\n"], is_fasta=True)
    assert block.halves() == [block]
