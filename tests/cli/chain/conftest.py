"""Fixtures of the tests of `hapgpu chain`."""

from __future__ import annotations

import pytest

from tests.cli.chain.command import Sample, lines_of, make_sample, sam_of
from tests.cli.in_process import status_of_command


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """Make a reference, its index, and reads."""
    sample = make_sample(tmp_path_factory.mktemp("sample"))
    assert status_of_command("index", "--minimizers", sample.fasta, "-q") == 0
    return sample


@pytest.fixture(scope="module")
def aligned_lines(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Align all reads, to PAF."""
    return lines_of(tmp_path_factory.mktemp("lines"), sample.fasta, sample.fastq, "-c")


@pytest.fixture(scope="module")
def aligned_records(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Align all reads, to SAM with MD; return header and records."""
    return sam_of(tmp_path_factory.mktemp("records"), sample.fasta, sample.fastq, "--MD")
