"""Text batches parsed and written on a GPU, against the CPU."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.errors import InputError
from hapgpu.pairhmm.batches import HmmBatch, HmmReads
from hapgpu.pairhmm.pipeline import LikelihoodRun, score_batches
from hapgpu.pairhmm.text_batches import cuda
from hapgpu.pairhmm.text_batches.parser import TextPiece, parse_piece
from hapgpu.pairhmm.text_batches.tables import likelihood_matrix, likelihood_table
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.progress import NoProgress
from hapgpu.runtime.statistics import RunStatistics
from tests.pairhmm.text_batches.made_texts import EDITS, GROUPS, Group, edited, text_of

pytestmark = pytest.mark.gpu

DEVICE = CudaDevice(0)


def piece_of(text: bytes) -> TextPiece:
    lines = np.frombuffer(text, dtype=np.uint8)
    return TextPiece(lines, lines, "x.in", 0, 1)


def parsed_on_gpu(text: bytes) -> HmmBatch | None:
    import cupy  # noqa: PLC0415  (only with a GPU)

    from hapgpu.pairhmm.text_batches.cuda import parse_on_gpu  # noqa: PLC0415  (as above)

    batch = parse_on_gpu(cupy.asarray(np.frombuffer(text, dtype=np.uint8)))
    return None if batch is None else batch.download()


def assert_equal_batches(found: HmmBatch, expected: HmmBatch) -> None:
    pairs = [
        (found.reads.bases.data, expected.reads.bases.data),
        (found.reads.bases.offsets, expected.reads.bases.offsets),
        (found.haplotypes.data, expected.haplotypes.data),
        (found.haplotypes.offsets, expected.haplotypes.offsets),
        (found.read_offsets, expected.read_offsets),
        (found.haplotype_offsets, expected.haplotype_offsets),
        *zip(found.reads.qualities, expected.reads.qualities, strict=True),
    ]
    for own, other in pairs:
        np.testing.assert_array_equal(own, other)


def assert_same_as_cpu(text: bytes) -> None:
    found = parsed_on_gpu(text)
    try:
        expected = parse_piece(piece_of(text))
    except InputError:
        assert found is None
        return
    assert found is not None
    assert_equal_batches(found, expected)


@settings(max_examples=60)
@given(
    groups=GROUPS,
    newline=st.sampled_from([b"\n", b"\r\n", b"\t \r\n"]),
    blank=st.sampled_from([b" ", b" \t"]),
    gap=st.sampled_from([b"", b" \r\n\n"]),
)
def test_parse(groups: list[Group], newline: bytes, blank: bytes, gap: bytes) -> None:
    assert_same_as_cpu(gap + gap.join(text_of([group], newline, blank) for group in groups))


@settings(max_examples=150)
@given(groups=GROUPS, edits=EDITS)
def test_faults(groups: list[Group], edits: list[tuple[int, int, bytes]]) -> None:
    assert_same_as_cpu(edited(text_of(groups), edits) + b"\n")


@pytest.mark.parametrize("continuations", [b"+" * 70, b"+" * 69 + b"!"])
@pytest.mark.parametrize("reads", [0, 1, 40])
def test_long_lines(continuations: bytes, reads: int) -> None:
    read = (b"ACGTN" * 14, *[b"I" * 70] * 3, continuations)
    assert_same_as_cpu(text_of([([read] * reads, [b"ACGT" * 90, b"G"] * 3)] * 50))


@pytest.mark.parametrize(
    "text",
    [b"\n", b" \r\n\n", b"0 0\n", b"0 2\nA\nC\n", b"3 0\n" + b"A I I I +\n" * 3],
)
def test_without_pairs(text: bytes) -> None:
    assert_same_as_cpu(text)


def test_real_files(data_dir: Path) -> None:
    for name in ("tiny.in", "10s.in"):
        assert_same_as_cpu((data_dir / "pairhmm" / name).read_bytes())


def batch_of(counts: list[tuple[int, int]]) -> HmmBatch:
    """Make groups with these numbers of reads and of haplotypes of one base."""
    reads, haplotypes = np.array(counts, dtype=np.int64).reshape(-1, 2).T
    read_offsets, haplotype_offsets = offsets_of(reads), offsets_of(haplotypes)
    bases, columns = (
        Ragged.from_lengths(np.full(n, ord("A"), dtype=np.uint8), np.ones(n, dtype=np.int64))
        for n in (int(read_offsets[-1]), int(haplotype_offsets[-1]))
    )
    qualities = [np.full(bases.data.size, 40, dtype=np.uint8)] * 4
    return HmmBatch(HmmReads(bases, *qualities), columns, read_offsets, haplotype_offsets)


def written_on_gpu(first: int, batch: HmmBatch, values: NDArray[Any], *, as_matrix: bool) -> bytes:
    import cupy  # noqa: PLC0415  (only with a GPU)

    from hapgpu.arrays.cuda import DeviceRagged  # noqa: PLC0415  (as above)
    from hapgpu.pairhmm.cuda.batches import DeviceHmmBatch, DeviceHmmReads  # noqa: PLC0415  (as above)
    from hapgpu.pairhmm.text_batches.cuda import table_text  # noqa: PLC0415  (as above)

    columns = [cupy.asarray(column) for column in batch.reads.qualities]
    reads = DeviceHmmReads(DeviceRagged.upload(batch.reads.bases), *columns[:3], columns[3])
    haplotypes = DeviceRagged.upload(batch.haplotypes)
    offsets = (batch.read_offsets, batch.haplotype_offsets)
    on_gpu = DeviceHmmBatch.of(reads, haplotypes, *(cupy.asarray(each) for each in offsets))
    text = table_text(first, on_gpu, cupy.asarray(values), as_matrix=as_matrix)
    return bytes(text.get().tobytes())


def assert_same_text(first: int, batch: HmmBatch, values: NDArray[np.float64]) -> None:
    table = likelihood_table(first, batch, values).tobytes()
    assert written_on_gpu(first, batch, values, as_matrix=False) == table
    matrix = likelihood_matrix(batch, values).tobytes()
    assert written_on_gpu(first, batch, values, as_matrix=True) == matrix


@pytest.mark.parametrize(
    "counts",
    [[], [(0, 0)], [(3, 0), (0, 2)], [(1, 1)], [(2, 3), (0, 5), (4, 0), (100, 11), (1, 1)]],
)
@pytest.mark.parametrize("first", [0, 9_999_999_999])
def test_tables(counts: list[tuple[int, int]], first: int) -> None:
    batch = batch_of(counts)
    assert_same_text(first, batch, np.linspace(-1e3, 0, max(batch.pairs, 1))[: batch.pairs])


def hard_values() -> NDArray[np.float64]:
    """Make numbers of every size, near and on ties, and those that are not finite."""
    rng = np.random.default_rng(5)
    mantissas = rng.integers(10**9, 10**10, 20_000)
    ties = (mantissas + 0.5) * 10.0 ** rng.integers(-12, 3, mantissas.size)
    exact_ties = rng.integers(2**33, 2**34, 2_000) * 0.5 ** rng.integers(0, 12, 2_000)
    short = rng.integers(0, 10_000, 5_000) * 10.0 ** rng.integers(-9, 9, 5_000)
    bits = rng.integers(0, 2**63 - 1, 20_000).view(np.float64)
    powers = np.array([float(f"1e{k}") for k in range(-320, 309)])
    likelihoods = -rng.gamma(2.0, 12.0, 50_000)
    limits = [0.0, 5e-324, 2.2250738585072014e-308, np.finfo(float).max]
    parts = [ties, exact_ties, short, bits[np.isfinite(bits)], powers, likelihoods, limits]
    values = np.concatenate(parts)
    near = [np.nextafter(values, limit) for limit in (-1e308, 1e308)]
    values = np.concatenate([values, *near, [np.nan, np.inf]])
    return np.concatenate([values, -values])


def test_decimals() -> None:
    values = hard_values()
    assert_same_text(7, batch_of([(1, values.size)]), values)


def run_of(path: Path, output: Path, *, as_matrix: bool = False) -> dict[str, object]:
    statistics = RunStatistics("pairhmm", [], [DEVICE.name], 2)
    run = LikelihoodRun([DEVICE], 2, 1, output, NoProgress(), statistics)
    score_batches(run, str(path), 1 << 28, as_matrix=as_matrix)
    return statistics.as_dict()


@pytest.mark.parametrize("piece_bytes", [1, 3000, 1 << 25])
@pytest.mark.parametrize("compressed", [False, True])
def test_pieces_do_not_matter(
    data_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    piece_bytes: int,
    *,
    compressed: bool,
) -> None:
    monkeypatch.setattr(cuda, "_PIECE_BYTES", piece_bytes)
    text = (data_dir / "pairhmm" / "tiny.in").read_bytes() * 3
    path, output = tmp_path / "batches.in", tmp_path / "out.tsv"
    path.write_bytes(gzip.compress(text) if compressed else text)
    counts = run_of(path, output)["counts"]
    assert counts == {"batches": 9, "reads": 498, "likelihoods": 996, "cells": 1_478_460}
    lines = output.read_text().splitlines()
    assert [int(line.split("\t")[0]) for line in lines[1:]] == sorted(
        int(line.split("\t")[0]) for line in lines[1:]
    )
    values = [line.split("\t")[-1] for line in lines[1:]]
    assert values == values[:332] * 3
    assert int(lines[-1].split("\t")[0]) == 8


@pytest.mark.parametrize("piece_bytes", [30, 1 << 25])
@pytest.mark.parametrize(
    ("fault", "line", "message"),
    [
        (b"1 2\nAC II II II ++\nACG\n", 208, "a haplotype is one string, this line has 2"),
        (b"1 1\nAC II I II ++\nACG\n", 206, "must have equal lengths"),
        (b"1 1\nAC II II II ++\nA\x80\n", 207, "invalid character"),
    ],
)
def test_fault(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    piece_bytes: int,
    fault: bytes,
    line: int,
    message: str,
) -> None:
    monkeypatch.setattr(cuda, "_PIECE_BYTES", piece_bytes)
    good = b"1 1\nAC II II II ++\nACG\n\n"
    path, output = tmp_path / "batches.in", tmp_path / "out.tsv"
    path.write_bytes(good * 51 + fault + good * 50)
    with pytest.raises(InputError, match=f"^{path}, line {line}: .*{message}"):
        run_of(path, output)
    assert not output.exists()


def test_truncated_and_empty(tmp_path: Path) -> None:
    path, output = tmp_path / "batches.in", tmp_path / "out.tsv"
    path.write_bytes(b"1 1\nAC II II II ++\n")
    with pytest.raises(InputError, match="the file ends within the text batch that starts here"):
        run_of(path, output)
    path.write_bytes(b"\n\n")
    with pytest.raises(InputError, match="no text batches"):
        run_of(path, output)


@pytest.mark.parametrize("function", ["parse_on_gpu", "table_text"])
@pytest.mark.parametrize("as_matrix", [False, True])
def test_too_little_memory(
    data_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    function: str,
    *,
    as_matrix: bool,
) -> None:
    path, output = data_dir / "pairhmm" / "tiny.in", tmp_path / "out.tsv"
    run_of(path, output, as_matrix=as_matrix)
    expected = output.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(cuda, function, fail)
    run_of(path, output, as_matrix=as_matrix)
    assert output.read_bytes() == expected
