"""Fixtures of the tests of `hapgpu chain` with base alignment."""

from __future__ import annotations

import pytest

from tests.cli.chain.command import Sample, lines_of, sam_of


@pytest.fixture(scope="module")
def aligned_lines(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Align all reads, to PAF."""
    return lines_of(tmp_path_factory.mktemp("lines"), sample.fasta, sample.fastq, "-c")


@pytest.fixture(scope="module")
def aligned_records(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Align all reads, to SAM with MD; return header and records."""
    return sam_of(tmp_path_factory.mktemp("records"), sample.fasta, sample.fastq, "--MD")
