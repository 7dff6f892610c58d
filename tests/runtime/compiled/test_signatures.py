"""The list of compiled functions, and types as text."""

from __future__ import annotations

import json
from functools import reduce
from importlib import import_module
from typing import NamedTuple

import numpy as np
import pytest
from numba import typeof, types

from hapgpu.runtime.compiled.dispatcher import CompiledFunction
from hapgpu.runtime.compiled.signatures import all_versions, read_groups, text_of, type_of


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
    """Otherwise, run `python tests/record_signatures.py`."""
    assert read_groups()
    for version in all_versions():
        function = reduce(getattr, version.name.split("."), import_module(version.module))
        assert isinstance(function, CompiledFunction)
        arguments = [type_of(text) for text in json.loads(version.arguments)]
        assert len(arguments) == function.py_func.__code__.co_argcount
