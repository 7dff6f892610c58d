"""Text cut at records piece by piece: whole records, none lost, wherever the pieces end."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.io.fastx.uncut_blocks import LINES, end_of_text
from hapgpu.io.files.unfinished import Unfinished

LINE = st.text("ab>", max_size=6).map(lambda line: line.encode() + b"\n")
END = st.text("ab>", max_size=6).map(str.encode)


def pieces_of(text: bytes, data: st.DataObject) -> list[bytes]:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=12).map(sorted))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def whole_records(pieces: list[bytes], *, is_fasta: bool) -> tuple[list[bytes], Unfinished]:
    """Return the text that each piece completes, and what remains; check the numbers of records."""
    texts = []
    before = Unfinished()
    for piece in filter(None, pieces):
        content = np.frombuffer(piece, dtype=np.uint8)
        cut, after = end_of_text(content, is_fasta=is_fasta).cut(before)
        if after.records > before.records:
            texts.append(before.bytes().tobytes() + piece[:cut])
        else:
            assert after.bytes().tobytes() == before.bytes().tobytes() + piece
        assert after.size == after.bytes().size
        before = after
    return texts, before


@given(st.lists(LINE, max_size=30), END, st.data())
def test_fastq_is_cut_after_four_lines(lines: list[bytes], end: bytes, data: st.DataObject) -> None:
    text = b"".join(lines) + end
    texts, rest = whole_records(pieces_of(text, data), is_fasta=False)
    assert all(whole.count(b"\n") % LINES == 0 for whole in texts)
    assert b"".join(texts) == b"".join(lines[: len(lines) // LINES * LINES])
    assert (rest.records, rest.lines) == divmod(len(lines), LINES)
    assert b"".join(texts) + rest.bytes().tobytes() == text


@given(st.lists(LINE, max_size=30), END, st.data())
def test_fasta_is_cut_before_headers(lines: list[bytes], end: bytes, data: st.DataObject) -> None:
    lines = [b">\n", *lines, end]
    text = b"".join(lines)
    texts, rest = whole_records(pieces_of(text, data), is_fasta=True)
    assert all(whole.startswith(b">") for whole in texts)
    assert b"".join(texts) + rest.bytes().tobytes() == text
    starts = [k for k, line in enumerate(lines) if line.startswith(b">")]
    assert rest.records == len(starts) - 1
    assert rest.bytes().tobytes() == b"".join(lines[starts[-1] :])
