"""Options of sites without genotypes."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from hapgpu.haplotypes.batches import Loci, PhaseGroups
from hapgpu.haplotypes.sites.phased import phase_groups_of_sites
from hapgpu.io.vcf.records import VcfRecord
from tests.haplotypes.made_records import made_sites, record, references_and_records, sequence_rows


def phase_groups(records: list[VcfRecord], site_offsets: list[int]) -> PhaseGroups:
    nowhere = np.zeros(len(site_offsets) - 1, dtype=np.int64)
    return phase_groups_of_sites(
        made_sites(records), Loci(np.array(site_offsets), nowhere, nowhere)
    )


def listed(found: PhaseGroups) -> list[list[list[int]]]:
    """Return the rows of ALT of each option of each group."""
    rows = [row.tolist() for row in found.options]
    offsets = found.option_offsets
    return [rows[offsets[k] : offsets[k + 1]] for k in range(offsets.size - 1)]


def test_by_hand() -> None:
    found = phase_groups(
        [
            record(3, "A", "C"),
            record(4, "AC", "*", "A", "<DEL>", "ACC"),
            record(9, "T"),
            record(9, "T", "<INS>"),
        ],
        [0, 1, 4],
    )
    assert found.loci.tolist() == [0, 1]
    assert found.group_offsets.tolist() == [0, 1, 4]
    assert listed(found) == [[[], [1]], [[], [4], [6]], [[]], [[]]]


@given(references_and_records(max_records=9))
def test_each_allele_with_a_sequence(case: tuple[str, list[VcfRecord]]) -> None:
    _, records = case
    expected: list[list[list[int]]] = [[[]] for _ in records]
    for row, (site, _) in sequence_rows(records).items():
        expected[site].append([row])
    assert listed(phase_groups(records, [0, len(records)])) == expected


def test_no_sites() -> None:
    assert listed(phase_groups([], [0])) == []
