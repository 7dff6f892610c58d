"""Text cut at records piece by piece: whole records, none lost, wherever the pieces end."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.io.fastx.packed.hand_over import LINES, Unfinished, end_of_text

LINE = st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"") + b"\n")


@given(st.lists(LINE, max_size=30), LINE, st.data())
def test_pieces_are_cut_at_records(lines: list[bytes], rest: bytes, data: st.DataObject) -> None:
    text = b"".join(lines) + rest[:-1]
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=12).map(sorted))
    before = Unfinished()
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        piece = np.frombuffer(text[start:end], dtype=np.uint8)
        cut, after = end_of_text(piece).cut(before)
        whole = before.bytes().tobytes() + piece[:cut].tobytes() if cut else b""
        assert whole.count(b"\n") == LINES * (after.records - before.records)
        assert whole == b"".join(lines[LINES * before.records : LINES * after.records])
        before = after
    assert before.records == len(lines) // LINES
    assert before.lines == len(lines) % LINES
    assert before.bytes().tobytes() == b"".join(lines[LINES * before.records :]) + rest[:-1]
    assert before.size == before.bytes().size
