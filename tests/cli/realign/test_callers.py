"""Real reads after `hapgpu realign --reference`: no read aligned worse, calls at least as good."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.realign.caller_comparison import (
    CALLERS,
    KINDS,
    Prepared,
    Report,
    called_scores,
    inputs_of,
    measure,
    prepare,
    realign,
)
from tests.realign.record_claims import Rules, findings

MAX_GROWN = 0.005
# One genotype of 20 stays wrong, chr20:10046178: it takes reads such as 148M with two mismatches
# that become 124M10D24M, and no read may grow by more than 5.
NO_BETTER = {("HG002", "bcftools")}
SAMPLES = [pytest.param(name, marks=pytest.mark.exhaustive) for name in ("HG002", "NA12878")]


class Measured(NamedTuple):
    """A sample, realigned once."""

    sample: str
    report: Report
    prepared: Prepared
    realigned: Path


@pytest.fixture(scope="module", params=SAMPLES)
def measured(
    request: pytest.FixtureRequest, data_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Measured:
    directory = tmp_path_factory.mktemp(request.param)
    inputs = inputs_of(request.param, data_dir)
    report = measure(inputs, directory, callers=())
    prepared = prepare(replace(inputs, haplotypes=directory / "haplotypes.fa"), directory)
    return Measured(request.param, report, prepared, directory / "realigned.bam")


def test_reads_are_not_aligned_worse(measured: Measured) -> None:
    growth = measured.report.growth
    assert growth.moved > 10
    assert growth.grew_much == []
    assert growth.share < MAX_GROWN, growth.grew[:10]
    assert growth.insertions == []


def test_reads_are_clipped_less(measured: Measured) -> None:
    for before, after in (measured.report.clipped.at_loci, measured.report.clipped.within_loci):
        assert after <= before


def test_every_claim_holds(measured: Measured) -> None:
    assert measured.report.findings == []


def test_fixmate_changes_nothing(measured: Measured) -> None:
    """Picard finds only faults of the input, and none if the input went through fixmate."""
    assert measured.report.fixmate == {}
    assert measured.report.fixmate_of_fixed == {}


@pytest.mark.parametrize("caller", CALLERS)
def test_calls_are_not_worse(measured: Measured, caller: str) -> None:
    for program in {"bcftools", caller}:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    scores = called_scores(measured.prepared, measured.realigned, [caller])
    for kind in KINDS:
        before, after = scores[caller, kind]
        assert before.total > 0
        assert after.found >= before.found
        assert after.right >= before.right
        assert after.false <= before.false
    if (measured.sample, caller) not in NO_BETTER:
        before, after = scores[caller, "indel"]
        assert after.right > before.right or before.right == before.total


def test_reads_at_loci_only(measured: Measured, tmp_path: Path) -> None:
    prepared, inputs = measured.prepared, measured.prepared.inputs
    out = tmp_path / "at_loci.bam"
    realign(prepared, inputs.reads, out, ["--loci-only"])
    rules = Rules(loci=prepared.loci, loci_only=True)
    assert findings(inputs.reads, out, inputs.reference, rules) == []
