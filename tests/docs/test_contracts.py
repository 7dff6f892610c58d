"""Docstrings state the dtypes of arrays and that errors are raised, public names all arguments."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from typing import Final

import pytest

import hapgpu
from tests.docs.contracts import Contract, contracts, contracts_of, is_array

_COMMANDS: Final = "hapgpu/cli/"
"""Docstrings of commands are their help."""


def contract_of(name: str) -> Contract:
    """Return the contract of a public name of hapgpu."""
    path = f"{getattr(hapgpu, name).__module__.replace('.', '/')}.py"
    (found,) = (each for each in contracts() if (each.path, each.name) == (path, name))
    return found


def contract_in(source: str) -> Contract:
    """Return the first contract of a source."""
    return next(contracts_of(ast.parse(source).body, "source.py"))


def test_every_array_has_a_dtype() -> None:
    found = [
        f"{each.path}: {each.name}: {', '.join(names)}"
        for each in contracts()
        if (names := each.unstated())
    ]
    assert not found


def test_every_function_that_raises_says_so() -> None:
    found = [f"{each.path}: {each.name}" for each in contracts() if not each.states_errors()]
    assert not [each for each in found if not each.startswith(_COMMANDS)]


@pytest.mark.parametrize("name", hapgpu.__all__)
def test_every_argument_of_a_public_name_has_an_item(name: str) -> None:
    public = getattr(hapgpu, name)
    if dataclasses.is_dataclass(public):
        arguments = {field.name for field in dataclasses.fields(public)}
    else:
        arguments = set() if inspect.isclass(public) else set(inspect.signature(public).parameters)
    contract = contract_of(name)
    assert arguments <= set(contract.items())
    if contract.is_class:
        assert not contract.unstated()


@pytest.mark.parametrize(
    ("docstring", "unstated"),
    [
        ("Return int64[n]: the lengths of some rows.", ["rows", "mask"]),
        ("Return int64[n]: the lengths of `rows`, uint8 text, in a bool mask.", ["mask"]),
        ("Return the lengths of `rows`, uint8 text, in `mask`, bool[n].", ["return"]),
        ("Return int64[n]: the lengths of `rows`, uint8 text, in `mask`, bool[n].", []),
        ("Return int64[n]: the lengths of `rows` and `mask`, uint8[n] each.", ["mask"]),
        ("Return int32[n]: the lengths of `rows`, uint8, in `mask`, bool[n].", ["return"]),
        ("Return lengths.\n\nParameters\n----------\nrows, mask\n    bool[n].", ["return"]),
        (
            "Return int64[n].\n\nParameters\n----------\nrows\n    Any dtype.\nmask\n    A mask.",
            ["mask"],
        ),
        (
            "Return lengths of `rows`, uint8, and `mask`, bool[n].\n\nReturns\n-------\nint64[n].",
            [],
        ),
    ],
)
def test_unstated_arrays_are_found(docstring: str, unstated: list[str]) -> None:
    source = (
        "def lengths(rows: Ragged, mask: NDArray[np.bool_] | None) -> NDArray[np.int64]:"
        f"\n    {docstring!r}\n"
    )
    assert contract_in(source).unstated() == unstated


@pytest.mark.parametrize(
    ("source", "states_errors"),
    [
        ("def count() -> int:\n    'Count.'\n    return int('1')", True),
        ("def count() -> int:\n    'Count.'\n    if True:\n        raise ValueError", False),
        ("def count() -> int:\n    'Count, or raise an error.'\n    raise ValueError", True),
        ("class Count:\n    'A count.'\n    def __init__(self):\n        raise ValueError", False),
        ("def count():\n    'Count.'\n    def inner():\n        raise ValueError", True),
        ("def count():\n    'Count.'\n    try: pass\n    except OSError:\n        raise", True),
    ],
)
def test_unstated_errors_are_found(source: str, *, states_errors: bool) -> None:
    assert contract_in(source).states_errors() == states_errors


def test_a_reference_counts_only_for_arrays_that_it_states() -> None:
    source = (
        "def part(x: NDArray[np.uint64], z: NDArray[np.uint64]) -> int:"
        "\n    'Count.\\n\\nParameters\\n----------\\nx, z\\n    As in `Anchors`.'\n"
    )
    assert contract_in(source).unstated() == ["z"]


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("NDArray[np.uint8]", True),
        ("'tuple[Ragged, int] | None'", True),
        ("Annotated[GpuArray, 'on the GPU']", True),
        ("Callable[[NDArray[np.uint8]], None]", False),
        ("Annotated[int, NDArray]", False),
        ("Literal['NDArray']", False),
    ],
)
def test_annotations_of_arrays(annotation: str, *, expected: bool) -> None:
    assert is_array(ast.parse(annotation, mode="eval").body) == expected
