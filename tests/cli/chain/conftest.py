"""Fixtures of the tests of `hapgpu chain`."""

from __future__ import annotations

import pytest

from tests.cli.chain.command import Sample, make_sample
from tests.cli.in_process import status_of_command


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """Make a reference, its index, and reads."""
    sample = make_sample(tmp_path_factory.mktemp("sample"))
    assert status_of_command("index", "--minimizers", sample.fasta, "-q") == 0
    return sample
