"""Random records for tests, and their references."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from hapgpu.io.vcf.records import VcfRecord

NO_SEQUENCE = ("*", "<DEL>", "G]17:198982]", ".")


def record(start: int, reference: str, *alternatives: str) -> VcfRecord:
    """Return a record of the contig `chr1`, without columns and genotypes."""
    return VcfRecord("line 1", "chr1", start, reference, alternatives, (), "")


@st.composite
def references_and_records(
    draw: st.DrawFn, letters: str = "AC", max_records: int = 5
) -> tuple[str, list[VcfRecord]]:
    """Draw a short reference of few letters, hence with many repeats, and sorted records."""
    text = draw(st.text(letters, min_size=1, max_size=24))
    starts = draw(st.lists(st.integers(0, len(text) - 1), min_size=1, max_size=max_records))
    return text, [_record_at(draw, text, start, letters) for start in sorted(starts)]


def _record_at(draw: st.DrawFn, text: str, start: int, letters: str) -> VcfRecord:
    reference = text[start : start + draw(st.integers(1, 4))]
    sequences = st.text(letters, min_size=1, max_size=5)
    alternatives = st.one_of(sequences, sequences, sequences, st.sampled_from(NO_SEQUENCE))
    return record(start, reference, *draw(st.lists(alternatives, max_size=3)))


def sequence_rows(records: Sequence[VcfRecord]) -> dict[int, tuple[int, str]]:
    """Return the site and the text of each row of ALT that has a sequence."""
    rows: dict[int, tuple[int, str]] = {}
    row = 0
    for site, one in enumerate(records):
        for number, text in enumerate(one.alternatives, row + 1):
            if text.isalpha():
                rows[number] = (site, text)
        row += 1 + len(one.alternatives)
    return rows
