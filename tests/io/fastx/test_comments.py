"""Comments of reads against plain splitting of lines."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import ReadBlock, comment_spans


def comments_of(headers: list[str], ending: str) -> list[str]:
    text = "".join(f">{header}{ending}ACGT{ending}" for header in headers).encode()
    block = ReadBlock(np.frombuffer(text, dtype=np.uint8), is_fasta=True, first=1, name="x")
    spans = parse_block(block, LONG_READS)
    found = comment_spans(block.text, spans.name_starts, spans.name_lengths)
    return [
        text[start : start + length].decode()
        for start, length in zip(found.starts, found.lengths, strict=True)
    ]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@given(headers=st.lists(st.from_regex(r"[a-z/1]{1,3}([ \t][ -~\t]{0,9})?", fullmatch=True)))
def test_comments(headers: list[str], ending: str) -> None:
    expected = [re.match("[^ \t]*[ \t]?(.*)", header)[1] for header in headers]
    assert comments_of(headers, ending) == expected
