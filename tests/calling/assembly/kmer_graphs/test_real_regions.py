"""K-mer graphs of real active regions."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from hapgpu.arrays.ragged_view import read_only, view_of
from hapgpu.calling.assembly.graph import new_graph
from hapgpu.calling.assembly.kmer_graphs import READY, KmerGraph, build_kmer_graph
from hapgpu.calling.assembly.kmers import AssemblyData, RegionRows, new_space
from hapgpu.calling.options import AssemblyOptions, VariantOptions
from hapgpu.calling.reads.finalized import finalized_reads
from hapgpu.calling.regions.active_regions import active_regions
from tests.calling.assembly.kmer_graphs.made_graphs import compiled_rules, shown, shown_plain
from tests.calling.assembly.kmer_graphs.plain_branches import assembled
from tests.calling.assembly.kmer_graphs.plain_graph import PlainRead, Rules
from tests.calling.segments import segment_reads


class Regions(NamedTuple):
    """Active regions with their reads."""

    data: AssemblyData
    rows: list[RegionRows]

    def built(self, region: int, rules: Rules) -> KmerGraph:
        graph, space = new_graph(0, 0, 0), new_space()
        return build_kmer_graph(graph, space, self.data, self.rows[region], compiled_rules(rules))

    def reference(self, region: int) -> str:
        rows = self.rows[region]
        bases = self.data.reference[rows.reference_start : rows.reference_end]
        return bases.tobytes().decode()

    def reads(self, region: int) -> list[PlainRead]:
        offsets = self.data.bases.offsets
        return [
            PlainRead(
                self.data.bases.data[offsets[read] : offsets[read + 1]].tobytes().decode(),
                self.data.qualities.data[offsets[read] : offsets[read + 1]].tolist(),
                int(self.data.samples[read]),
            )
            for read in range(self.rows[region].first_read, self.rows[region].end_read)
        ]


@pytest.fixture(scope="module")
def regions(data_dir: Path) -> Regions:
    bams = [data_dir / f"illumina_na12878/{name}.chr20.dev.bam" for name in ("NA12878", "HG002")]
    segment = segment_reads(bams, "chr20", 10_000_000, 10_050_000)
    active = active_regions(segment, 2, VariantOptions())
    assert active is not None
    reads = finalized_reads(segment, active, AssemblyOptions())
    data = AssemblyData(
        view_of(reads.bases(segment.reads)),
        view_of(reads.qualities),
        read_only(reads.samples),
        read_only(segment.reference.bases),
    )
    starts = active.padded_starts - segment.reference.start
    ends = active.padded_ends - segment.reference.start
    columns = (reads.offsets[:-1], reads.offsets[1:], starts, ends)
    return Regions(data, [RegionRows(*map(int, row)) for row in zip(*columns, strict=True)])


@pytest.mark.parametrize("k", [10, 25, 35])
def test_two_samples_as_plain(regions: Regions, k: int) -> None:
    for region in range(k % 7, len(regions.rows), 7):
        rules = Rules(k)
        status, expected = assembled(regions.reference(region), regions.reads(region), rules)
        result = regions.built(region, rules)
        assert (result.status == READY) == (status == "ready")
        if expected is not None:
            assert shown(result.graph) == shown_plain(expected)


def test_most_regions_have_a_graph(regions: Regions) -> None:
    ready = [
        sum(regions.built(region, Rules(k)).status == READY for region in range(len(regions.rows)))
        for k in (10, 25)
    ]
    assert 0.5 < ready[0] / len(regions.rows) < 0.75
    assert 0.85 < ready[1] / len(regions.rows) < 1
