"""Anchors in .npz files: valid, damaged and malicious ones."""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.longread.seed.anchor_files import load_anchors
from tests.example_counts import many
from tests.longread.chain_oracle import Anchor, to_batch

BATCH = to_batch([[Anchor(0, 100, 30, 15), Anchor(0, 120, 50, 15)], [], [Anchor(1, 7, 20, 15)]])
COLUMNS = {"x": BATCH.x, "y": BATCH.y, "offsets": BATCH.offsets}


def save(path: Path, **columns: Any) -> Path:
    np.savez(path, **{**COLUMNS, **columns})
    return path


def npy(array: Any, *, pickled: bool = False) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=pickled)
    return file.getvalue()


def header(text: str) -> bytes:
    """Return the header of a .npy file without the array that it declares."""
    line = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line


def zip_up(path: Path, **members: bytes) -> Path:
    """Write a .npz file with the given bytes as members; the other members are valid."""
    with zipfile.ZipFile(path, "w") as file:
        for name, column in COLUMNS.items():
            file.writestr(f"{name}.npy", members.get(name, npy(column)))
    return path


@pytest.mark.parametrize("is_compressed", [False, True])
def test_round_trip(tmp_path: Path, is_compressed: bool) -> None:
    path = tmp_path / "anchors.npz"
    writer = np.savez_compressed if is_compressed else np.savez
    writer(path, **COLUMNS, f_inf=np.zeros(3), names=np.array(["a", "b"]))
    found = load_anchors(str(path))
    for name, column in COLUMNS.items():
        np.testing.assert_array_equal(getattr(found, name), column)
        assert getattr(found, name).dtype == column.dtype


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_formats_of_arrays(tmp_path: Path, version: tuple[int, int]) -> None:
    file = io.BytesIO()
    np.lib.format.write_array(file, BATCH.x, version=version)
    found = load_anchors(zip_up(tmp_path / "anchors.npz", x=file.getvalue()))
    np.testing.assert_array_equal(found.x, BATCH.x)


def test_objects_in_other_arrays_are_not_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "anchors.npz"
    np.savez(path, **COLUMNS, names=np.array([Path], dtype=object))
    assert len(load_anchors(path)) == 3


@pytest.mark.parametrize("name", ["x", "y", "offsets"])
def test_a_missing_array(tmp_path: Path, name: str) -> None:
    path = tmp_path / "anchors.npz"
    np.savez(path, **{key: value for key, value in COLUMNS.items() if key != name})
    with pytest.raises(
        InputError, match=rf"anchors\.npz: no array '{name}'; save x, y and offsets"
    ):
        load_anchors(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": BATCH.x.astype(np.float64)}, "x: of type float64"),
        ({"x": BATCH.x.astype(">u8")}, "x: of type >u8"),
        ({"y": BATCH.y[:2]}, "x: 3 anchors, but y has 2"),
        ({"offsets": np.array([0, 2, 3, 2])}, "do not go from 0 to 3"),
        ({"x": BATCH.x[::-1]}, "read 0: anchor 1 has a smaller x"),
        ({"y": np.array(5, dtype=np.uint64)}, "y: of type uint64, 0-dimensional"),
    ],
)
def test_no_anchors(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=rf"anchors\.npz: .*{message}"):
        load_anchors(save(tmp_path / "anchors.npz", **changes))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.npz: cannot be read \(No such file"):
        load_anchors(tmp_path / "none.npz")
    with pytest.raises(InputError, match="cannot be read"):
        load_anchors(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b">read\nACGT\n",
        b"PK\x03\x04",
        b"PK\x05\x06" + bytes(18),
        npy(np.arange(3)),
        npy(np.array([Path], dtype=object), pickled=True),
        b"\x80\x04\x95",
    ],
    ids=["empty", "text", "cut", "no_members", "npy", "pickle_in_npy", "pickle"],
)
def test_other_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "anchors.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"anchors\.npz: "):
        load_anchors(path)


@pytest.mark.parametrize(
    "member",
    [
        b"",
        npy(BATCH.x)[:-3],
        npy(np.array([Path], dtype=object), pickled=True),
        header("{'descr': '<u8', 'fortran_order': False, 'shape': (1000000000000000,), }"),
        header("{'descr': '<u8', 'fortran_order': False, 'shape': (99999999999999999999999,), }"),
        header("{'descr': '<u8', 'fortran_order': False, 'shape': (-3,), }"),
        header("{'descr': '<u8', 'fortran_order': False, 'shape': 'long', }"),
        header("{'descr': 'x'"),
        header("__import__('os').getcwd()"),
    ],
    ids=["empty", "cut", "pickle", "huge", "endless", "negative", "shapeless", "open", "code"],
)
def test_damaged_arrays(tmp_path: Path, member: bytes) -> None:
    with pytest.raises(InputError, match=r"anchors\.npz: "):
        load_anchors(zip_up(tmp_path / "anchors.npz", x=member))


def test_an_array_that_is_no_array(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"anchors\.npz: damaged or no \.npz file"):
        load_anchors(zip_up(tmp_path / "anchors.npz", x=b"no array at all"))


def test_an_array_that_inflates_to_the_largest_size(tmp_path: Path) -> None:
    anchors = to_batch([[Anchor(0, 100, 30, 15)] * 10_000])
    path, size = tmp_path / "anchors.npz", len(npy(anchors.x))
    np.savez_compressed(path, x=anchors.x, y=anchors.y, offsets=anchors.offsets)
    assert load_anchors(path, size).x.size == 10_000
    with pytest.raises(InputError, match="array 'x', inflated"):
        load_anchors(path, size - 1)


def save_deflated(path: Path, anchors: int) -> float:
    """Write equal anchors, only x deflated; return how many times its size x inflates to."""
    batch = to_batch([[Anchor(0, 100, 30, 15)] * anchors])
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("x.npy", npy(batch.x), zipfile.ZIP_DEFLATED)
        file.writestr("y.npy", npy(batch.y))
        file.writestr("offsets.npy", npy(batch.offsets))
        x = file.getinfo("x.npy")
    return x.file_size / x.compress_size


def test_an_array_that_inflates_to_a_hundred_times_its_size(tmp_path: Path) -> None:
    """Such an array may be larger than a record."""
    path = tmp_path / "anchors.npz"
    ratios = {anchors: save_deflated(path, anchors) for anchors in range(1450, 1550)}
    largest = max((size for size in ratios if ratios[size] <= 100), key=ratios.__getitem__)
    smallest = min((size for size in ratios if ratios[size] > 100), key=ratios.__getitem__)
    save_deflated(path, largest)
    assert load_anchors(path, max_record=0).x.size == largest
    save_deflated(path, smallest)
    with pytest.raises(InputError, match="array 'x', inflated"):
        load_anchors(path, max_record=0)


@given(st.data())
@settings(max_examples=many(300))
def test_random_damage(tmp_path: Path, data: st.DataObject) -> None:
    path = save(tmp_path / "anchors.npz")
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    with suppress(InputError):
        assert load_anchors(path).x.size <= BATCH.x.size
