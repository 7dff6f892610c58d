"""`hapgpu.genotype`: arrays equal to the output of the command."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from hapgpu import genotype, genotype_batches
from hapgpu.errors import DeviceError, HapgpuError, InputError, UsageError
from hapgpu.genotyping.options import GenotypeOptions
from tests.cli.genotype.command import (
    ALT,
    BASES,
    CONTIG,
    OTHER,
    REF,
    SITE,
    Call,
    calls_of,
    pileup,
    write_bam,
    write_sam,
    write_sites,
)
from tests.cli.haplotypes.command import write_reference

RECORDS = [
    f"20 {BASES[19]} {'ACGT'.replace(BASES[19], '')[0]}",
    f"{SITE} {REF} {ALT}",
    f"{SITE} {REF} {OTHER},{ALT},<DEL>",
    f"{SITE + 9} {BASES[SITE + 8]} .",
    f"{SITE + 20} {BASES[SITE + 19 : SITE + 25]} {BASES[SITE + 19]},*",
]
ALLELES = np.array([2, 2, 4, 1, 3])


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], Path, Path]:
    """Return two files of reads of three samples, a reference and sites."""
    directory = tmp_path_factory.mktemp("inputs")
    groups = {"a": "NA1", "b": "NA2"}
    both = [*pileup("01" * 6, "a", group="a"), *pileup("1" * 5, "b", group="b")]
    return (
        [
            write_bam(write_sam(directory / "both.sam", both, groups)),
            write_sam(directory / "third.sam", pileup("000"), {"run1": "NA3"}),
        ],
        write_reference(directory, BASES, CONTIG),
        write_sites(directory / "sites.vcf", RECORDS),
    )


def numbers(text: str) -> list[int]:
    return [int(part) if part != "." else -1 for part in text.replace("/", ",").split(",")]


def column(calls: Sequence[Call], field: str) -> list[list[int]]:
    """Return the values of a field, site by site and sample by sample."""
    return [numbers(sample[field]) for call in calls for sample in call.samples]


@pytest.mark.parametrize("ploidy", [1, 2, 3, 4])
def test_arrays_equal_the_output_of_the_command(
    inputs: tuple[list[Path], Path, Path], tmp_path: Path, ploidy: int
) -> None:
    reads, reference, sites = inputs
    calls = calls_of(tmp_path, *reads, reference, sites, "--ploidy", str(ploidy))
    found = genotype(reads, reference, sites, ploidy=ploidy, device="cpu")
    assert found.samples == ("NA1", "NA2", "NA3")
    assert len(found) == len(found.alleles) == len(calls) == len(RECORDS)
    assert [found.contig_names[k] for k in found.contigs] == [CONTIG] * len(RECORDS)
    assert found.ids == (".",) * len(RECORDS)
    assert [
        f"{position + 1} {reference} {','.join(alternatives) or '.'}"
        for position, (reference, *alternatives) in zip(found.positions, found.alleles, strict=True)
    ] == RECORDS
    assert found.genotypes.dtype == found.genotype_qualities.dtype == np.int16
    assert found.genotypes.shape == (len(RECORDS), 3, ploidy)
    assert found.genotype_qualities.shape == found.depths.shape == (len(RECORDS), 3)
    assert found.genotypes.reshape(-1, ploidy).tolist() == column(calls, "GT")
    assert found.genotype_qualities.reshape(-1, 1).tolist() == column(calls, "GQ")
    assert found.depths.reshape(-1, 1).tolist() == column(calls, "DP")
    assert [row.tolist() for row in found.allele_depths] == column(calls, "AD")
    likelihoods = [row.tolist() or [-1] for row in found.phred_likelihoods]
    assert likelihoods == column(calls, "PL")
    for quality, call in zip(found.qualities.tolist(), calls, strict=True):
        assert (call.quality == ".") == math.isnan(quality)
        assert call.quality == "." or abs(float(call.quality) - quality) <= 0.005001


def test_values_are_consistent(inputs: tuple[list[Path], Path, Path]) -> None:
    found = genotype(*inputs, device="cpu")
    assert found.genotypes[1].tolist() == [[0, 1], [1, 1], [0, 0]]
    assert found.genotypes[2].tolist() == [[0, 2], [2, 2], [0, 0]]
    is_called = found.genotype_qualities >= 0
    assert is_called.any(axis=1).tolist() == [False, True, True, False, True]
    assert (found.genotypes[~is_called] == -1).all()
    assert (np.diff(found.genotypes, axis=2) >= 0).all()
    assert found.depths[1].tolist() == [12, 5, 3]
    counts = np.repeat(ALLELES, 3)
    assert found.allele_depths.lengths.tolist() == counts.tolist()
    pairs = np.where(is_called.ravel(), counts * (counts + 1) // 2, 0)
    assert found.phred_likelihoods.lengths.tolist() == pairs.tolist()
    assert all(row.min() == 0 for row in found.phred_likelihoods if row.size)


def test_one_file_needs_no_list(inputs: tuple[list[Path], Path, Path]) -> None:
    (reads, _), reference, sites = inputs
    in_list = genotype([reads], reference, sites, device="cpu")
    for path in (reads, str(reads)):
        alone = genotype(path, str(reference), str(sites), device="cpu")
        assert alone.samples == ("NA1", "NA2")
        assert alone.genotypes.tolist() == in_list.genotypes.tolist()
        assert alone.phred_likelihoods.data.tolist() == in_list.phred_likelihoods.data.tolist()


def test_options_have_an_effect(inputs: tuple[list[Path], Path, Path], tmp_path: Path) -> None:
    """The API's calls are the command's, with the same names."""
    reads, reference, sites = inputs
    for name, value in [("prior", "flat"), ("pcr_model", "hostile")]:
        calls = calls_of(tmp_path, *reads, reference, sites, f"--{name.replace('_', '-')}", value)
        found = genotype(reads, reference, sites, device="cpu", **{name: value})
        usual = genotype(reads, reference, sites, device="cpu")
        assert found.genotype_qualities.reshape(-1, 1).tolist() == column(calls, "GQ")
        assert found.qualities.tolist() != usual.qualities.tolist()


def test_regions_and_mapping_qualities(inputs: tuple[list[Path], Path, Path]) -> None:
    usual = genotype(*inputs, device="cpu")
    some = genotype(*inputs, regions=[f"{CONTIG}:{SITE}-{SITE}"], device="cpu")
    assert some.positions.tolist() == [SITE - 1, SITE - 1]
    assert some.genotypes.tolist() == usual.genotypes[1:3].tolist()
    none = genotype(*inputs, min_mapping_quality=255, device="cpu")
    assert (none.genotypes == -1).all()
    assert (usual.genotypes >= 0).any()


def test_no_sites(inputs: tuple[list[Path], Path, Path], tmp_path: Path) -> None:
    reads, reference, _ = inputs
    none = write_sites(tmp_path / "none.vcf", [])
    found = genotype(reads, reference, none, ploidy=3, device="cpu")
    assert len(found) == 0
    assert found.genotypes.shape == (0, 3, 3)
    assert found.genotype_qualities.shape == found.depths.shape == (0, 3)
    assert len(found.allele_depths) == len(found.phred_likelihoods) == 0
    assert found.qualities.shape == found.contigs.shape == (0,)
    assert found.ids == found.alleles == ()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"ploidy": 5}, UsageError, "ploidy=5: out of range; give a whole number from 1 to 4"),
        ({"ploidy": 0}, UsageError, "ploidy=0: out of range"),
        ({"prior": "strong"}, UsageError, "prior 'strong': unknown; give one of flat, population"),
        (
            {"pcr_model": "friendly"},
            UsageError,
            "pcr_model 'friendly': unknown; give one of none, ",
        ),
        ({"device": "tpu"}, UsageError, "device 'tpu': unknown"),
        ({"device": "cuda:4000"}, DeviceError, "cuda:4000"),
        ({"reads": "absent.bam"}, InputError, "absent.bam"),
        ({"reads": []}, UsageError, "reads: no file given"),
        ({"reference": "absent.fa"}, InputError, "absent.fa"),
        ({"sites": "absent.vcf"}, InputError, "absent.vcf"),
    ],
)
def test_errors(
    inputs: tuple[list[Path], Path, Path],
    options: dict[str, object],
    error: type[HapgpuError],
    message: str,
) -> None:
    reads, reference, sites = inputs
    given = {"reads": reads, "reference": reference, "sites": sites, "device": "cpu"} | options
    with pytest.raises(error, match=message):
        genotype(**given)


def test_defaults_are_those_of_the_command() -> None:
    defaults = GenotypeOptions()
    given = {name: each.default for name, each in inspect.signature(genotype).parameters.items()}
    assert given == {
        **dict.fromkeys(("reads", "reference", "sites"), inspect.Parameter.empty),
        "regions": None,
        "min_mapping_quality": defaults.min_mapping_quality,
        "ploidy": defaults.ploidy,
        "prior": defaults.prior,
        "pcr_model": defaults.pcr_model,
        "device": "auto",
        "threads": None,
        "processes": 1,
        "progress": False,
    }
    batches = inspect.signature(genotype_batches).parameters
    assert {name: each.default for name, each in batches.items()} == given
