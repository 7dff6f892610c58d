"""Minimizers on the GPU against the CPU: made-up sequences, edges of tiles, real reads."""

from __future__ import annotations

import gzip
import inspect
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.longread.index import sketch as on_cpu
from hapgpu.longread.options import SketchOptions

TILE = 256  # slots of a warp, as in cuda/longread/seed/slots.cu
OPTIONS = [
    SketchOptions(),
    SketchOptions(k=19, w=19),
    SketchOptions(k=1, w=1),
    SketchOptions(k=3, w=255),
    SketchOptions(k=27, w=2),
    SketchOptions(k=14, w=7),
    SketchOptions(k=2, w=1),
    SketchOptions(k=4, w=30),
    SketchOptions(k=28, w=255),
    SketchOptions(k=19, w=10, is_hpc=True),
    SketchOptions(k=4, w=3, is_hpc=True),
    SketchOptions(k=28, w=40, is_hpc=True),
]
LETTERS = ["ACGT", "AC", "AT", "ACGT" * 40 + "N", "ACGTacgtUuNnRY*\x01", "A"]


def check(rows: list[str], options: SketchOptions) -> None:
    """Compare both devices; the text has other bases between the rows."""
    cupy = pytest.importorskip("cupy")
    from hapgpu.longread.cuda import sketch as sketch_cuda  # noqa: PLC0415  (needs CuPy)

    text = Ragged.from_sequences([between for row in rows for between in (row, "ACGT")])
    starts = text.offsets[:-1:2].astype(np.int32)
    lengths = text.lengths[::2].astype(np.int32)
    expected = on_cpu.sketch(text.data, starts, lengths, options)
    found = sketch_cuda.sketch(*map(cupy.asarray, (text.data, starts, lengths)), options)
    for of_gpu, of_cpu in zip(astuple(found), astuple(expected), strict=True):
        assert of_gpu.dtype == of_cpu.dtype
        np.testing.assert_array_equal(of_gpu.get(), of_cpu)


def made_rows(seed: int, longest: int) -> list[str]:
    """Make sequences with repeats, homopolymers and ambiguous letters."""
    rng = np.random.default_rng(seed)
    rows = [""]
    for letters in LETTERS:
        for run in (1, 2, 7, 300):
            drawn = rng.choice(list(letters), int(rng.integers(1, longest)))
            rows.append("".join(letter * run for letter in drawn)[:longest])
            rows.append((rows[-1][:30] * longest)[: int(rng.integers(1, longest))])
    return rows


@pytest.mark.gpu
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_made_sequences(options: SketchOptions) -> None:
    for seed in range(5):
        check(made_rows(seed, 1500), options)


@pytest.mark.gpu
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_edges_of_tiles(options: SketchOptions) -> None:
    """Sequences that end near the edge of a tile, and ambiguous bases near it."""
    text = "".join(np.random.default_rng(7).choice(list("ACGT"), 3 * TILE))
    positions = range(TILE - 40, TILE + 40)
    check([text[:position] for position in positions], options)
    check([f"{text[:position]}N{text[position:]}" for position in positions], options)
    check([text[:length] for length in range(2 * (options.k + options.w) + 5)], options)


@pytest.mark.gpu
@pytest.mark.parametrize("options", [OPTIONS[0], OPTIONS[5], OPTIONS[9]], ids=str)
def test_many_short_and_one_long(options: SketchOptions) -> None:
    text = "".join(np.random.default_rng(8).choice(list("ACGT"), 3_000_000))
    check([text[k : k + k % 90] for k in range(20_000)] + [text, ""], options)


@pytest.mark.gpu
def test_no_reads() -> None:
    check([], SketchOptions())
    check([], SketchOptions(k=14, w=7))
    check(["", "", "ACGT"], SketchOptions())


@pytest.mark.gpu
@pytest.mark.parametrize("options", [OPTIONS[0], OPTIONS[1], OPTIONS[5], OPTIONS[9]], ids=str)
def test_real_reads(data_dir: Path, options: SketchOptions) -> None:
    for name in ("reads.fa.gz", "ref.fa.gz"):
        with gzip.open(data_dir / "longread" / "chain" / name, "rt") as file:
            records = file.read().split(">")[1:]
        check(["".join(record.split("\n")[1:]) for record in records], options)


def test_same_signature() -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda import sketch as sketch_cuda  # noqa: PLC0415  (needs CuPy)

    own, other = inspect.signature(sketch_cuda.sketch), inspect.signature(on_cpu.sketch)
    assert list(own.parameters) == list(other.parameters)
