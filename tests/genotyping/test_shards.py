"""Shards: their text, and their rows."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import UsageError
from hapgpu.genotyping.options import Shard
from hapgpu.io.vcf.records import VcfRecord
from tests.haplotypes.made_records import batches_of_records


@pytest.mark.parametrize("text", ["", "1", "0/1", "2/1", "1/0", "a/b", "1/2/3", " 1/2", "\uff11/2"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="must be K/N, with K from 1 to N"):
        Shard.parse(text)


@given(records=st.integers(0, 50), count=st.integers(1, 60))
def test_parts_are_equal(records: int, count: int) -> None:
    made = [VcfRecord("line 1", "chr1", k, "A", ("C",), (), "") for k in range(records)]
    parts = [
        Shard.parse(f"{k}/{count}").rows(batches_of_records(made, 7)) for k in range(1, count + 1)
    ]
    assert list(chain(*parts)) == list(range(records))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
