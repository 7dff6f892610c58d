"""`hapgpu.genotype_batches` and the table of genotypes."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from hapgpu import Genotypes, InputError, UsageError, genotype, genotype_batches
from hapgpu.genotyping import pipeline
from hapgpu.haplotypes.locus_batches import LocusLimits
from tests.cli.genotype.command import (
    ALT,
    BASES,
    CONTIG,
    REF,
    SITE,
    pileup,
    write_bam,
    write_sam,
    write_sites,
)
from tests.cli.haplotypes.command import write_reference

Inputs = tuple[Path, Path, Path]
MISSING = f"20 {BASES[19]} {'ACGT'.replace(BASES[19], '')[0]}"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    directory = tmp_path_factory.mktemp("inputs")
    return (
        write_bam(write_sam(directory / "reads.sam", pileup("01" * 6), {"run1": "NA1"})),
        write_reference(directory, BASES, CONTIG),
        write_sites(directory / "sites.vcf", [MISSING, f"{SITE} {REF} {ALT}"]),
    )


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = LocusLimits(loci=1, bases=1)
    monkeypatch.setattr(pipeline.GenotypeSession, "_locus_limits", lambda _: limits)


@pytest.mark.parametrize(("threads", "processes"), [(1, 1), (3, 1), (2, 2)])
def test_batches_are_the_genotypes(inputs: Inputs, threads: int, processes: int) -> None:
    expected = genotype(*inputs, device="cpu", threads=1)
    found = list(genotype_batches(*inputs, device="cpu", threads=threads, processes=processes))
    assert [len(batch) for batch in found] == [1, 1]
    whole = Genotypes.concatenate(found)
    assert whole.samples == expected.samples == ("NA1",)
    assert whole.contig_names == expected.contig_names == (CONTIG,)
    assert whole.alleles == expected.alleles
    assert whole.ids == expected.ids
    for name in ("contigs", "positions", "qualities", "genotypes", "genotype_qualities", "depths"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(expected, name))
    for name in ("allele_depths", "phred_likelihoods"):
        assert getattr(whole, name).to_list() == getattr(expected, name).to_list()


def test_an_early_end_leaves_no_thread_behind(inputs: Inputs) -> None:
    before = set(threading.enumerate())
    batches = genotype_batches(*inputs, device="cpu", threads=2)
    assert len(next(batches)) == 1
    batches.close()
    assert set(threading.enumerate()) == before


def test_errors(inputs: Inputs) -> None:
    with pytest.raises(UsageError, match="ploidy=0: out of range"):
        genotype_batches(*inputs, ploidy=0, device="cpu")
    reads, reference, _ = inputs
    with pytest.raises(InputError, match=r"absent\.vcf"):
        next(genotype_batches(reads, reference, "absent.vcf", device="cpu"))


def test_a_bar_counts_the_sites(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    genotype(*inputs, device="cpu", progress=True)
    shown = capsys.readouterr().err
    assert "genotyping: 100%" in shown
    assert "2.00/2.00" in shown


def test_table(inputs: Inputs) -> None:
    pytest.importorskip("pandas")
    table = genotype(*inputs, device="cpu").to_dataframe()
    assert table.columns.tolist() == [
        *("contig", "position", "id", "ref", "alt", "quality"),
        *("sample", "genotype", "genotype_quality", "depth"),
        *("allele_depths", "phred_likelihoods"),
    ]
    missing, called = table.to_dict("records")
    assert (missing["genotype"], missing["genotype_quality"]) == ("./.", -1)
    assert np.isnan(missing["quality"])
    assert missing["phred_likelihoods"] == []
    assert (called["contig"], called["position"], called["id"]) == (CONTIG, SITE - 1, ".")
    assert (called["ref"], called["alt"], called["sample"]) == (REF, ALT, "NA1")
    assert (called["genotype"], called["depth"]) == ("0/1", 12)
    assert called["allele_depths"] == [6, 6]


def test_a_table_without_sites(inputs: Inputs, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    reads, reference, _ = inputs
    none = write_sites(tmp_path / "none.vcf", [])
    assert len(genotype(reads, reference, none, device="cpu").to_dataframe()) == 0
