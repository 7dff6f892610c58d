"""Minimizer indexes with right checksums and wrong values."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.chaining.index.build import build_index
from hapgpu.chaining.index.files import MINIMIZER_FILE
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import MapOptions, SketchOptions
from hapgpu.chaining.run.cpu import CpuChainer
from hapgpu.errors import InputError
from hapgpu.io.fastx.read_block import ReadBlock

GENOME = random.Random(3).choices("ACGT", k=3000)  # noqa: S311  (the same on every run)
READS = ["".join(GENOME[start : start + 400]) for start in range(0, 2600, 500)]


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> MinimizerIndex:
    fasta = tmp_path_factory.mktemp("usual") / "ref.fa"
    fasta.write_text(f">one\n{''.join(GENOME)}\n>two\n{''.join(GENOME[900:1400])}\n", "ascii")
    return build_index(fasta, SketchOptions(5, 3), 1)


def chained(index: MinimizerIndex) -> list[list[str]]:
    text = "".join(f">r{number}\n{read}\n" for number, read in enumerate(READS)).encode()
    block = ReadBlock(np.frombuffer(text, dtype=np.uint8), is_fasta=True, first=1, name="reads")
    lines = CpuChainer(index, replace(MapOptions(), sketch=index.sketch))(block).text
    return [line.split("\t") for line in lines.tobytes().decode("ascii").splitlines()]


@settings(max_examples=150)
@given(data=st.data())
def test_any_values(
    tmp_path_factory: pytest.TempPathFactory, usual: MinimizerIndex, data: st.DataObject
) -> None:
    """Such an index is refused, or leads to places within its sequences."""
    name = data.draw(st.sampled_from(["lengths", "directory", "entries", "hits", "hits"]))
    array = getattr(usual, name).copy()
    words = array.view(f"u{array.itemsize}")
    places = st.integers(0, array.size - 1)
    values = st.integers(0, 2 ** (8 * array.itemsize) - 1) | st.integers(0, 6000)
    for place, value in data.draw(st.lists(st.tuples(places, values), min_size=1, max_size=9)):
        words[place] = value
    path = tmp_path_factory.mktemp("any") / "made.hgm"
    MINIMIZER_FILE.save(replace(usual, **{name: array}), path)
    try:
        loaded = MINIMIZER_FILE.load(path)
    except InputError as error:
        assert "do not fit each other" in str(error)  # noqa: PT017  (it may also be loaded)
        return
    for line in chained(loaded):
        size = int(loaded.lengths[loaded.names.index(line[5])])
        assert int(line[6]) == size
        assert 0 <= int(line[7]) < int(line[8]) <= size
