"""`hapgpu.call`: arrays equal to the output of the command."""

from __future__ import annotations

import inspect
import math
from pathlib import Path

import numpy as np
import pytest

from hapgpu import call, call_batches
from hapgpu.calling.options import CallOptions
from hapgpu.errors import DeviceError, HapgpuError, InputError, UsageError
from tests.cli.call.command import Inputs, called, make_inputs, records_in

REGIONS = ["chr20:5000-5300", "chr20:15000-15300"]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("example"))


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.replace("/", ",").split(",")]


@pytest.mark.parametrize("inputs", [1, 2])
@pytest.mark.parametrize("regions", [None, REGIONS])
def test_arrays_equal_the_output_of_the_command(
    example: Inputs, tmp_path: Path, inputs: int, regions: list[str] | None
) -> None:
    reads = [example.reads]
    if inputs == 2:
        text = example.reads.with_suffix(".sam").read_text().replace("SM:", "SM:second_")
        reads.append(tmp_path / "second.sam")
        reads[-1].write_text(text)
    words = [word for region in regions or () for word in ("-r", region)]
    lines = called(tmp_path, *reads, example.reference, *words)
    rows = records_in(lines)
    found = call(reads, example.reference, regions=regions, device="cpu")
    names = next(line for line in lines.splitlines() if line.startswith("#CHROM")).split("\t")
    assert list(found.samples) == names[9:]
    assert len(found) == len(rows) == (4 if regions else 15)
    assert [found.contig_names[k] for k in found.contigs] == [row[0] for row in rows]
    assert found.contigs.dtype == np.int32
    assert (found.positions + 1).tolist() == [int(row[1]) for row in rows]
    assert list(found.alleles) == [(row[3], *row[4].split(",")) for row in rows]
    assert found.qualities == pytest.approx([float(row[5]) for row in rows], abs=0.00501)
    samples = [sample.split(":") for row in rows for sample in row[9:]]
    assert found.genotypes.shape == (len(rows), inputs, 2)
    assert found.genotypes.reshape(-1, 2).tolist() == [numbers(each[0]) for each in samples]
    assert [row.tolist() for row in found.allele_depths] == [numbers(each[1]) for each in samples]
    assert found.depths.ravel().tolist() == [int(each[2]) for each in samples]
    assert found.genotype_qualities.ravel().tolist() == [int(each[3]) for each in samples]
    likelihoods = [row.tolist() for row in found.phred_likelihoods]
    assert likelihoods == [numbers(each[4]) for each in samples]
    check_annotations(found.annotations, found.total_depths, [row[7] for row in rows])


def check_annotations(
    annotations: dict[str, np.ndarray], depths: np.ndarray, infos: list[str]
) -> None:
    fields = [dict(field.split("=") for field in info.split(";")) for info in infos]
    assert depths.tolist() == [int(each["DP"]) for each in fields]
    assert {"FS", "MQ", "QD", "SOR", "ReadPosRankSum"} <= annotations.keys()
    for name, values in annotations.items():
        for value, each in zip(values.tolist(), fields, strict=True):
            assert math.isnan(value) == (name not in each)
            assert math.isnan(value) or float(each[name]) == pytest.approx(value, abs=0.00501)


def test_no_variants(example: Inputs) -> None:
    found = call(str(example.reads), str(example.reference), regions=["chr20:1-9"], device="cpu")
    assert len(found) == 0
    assert found.genotypes.shape == (0, 1, 2)
    assert found.genotype_qualities.shape == found.depths.shape == (0, 1)
    assert len(found.allele_depths) == len(found.phred_likelihoods) == 0
    assert {values.shape for values in found.annotations.values()} == {(0,)}
    assert found.contigs.shape == found.positions.shape == (0,)
    assert found.alleles == ()
    assert found.contig_names == ("chr20",)


