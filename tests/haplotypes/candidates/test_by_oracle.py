"""Haplotypes of loci against plain Python, of random and of real sites."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pysam
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.haplotypes.batches import Loci
from hapgpu.haplotypes.sites.haplotypes import haplotypes_of
from hapgpu.haplotypes.sites.loci import loci_of
from hapgpu.haplotypes.sites.phased import phase_groups_of_sites
from hapgpu.haplotypes.sites.shift_ranges import shift_ranges_of
from hapgpu.io.vcf.records import VcfRecord
from tests.example_counts import many
from tests.haplotypes import haplotype_oracle as oracle
from tests.haplotypes.haplotype_lists import NO_MASK, listed, one_locus, phase_groups_of
from tests.haplotypes.made_records import made_sites, record, references_and_records, sequence_rows
from tests.haplotypes.made_references import slice_of


@st.composite
def cases(
    draw: st.DrawFn,
) -> tuple[str, list[VcfRecord], list[list[list[list[int]]]]]:
    """Draw records, and sets of groups with options of any alleles of their sites."""
    text, records = draw(references_and_records())
    alleles: list[list[int]] = [[] for _ in records]
    for row, (site, _) in sequence_rows(records).items():
        alleles[site].append(row)
    group_sets = []
    for _ in range(draw(st.integers(0, 3))):
        blocks = draw(st.lists(st.integers(0, 2), min_size=len(records), max_size=len(records)))
        group_sets.append(
            [
                draw(st.lists(_option(alleles, blocks, block), min_size=1, max_size=3))
                for block in sorted(set(blocks))
            ]
        )
    return text, records, group_sets


def _option(
    alleles: list[list[int]], blocks: list[int], block: int
) -> st.SearchStrategy[list[int]]:
    options = [
        st.sampled_from([[], *([row] for row in rows)])
        for rows, other in zip(alleles, blocks, strict=True)
        if other == block
    ]
    return st.tuples(*options).map(lambda rows: sorted(itertools.chain(*rows)))


@given(cases(), st.integers(0, 9), st.integers(1, 12), st.sets(st.integers(0, 30)), st.data())
@settings(max_examples=many(300))
def test_of_any_phase_groups(
    case: tuple[str, list[VcfRecord], list[list[list[list[int]]]]],
    flank: int,
    max_combinations: int,
    masked: set[int],
    data: st.DataObject,
) -> None:
    text, records, group_sets = case
    offset = data.draw(st.integers(0, 3))
    records = [record(offset + r.start, r.reference, *r.alternatives) for r in records]
    reference = slice_of(text, offset)
    sites, loci = one_locus(records, reference)
    found = haplotypes_of(
        sites,
        loci,
        phase_groups_of(group_sets),
        reference,
        flank,
        max_combinations,
        np.array(sorted(masked), np.int64),
    )
    window, start = reference_of(text, offset, loci, flank, masked)
    assert (found.starts.tolist(), found.ends.tolist()) == ([start], [start + len(window)])
    assert listed(found) == [
        oracle.haplotypes(window, start, records, group_sets, max_combinations)
    ]


def reference_of(
    text: str, offset: int, loci: Loci, flank: int, masked: set[int]
) -> tuple[str, int]:
    """Return the masked reference of the haplotypes of one locus, and its start."""
    first, last = int(loci.starts[0]), int(loci.ends[0])
    letters = {
        position: letter
        for position, letter in enumerate(text, offset)
        if first - flank <= position < last + flank
    }
    for flank_positions in (
        {position for position in letters if position < first},
        {position for position in letters if position >= last},
    ):
        if len(flank_positions & masked) <= len(flank_positions) / 2:
            letters |= dict.fromkeys(flank_positions & masked, "N")
    return "".join(letters.values()), min(letters)


def test_of_real_sites(data_dir: Path) -> None:
    directory = data_dir / "illumina_na12878"
    with pysam.VariantFile(str(directory / "sites.dev.vcf.gz")) as file:
        records = [record(one.start, one.ref or "", *(one.alts or ())) for one in file]
    start, end = records[0].start - 2000, records[-1].start + 2000
    with pysam.FastaFile(str(directory / "chr20.hg19.fa.gz")) as fasta:
        text = fasta.fetch("chr20", start, end).upper()
    reference, sites = slice_of(text, start), made_sites(records)
    counts = np.diff(sites.allele_offsets)
    loci = loci_of(shift_ranges_of(sites, reference), counts, 20, 64)
    phase_groups = phase_groups_of_sites(sites, loci)
    found = listed(haplotypes_of(sites, loci, phase_groups, reference, 100, 64, NO_MASK))
    assert len(records) > 150
    assert max(np.diff(loci.site_offsets)) > 1
    for locus, haplotypes in enumerate(found):
        first, last = loci.site_offsets[locus : locus + 2].tolist()
        first_row = int(sites.allele_offsets[first])
        window_start, window_end = int(loci.starts[locus]) - 100, int(loci.ends[locus]) + 100
        groups = every_allele(records[first:last])
        window = text[window_start - start : window_end - start]
        expected = oracle.haplotypes(window, window_start, records[first:last], [groups], 64)
        assert [(seq, [row - first_row for row in rows]) for seq, rows in haplotypes] == expected


def every_allele(records: Sequence[VcfRecord]) -> list[list[list[int]]]:
    groups: list[list[list[int]]] = [[[]] for _ in records]
    for row, (site, _) in sequence_rows(records).items():
        groups[site].append([row])
    return groups
