"""Fixtures of the tests of `hapgpu.LongReadIndex`."""

from __future__ import annotations

import pytest

import hapgpu
from tests.cli.chain.command import Sample, make_sample


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """Make a reference with repeats, and reads."""
    return make_sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="session")
def index(sample: Sample) -> hapgpu.LongReadIndex:
    """Index the reference of the sample."""
    return hapgpu.LongReadIndex.build(sample.fasta, threads=1)
