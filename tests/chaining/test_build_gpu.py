"""Hits of a reference sorted on the GPU: the very arrays that the CPU makes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hapgpu.batch import Ragged
from hapgpu.chaining.grouping import Part, group_by_hash
from hapgpu.chaining.minimizers import sketch
from hapgpu.chaining.options import SketchOptions
from hapgpu.io.fasta import read_fasta
from hapgpu.io.pool import Pool

pytestmark = pytest.mark.gpu

OPTIONS = [SketchOptions(), SketchOptions(14, 7), SketchOptions(19, 10, is_hpc=True)]


def check(sequences: Ragged, options: SketchOptions) -> None:
    pytest.importorskip("cupy")
    from hapgpu.chaining.build_cuda import group_on_device  # noqa: PLC0415  (needs CuPy)

    starts, lengths = sequences.offsets[:-1].astype(np.int32), sequences.lengths.astype(np.int32)
    with Pool(1) as pool:
        part = Part(0, sketch(sequences.data, starts, lengths, options))
        expected = group_by_hash([part], pool)
    for actual, wanted in zip(group_on_device(sequences, options), expected, strict=True):
        assert actual.dtype == wanted.dtype
        np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_made_sequences(monkeypatch: pytest.MonkeyPatch, options: SketchOptions) -> None:
    """With repeats within and between them, and with several parts."""
    rng = np.random.default_rng(3)
    text = "".join(rng.choice(list("ACGT"), 3000))
    sequences = Ragged.from_sequences([text, "", text[500:900] * 4, "N" * 40, "A" * 300, text])
    check(sequences, options)
    check(Ragged.from_sequences([""]), options)
    monkeypatch.setattr("hapgpu.chaining.build_cuda._PART_BASES", 2000)
    check(sequences, options)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_real_reference(data_dir: Path, options: SketchOptions) -> None:
    check(read_fasta(data_dir / "longread" / "chain" / "ref.fa.gz").sequences, options)
