"""`hapgpu.call_batches`: the batches of `hapgpu.call`, and what an early end leaves behind."""

from __future__ import annotations

import threading
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pysam
import pytest

from hapgpu import Calls, InputError, Ragged, UsageError, call, call_batches
from hapgpu.calling import session
from tests.cli.call.command import Inputs, make_inputs


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("example"))


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "segment_bases", lambda *_: 3000)


def values_of(calls: Calls) -> dict[str, Any]:
    """Return the columns as Python values."""
    found: dict[str, Any] = {}
    for field in fields(calls):
        value = getattr(calls, field.name)
        if isinstance(value, Ragged):
            value = value.to_list()
        elif isinstance(value, dict):
            value = {name: column.tolist() for name, column in value.items()}
        found[field.name] = value.tolist() if isinstance(value, np.ndarray) else value
    return found


def assert_equal(found: Calls, expected: Calls) -> None:
    for name, column in values_of(expected).items():
        np.testing.assert_equal(values_of(found)[name], column)


@pytest.mark.parametrize(("threads", "processes"), [(1, 1), (3, 1), (2, 2)])
def test_batches_are_the_calls_in_the_order_of_the_genome(
    example: Inputs, threads: int, processes: int
) -> None:
    expected = call(*example, device="cpu")
    options: dict[str, Any] = {"device": "cpu", "threads": threads, "processes": processes}
    batches = list(call_batches(*example, **options))
    assert len(batches) > 1
    assert all(len(batch) for batch in batches)
    ends = [(int(batch.positions[0]), int(batch.positions[-1])) for batch in batches]
    assert all(before[1] < after[0] for before, after in pairwise(ends))
    assert_equal(Calls.concatenate(batches), expected)
    assert_equal(call(*example, **options), expected)


def open_files() -> set[str]:
    """Return the regular files that this process has open."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        if descriptor.exists():
            found.add(str(descriptor.readlink()))
    return {name for name in found if name.startswith("/") and not name.startswith("/dev/")}


def children() -> set[str]:
    tasks = Path("/proc/self/task").iterdir()
    return set(" ".join((task / "children").read_text() for task in tasks).split())


@pytest.mark.parametrize("processes", [1, 2])
def test_an_early_end_leaves_nothing_behind(example: Inputs, processes: int) -> None:
    before = open_files(), set(threading.enumerate()), children()
    batches = call_batches(*example, device="cpu", threads=3, processes=processes)
    assert len(next(batches))
    assert set(threading.enumerate()) > before[1]
    assert str(example.reference) in open_files()
    batches.close()
    assert (open_files(), set(threading.enumerate()), children()) == before
    with pytest.raises(StopIteration):
        next(batches)


def test_a_dropped_iterator_leaves_nothing_behind(example: Inputs) -> None:
    before = open_files(), set(threading.enumerate())
    for batch in call_batches(*example, device="cpu", threads=2):
        assert len(batch)
        break
    assert (open_files(), set(threading.enumerate())) == before


def test_an_unused_iterator_opens_nothing(example: Inputs) -> None:
    before = open_files()
    batches = call_batches(*example, device="cpu")
    assert open_files() == before
    del batches


def test_arguments_are_checked_at_once(example: Inputs) -> None:
    with pytest.raises(UsageError, match="min_mapping_quality=-1: out of range"):
        call_batches(*example, min_mapping_quality=-1, device="cpu")


def test_errors_of_the_run_are_raised_in_the_consumer(example: Inputs, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.bam"):
        next(call_batches("absent.bam", example.reference, device="cpu"))
    damaged = tmp_path / "damaged.bam"
    data = example.reads.read_bytes()
    middle = len(data) // 2
    damaged.write_bytes(data[:middle] + bytes(64) + data[middle + 64 :])
    (tmp_path / "damaged.bam.bai").write_bytes(Path(f"{example.reads}.bai").read_bytes())
    before = set(threading.enumerate())
    with pytest.raises(InputError, match=r"damaged\.bam"):
        list(call_batches(damaged, example.reference, device="cpu", threads=2))
    assert set(threading.enumerate()) == before


def test_a_bar_counts_the_bases(example: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    with pysam.FastaFile(str(example.reference)) as reference:
        bases = sum(reference.lengths)
    call(*example, device="cpu", progress=True)
    shown = capsys.readouterr().err
    assert "calling: 100%" in shown
    assert f"{bases / 1000:.1f}k/" in shown


def test_table(example: Inputs) -> None:
    pytest.importorskip("pandas")
    found = call(*example, device="cpu")
    table = found.to_dataframe()
    assert len(table) == len(found) * len(found.samples)
    first = table.iloc[0]
    assert (first.contig, first.position) == ("chr20", found.positions[0])
    assert (first.ref, first.alt) == (found.alleles[0][0], ",".join(found.alleles[0][1:]))
    assert first["sample"] == found.samples[0]
    assert table.genotype.tolist() == [
        "/".join(map(str, genotype)) for genotype in found.genotypes.reshape(-1, 2).tolist()
    ]
    assert table.allele_depths.tolist() == found.allele_depths.to_list()
    assert table.phred_likelihoods.tolist() == found.phred_likelihoods.to_list()
    assert table.FS.tolist() == found.annotations["FS"].tolist()
    assert len(call(*example, regions=["chr20:1-9"], device="cpu").to_dataframe()) == 0
