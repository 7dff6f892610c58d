"""Arguments of the Python API: numbers, names and files, and tables of pandas."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hapgpu.arrays.arguments import Resources, file_names, number_from_0, one_of, whole_number
from hapgpu.arrays.tables import data_frame, names_column
from hapgpu.errors import DeviceError, HapgpuError, InputError, OutputError, UsageError
from hapgpu.runtime.devices import CpuDevice, usable_cpus


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize("value", [0, 7, np.int16(7), np.uint64(3)])
def test_whole_numbers(value: Any) -> None:
    found = whole_number("k", value, 0, 7)
    assert type(found) is int
    assert found == value


@pytest.mark.parametrize("value", [-1, 8, 1.0, "1", None, np.float64(1), True], ids=repr)
def test_other_numbers(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^k=.*: out of range; give a whole number from 0 to 7$"):
        whole_number("k", value, 0, 7)


@pytest.mark.parametrize("value", [0, 2.5, np.float32(2.5)], ids=repr)
def test_numbers_from_0(value: Any) -> None:
    assert number_from_0("x", value) == value


@pytest.mark.parametrize("value", [-0.5, float("nan"), float("inf"), "1", None], ids=repr)
def test_numbers_below_0(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^x=.*: out of range; give a number of at least 0$"):
        number_from_0("x", value)


def test_names() -> None:
    assert one_of(Colour, "colour", "red") is Colour.RED
    for other in ("green", "RED", None):
        with pytest.raises(UsageError, match=r"^colour .*: unknown; give one of red, blue$"):
            one_of(Colour, "colour", other)


def test_files(tmp_path: Path) -> None:
    assert file_names("a.bam", "file") == file_names(Path("a.bam"), "file") == ["a.bam"]
    assert file_names([Path("a.bam"), "b.bam"], "file") == ["a.bam", "b.bam"]
    with pytest.raises(UsageError, match="files: not a list"):
        file_names(5, "file")
    with pytest.raises(UsageError, match="file 1: of type int; give str or a path"):
        file_names(["a.bam", 5], "file")
    (tmp_path / "a.bam").touch()
    with os.scandir(tmp_path) as entries:
        (entry,) = entries
    assert file_names(entry, "file") == [str(tmp_path / "a.bam")]
    of_bytes: Any = type("Path", (), {"__fspath__": lambda _: b"a.bam"})()
    with pytest.raises(UsageError, match="file 0: of type Path; give str or a path"):
        file_names(of_bytes, "file")


def test_resources() -> None:
    found = Resources.of("cpu", None, 2, progress=False)
    assert (list(found.devices), found.threads) == ([CpuDevice(usable_cpus())], usable_cpus())
    assert Resources.of("cpu", 3, 1, progress=False).devices == [CpuDevice(3)]
    for threads, processes in ((0, 1), (-1, 1), (1.0, 1), ("2", 1), (1, 0), (1, 2.0)):
        with pytest.raises(UsageError, match=r"^(threads|processes)=.*: out of range"):
            Resources.of("cpu", threads, processes, progress=False)


def test_a_table() -> None:
    pytest.importorskip("pandas")
    table = data_frame({"b": np.array([3, 4]), "a": names_column(np.array([1, 0]), ["x", "y"])})
    assert table.columns.tolist() == ["b", "a"]
    assert table.a.tolist() == ["y", "x"]


def test_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    message = "^to_dataframe: pandas is missing; run: pip install pandas$"
    with pytest.raises(UsageError, match=message):
        data_frame({"a": [1]})


@pytest.mark.parametrize(
    ("error", "base"),
    [(InputError, ValueError), (UsageError, ValueError), (DeviceError, RuntimeError)],
)
def test_errors_are_of_usual_kinds(error: type[HapgpuError], base: type[Exception]) -> None:
    assert issubclass(error, base)
    assert issubclass(error, HapgpuError)
    assert not issubclass(OutputError, OSError)
