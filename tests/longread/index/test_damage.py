"""Minimizer indexes with valid checksums and invalid values."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.longread.cpu import CpuChainer
from hapgpu.longread.index.build import build_index
from hapgpu.longread.index.files import MINIMIZER_FILE
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import LongReadOptions, SketchOptions
from tests.example_counts import many
from tests.longread.stage_runs import computed

GENOME = random.Random(3).choices("ACGT", k=3000)  # noqa: S311  (the same on every run)
READS = ["".join(GENOME[start : start + 400]) for start in range(0, 2600, 500)]


@pytest.fixture(scope="module")
def valid_index(tmp_path_factory: pytest.TempPathFactory) -> MinimizerIndex:
    fasta = tmp_path_factory.mktemp("valid_index") / "ref.fa"
    fasta.write_text(f">one\n{''.join(GENOME)}\n>two\n{''.join(GENOME[900:1400])}\n", "ascii")
    return build_index(fasta, SketchOptions(k=5, w=3), 1)


def lines_of(index: MinimizerIndex) -> list[list[str]]:
    text = "".join(f">r{number}\n{read}\n" for number, read in enumerate(READS)).encode()
    block = ReadBlock(np.frombuffer(text, dtype=np.uint8), is_fasta=True, first=1, name="reads")
    lines = computed(CpuChainer(index, replace(LongReadOptions(), sketch=index.sketch)), block).text
    return [line.split("\t") for line in lines.tobytes().decode("ascii").splitlines()]


@settings(max_examples=many(150))
@given(data=st.data())
def test_any_values(
    tmp_path_factory: pytest.TempPathFactory, valid_index: MinimizerIndex, data: st.DataObject
) -> None:
    """An invalid index is refused, or gives coordinates within its sequences."""
    name = data.draw(
        st.sampled_from(["lengths", "directory", "entries", "occurrences", "occurrences"])
    )
    array = getattr(valid_index, name).copy()
    words = array.view(f"u{array.itemsize}")
    rows = st.integers(0, array.size - 1)
    values = st.integers(0, 2 ** (8 * array.itemsize) - 1) | st.integers(0, 6000)
    for row, value in data.draw(st.lists(st.tuples(rows, values), min_size=1, max_size=9)):
        words[row] = value
    path = tmp_path_factory.mktemp("any") / "made.hgm"
    MINIMIZER_FILE.save(replace(valid_index, **{name: array}), path)
    try:
        loaded = MINIMIZER_FILE.load(path)
    except InputError as error:
        assert "do not fit each other" in str(error)  # noqa: PT017  (it may also be loaded)
        return
    for line in lines_of(loaded):
        size = int(loaded.lengths[loaded.names.index(line[5])])
        assert int(line[6]) == size
        assert 0 <= int(line[7]) < int(line[8]) <= size
