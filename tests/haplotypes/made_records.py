"""Random records for tests, and their references."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from hypothesis import strategies as st

from hapgpu.haplotypes.batches import Sites
from hapgpu.haplotypes.sites.columns import sites_of
from hapgpu.io.vcf.batches import VcfBatch
from hapgpu.io.vcf.records import VcfRecord
from hapgpu.io.vcf.source import ParsedLines, line_ends_of, parse_lines

NO_SEQUENCE = ("*", "<DEL>", "G]17:198982]", ".C")


def record(start: int, reference: str, *alternatives: str) -> VcfRecord:
    """Return a record of the contig `chr1`, without columns and genotypes."""
    return VcfRecord("line 1", "chr1", start, reference, alternatives, (), "")


def batch_of_records(records: Sequence[VcfRecord]) -> VcfBatch:
    """Return records of one contig as a batch; records without columns get columns."""
    lines = [line_of(one) for one in records]
    text = np.frombuffer("".join(lines).encode("utf-8", "surrogateescape"), dtype=np.uint8)
    ends = line_ends_of(text)
    contig = records[0].contig if records else ""
    samples = records[0].genotypes.count("\t") if records else 0
    parsed = ParsedLines.allocated(ends.size)
    name = np.frombuffer(contig.encode(), dtype=np.uint8)
    for row in range(len(records)):  # one by one, as they may not be sorted
        assert parse_lines(text, ends[: row + 1], row, -1, name, samples, parsed) == row + 1
    units = {one.label.split(" ")[0] for one in records} or {"line"}
    assert len(units) == 1
    numbers = np.array([int(one.label.split(" ")[1]) for one in records], dtype=np.int64)
    return VcfBatch(contig, *units, numbers, text, *parsed)


def batches_of_records(records: Sequence[VcfRecord], size: int = 10**6) -> list[VcfBatch]:
    """Return records as batches of at most `size` records of one contig."""
    contigs = [list(group) for _, group in groupby(records, key=lambda one: one.contig)]
    return [
        batch_of_records(group[start : start + size])
        for group in contigs
        for start in range(0, len(group), size)
    ]


def line_of(record: VcfRecord) -> str:
    """Return the line of a record, with its end."""
    alternatives = ",".join(record.alternatives) or "."
    position = str(record.start + 1)
    made = (record.contig, position, ".", record.reference, alternatives, ".", ".", ".")
    genotypes = [record.genotypes] if record.genotypes else []
    return (
        "\t".join([*(record.columns if len(record.columns) == len(made) else made), *genotypes])
        + "\n"
    )


def made_sites(records: Sequence[VcfRecord], length: int = 2**31) -> Sites:
    """Return the sites of records of one contig."""
    return sites_of(batch_of_records(records), length)


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
