"""Reads that no haplotype explains: counted, reported, and the reason of a run without variants."""

from __future__ import annotations

import json
from array import array
from pathlib import Path

import numpy as np
import pysam
import pytest

from tests.cli.call.command import make_inputs, status_of

REGION = "chr20:5000-5300"
NO_VARIANTS = "no variants: most reads have more errors"
EXCLUDED = "reads excluded: no haplotype of their active region explains them"


def write_with_errors(source: Path, target: Path, fraction: float) -> None:
    """Write the reads of the region with random bases, of good quality, in place of some."""
    rng = np.random.default_rng(1)
    with (
        pysam.AlignmentFile(str(source)) as reads,
        pysam.AlignmentFile(str(target), "wb", template=reads) as out,
    ):
        for read in reads.fetch("chr20", 4900, 5400):
            bases = np.array(list(read.query_sequence or ""))
            is_error = rng.random(bases.size) < fraction
            bases[is_error] = rng.choice(list("ACGT"), int(is_error.sum()))
            read.query_sequence = "".join(bases)
            read.query_qualities = array("B", [35] * bases.size)
            out.write(read)
    pysam.index(str(target))


@pytest.mark.parametrize(("fraction", "is_told"), [(0.25, True), (0.0, False)])
def test_a_run_without_variants_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fraction: float, is_told: bool
) -> None:
    inputs = make_inputs(tmp_path)
    reads, statistics = tmp_path / "noisy.bam", tmp_path / "run.json"
    write_with_errors(inputs.reads, reads, fraction)
    out = tmp_path / "calls.vcf"
    given = (reads, inputs.reference, "-r", REGION, "-o", out, "--json", statistics)
    assert status_of(*given) == 0
    counts = json.loads(statistics.read_text())["counts"]
    messages = capsys.readouterr().err
    assert (counts["records"] == 0) == is_told
    assert (counts["poorly_modelled_reads"] > counts["modelled_reads"]) == is_told
    assert (NO_VARIANTS in messages) == is_told
    assert f"{counts['poorly_modelled_reads']} {EXCLUDED}" in messages
