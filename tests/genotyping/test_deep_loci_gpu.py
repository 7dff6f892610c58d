"""Loci with very many reads on a GPU: pieces change nothing, and limits are those of the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hapgpu.genotyping import deep_loci
from hapgpu.genotyping.reads.aligned_reads import AlignedReads
from tests.deep_reads import SITE, made_files, made_reference, made_sites
from tests.genotyping.test_genotype_gpu import calls_on

pytestmark = pytest.mark.gpu

GPU = "cuda:0"
HOST_BYTES = "hapgpu.genotyping.reads.cuda.aligned_reads._HOST_BYTES"
"""By name: the module imports CuPy."""
READS = 5000
POSITIONS = [5000, SITE - 40, SITE, SITE + 20, SITE + 85, 15_000]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_files(tmp_path_factory.mktemp("deep"), POSITIONS, READS)


def limit_pieces(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Hold no reads, and return a list of the reads that are scored together."""
    added: list[int] = []
    add = deep_loci.DeepLoci.add

    def noted(self: Any, reads: Any, first: int) -> None:
        added.append(len(reads.reads))
        add(self, reads, first)

    def opened(self: AlignedReads[Any, Any], *arguments: Any, **options: Any) -> None:
        init(self, *arguments, **{**options, "max_bases": 1})

    init = AlignedReads.__init__
    monkeypatch.setattr(AlignedReads, "__init__", opened)
    monkeypatch.setattr(deep_loci.DeepLoci, "add", noted)
    monkeypatch.setattr(HOST_BYTES, 100_000)
    return added


@pytest.mark.parametrize("kind", ["bam", "sam"])
def test_pieces(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    files = (made / f"deep.{kind}", made / "ref.fa", made / "sites.vcf")
    on_cpu, on_gpu = calls_on("cpu", tmp_path, files), calls_on(GPU, tmp_path, files)
    added = limit_pieces(monkeypatch)
    in_pieces = calls_on(GPU, tmp_path, files)
    assert added or kind == "sam"  # text is read in one piece
    assert on_cpu == on_gpu == in_pieces


@pytest.mark.parametrize("kind", ["bam", "sam"])
def test_the_limit_is_that_of_the_cpu(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    sites = tmp_path / "one.vcf"
    made_sites(sites, made_reference(tmp_path / "ref.fa"), [SITE])
    monkeypatch.setattr(deep_loci, "MAX_LOCUS_BYTES", 1500 * (40 + 2 * 8))
    monkeypatch.setattr(HOST_BYTES, 100_000)
    files = (made / f"deep.{kind}", made / "ref.fa", sites)
    expected = calls_on("cpu", tmp_path, files)
    assert int(expected[0].samples[0]["DP"]) < 1500
    assert calls_on(GPU, tmp_path, files) == expected
