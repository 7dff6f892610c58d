"""The list of compiled functions, and types as text."""

from __future__ import annotations

import json
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import typeof, types

from hapgpu.runtime.compiled.dispatcher import CompiledFunction
from hapgpu.runtime.compiled.signatures import PATH, all_versions, read_groups, text_of, type_of
from tests import record_signatures


class Pair(NamedTuple):
    numbers: np.ndarray
    size: int


def readonly(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "value",
    [
        1,
        True,
        None,
        0.5,
        np.uint8(3),
        np.zeros(3, np.uint8),
        np.zeros((3, 2), np.int16)[:, ::2],
        np.zeros((3, 2), order="F"),
        readonly(np.zeros(3, np.bool_)),
        np.zeros(2, [("start", np.int64), ("length", np.int32)]),
        (1, 2),
        (1, np.zeros(2)),
        Pair(np.zeros(2, np.uint32), 5),
    ],
    ids=repr,
)
def test_types_survive_as_text(value: object) -> None:
    kind = typeof(value)
    assert type_of(json.loads(json.dumps(text_of(kind)))) == kind


def test_a_class_of_numbers() -> None:
    kind = types.NumberClass(types.int16)
    assert type_of(text_of(kind)) == kind


def test_a_type_without_text() -> None:
    with pytest.raises(TypeError, match="no text"):
        text_of(types.Omitted(3))


def test_every_listed_function_exists() -> None:
    """Otherwise, run `python tests/record_signatures.py`; it needs no GPU."""
    assert read_groups()
    for version in all_versions():
        function = reduce(getattr, version.name.split("."), import_module(version.module))
        assert isinstance(function, CompiledFunction)
        arguments = [type_of(text) for text in version.arguments]
        assert len(arguments) == function.py_func.__code__.co_argcount
        for kind in arguments:
            check_fields(kind)


def check_fields(kind: Any) -> None:
    """Check that NamedTuples have as many types as fields."""
    if isinstance(kind, types.BaseTuple):
        fields = getattr(kind, "fields", kind.types)
        assert len(fields) == len(kind.types), kind
        for each in kind.types:
            check_fields(each)


def test_the_list_is_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = record_signatures.read()
    monkeypatch.setattr(record_signatures, "PATH", tmp_path / "signatures.json")
    record_signatures.write(*content)
    assert (tmp_path / "signatures.json").read_bytes() == PATH.read_bytes()
    assert record_signatures.read() == content
