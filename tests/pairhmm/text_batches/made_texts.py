"""Text batches made for tests, and batches as the strings of a file."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from hapgpu.pairhmm.batches import HmmBatch

Read = tuple[bytes, bytes, bytes, bytes, bytes]
Group = tuple[list[Read], list[bytes]]

PRINTABLE = bytes(range(33, 127))


def as_written(batch: HmmBatch) -> list[Group]:
    """Return the groups of a batch as the strings of the file."""
    reads, haplotypes, offsets = batch.reads, batch.haplotypes, batch.reads.bases.offsets
    columns = (reads.bases.data, *(column + np.uint8(33) for column in reads.qualities))
    rows = [
        tuple(column[offsets[k] : offsets[k + 1]].tobytes() for column in columns)
        for k in range(len(reads))
    ]
    ends = zip(batch.read_offsets[1:], batch.haplotype_offsets[1:], strict=True)
    starts = zip(batch.read_offsets, batch.haplotype_offsets, strict=False)
    return [
        (rows[r:read_end], [haplotypes[k].tobytes() for k in range(h, haplotype_end)])
        for (r, h), (read_end, haplotype_end) in zip(starts, ends, strict=False)
    ]


def text_of(groups: list[Group], newline: bytes = b"\n", blank: bytes = b" ") -> bytes:
    lines = []
    for reads, haplotypes in groups:
        lines.append(b"%d %d" % (len(reads), len(haplotypes)))
        lines += [blank.join(read) for read in reads]
        lines += haplotypes
    return newline.join([*lines, b""])


def strings(length: int) -> st.SearchStrategy[bytes]:
    return st.lists(st.sampled_from(PRINTABLE), min_size=length, max_size=length).map(bytes)


READS = st.integers(1, 9).flatmap(lambda length: st.tuples(*[strings(length)] * 5))
HAPLOTYPES = st.integers(1, 9).flatmap(strings)
GROUPS = st.lists(
    st.tuples(st.lists(READS, max_size=3), st.lists(HAPLOTYPES, max_size=3)), min_size=1, max_size=5
)

EDITS = st.lists(
    st.tuples(
        st.integers(0, 200),
        st.integers(0, 3),
        st.lists(st.sampled_from(b"\n\t\r 0129A\x00\x0b\xff"), max_size=2).map(bytes),
    ),
    max_size=3,
)


def edited(text: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """Replace some bytes at a position, for each edit in order."""
    for start, length, letters in edits:
        text = text[:start] + letters + text[start + length :]
    return text