def test_a_sample_without_reads_has_no_call(example: Inputs, tmp_path: Path) -> None:
    """As in `genotype`, a genotype that is no call has neither GQ nor PL."""
    other = tmp_path / "other.sam"
    lines = example.reads.with_suffix(".sam").read_text().replace("SM:", "SM:other_").splitlines()
    other.write_text("".join(f"{line}\n" for line in lines if line.startswith("@")))
    found = call([example.reads, other], example.reference, regions=REGIONS, device="cpu")
    column = next(k for k, name in enumerate(found.samples) if name.startswith("other_"))
    assert len(found)
    assert (found.genotypes[:, column] == -1).all()
    assert (found.genotype_qualities[:, column] == -1).all()
    sizes = found.phred_likelihoods.lengths.reshape(len(found), 2)
    assert not sizes[:, column].any()
    assert (sizes[:, 1 - column] >= 3).all()
    assert (found.genotype_qualities[:, 1 - column] >= 0).all()


def test_options_have_an_effect(example: Inputs) -> None:
    usual = call(example.reads, example.reference, regions=REGIONS, device="cpu")
    for options in (
        {"min_confidence": 2500.0},
        {"max_reads_per_start": 1},
        {"min_mapping_quality": 61},
        {"pcr_model": "none"},
    ):
        found = call(example.reads, example.reference, regions=REGIONS, device="cpu", **options)
        assert found.qualities.tolist() != usual.qualities.tolist()


def test_limits_may_be_0(example: Inputs) -> None:
    """All reads are used, and no QUAL is too low: the usual four variants are among those found."""
    limits = {"min_confidence": 0.0, "max_reads_per_start": 0}
    found = call(example.reads, example.reference, regions=REGIONS, device="cpu", **limits)
    assert len(found) >= 4


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"min_confidence": -1.0},
            UsageError,
            "min_confidence=-1.0: out of range; give a number of at least 0",
        ),
        ({"min_confidence": math.nan}, UsageError, "min_confidence=nan: out of range"),
        ({"min_confidence": math.inf}, UsageError, "min_confidence=inf: out of range"),
        (
            {"max_reads_per_start": -1},
            UsageError,
            "max_reads_per_start=-1: out of range; give a whole",
        ),
        ({"max_reads_per_start": 1.5}, UsageError, r"max_reads_per_start=1\.5: out of range"),
        ({"min_mapping_quality": 256}, UsageError, "min_mapping_quality=256: out of range"),
        ({"threads": 0}, UsageError, "threads=0: out of range"),
        ({"processes": 0}, UsageError, "processes=0: out of range"),
        ({"regions": ["chr20", 5]}, UsageError, "region 1: of type int; give str"),
        ({"regions": "chr20:1-9"}, UsageError, "regions: not a list; give a list, even for one"),
        (
            {"pcr_model": "friendly"},
            UsageError,
            "pcr_model 'friendly': unknown; give one of none, ",
        ),
        ({"regions": ["chr20:9-1"]}, UsageError, "its end is before its start"),
        ({"regions": ["20"]}, UsageError, "no contig '20' in the reference; found 'chr20'"),
        ({"device": "tpu"}, UsageError, "device 'tpu': unknown"),
        ({"device": "cuda:4000"}, DeviceError, "cuda:4000"),
        ({"reads": "absent.bam"}, InputError, "absent.bam"),
        ({"reads": []}, UsageError, "reads: no file given"),
        ({"reference": "absent.fa"}, InputError, "absent.fa"),
    ],
)
def test_errors(
    example: Inputs, options: dict[str, object], error: type[HapgpuError], message: str
) -> None:
    given: dict[str, object] = {**example._asdict(), "device": "cpu", **options}
    with pytest.raises(error, match=message):
        call(**given)  # type: ignore[arg-type]


def test_defaults_are_those_of_the_command() -> None:
    defaults = CallOptions()
    given = {name: each.default for name, each in inspect.signature(call).parameters.items()}
    assert given == {
        "reads": inspect.Parameter.empty,
        "reference": inspect.Parameter.empty,
        "regions": None,
        "min_mapping_quality": defaults.min_mapping_quality,
        "max_reads_per_start": defaults.max_reads_per_start,
        "min_confidence": defaults.genotyping.min_confidence,
        "ploidy": defaults.genotyping.ploidies.default,
        "pcr_model": defaults.pcr_model,
        "gatk_strict": defaults.assembly.is_strict,
        "device": "auto",
        "threads": None,
        "processes": 1,
        "progress": False,
    }
    batches = inspect.signature(call_batches).parameters
    assert {name: each.default for name, each in batches.items()} == given
