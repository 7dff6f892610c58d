"""Index files: round trips, and files that are refused."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError, OutputError
from hapgpu.io.files import array_file
from hapgpu.runtime.devices import CpuDevice
from hapgpu.shortread.index import files
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.files import FM_INDEX_FILE
from hapgpu.shortread.index.names import default_index_path, index_command
from tests.shortread.index_oracle import REFERENCES, assert_same, index_of, write_fasta

CONTIGS = ["ACGTRTGCANNTTAGCAACG" * 9, "N", "CCGATTAGGCA" * 3]
PRELUDE = struct.Struct("<8sIII")


@pytest.fixture
def fasta(tmp_path: Path) -> Path:
    return write_fasta(tmp_path / "ref.fa", CONTIGS)


@pytest.fixture(params=[False, True], ids=["full", "low memory"])
def saved(request: pytest.FixtureRequest, fasta: Path) -> Path:
    path = default_index_path(fasta)
    FM_INDEX_FILE.save(build_index(fasta, CpuDevice(), low_memory=request.param), path)
    return path


def header_of(content: bytes) -> dict[str, Any]:
    size = PRELUDE.unpack_from(content)[2]
    header: dict[str, Any] = json.loads(content[PRELUDE.size : PRELUDE.size + size])
    return header


def data_start(content: bytes) -> int:
    size = PRELUDE.unpack_from(content)[2]
    return -(-(PRELUDE.size + size) // 64) * 64


def with_header(content: bytes, header: object) -> bytes:
    """Replace the header by another with a correct checksum."""
    text = json.dumps(header).encode()
    prelude = PRELUDE.pack(files.MAGIC, files.VERSION, len(text), zlib.crc32(text))
    head = prelude + text
    return head + bytes(-len(head) % 64) + content[data_start(content) :]


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        FM_INDEX_FILE.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


@settings(max_examples=20)
@given(contigs=REFERENCES, low_memory=st.booleans())
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, contigs: list[str], low_memory: bool
) -> None:
    index = index_of(contigs, low_memory=low_memory)
    path = tmp_path_factory.mktemp("index") / "made.hgx"
    FM_INDEX_FILE.save(index, path)
    assert_same(FM_INDEX_FILE.load(path), index)


def test_loaded_arrays_are_aligned_and_read_only(saved: Path) -> None:
    index = FM_INDEX_FILE.load(saved)
    arrays = [index.contigs.offsets, index.bases.planes, index.occurrences, index.jump]
    for array in arrays:
        assert array.ctypes.data % 64 == 0
        assert not array.flags.writeable


def test_arrays_in_several_pieces(
    fasta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(array_file, "PIECE_BYTES", 100)
    index, path = build_index(fasta, CpuDevice()), tmp_path / "pieces.hgx"
    FM_INDEX_FILE.save(index, path)
    assert_same(FM_INDEX_FILE.load(path), index)
    content = bytearray(path.read_bytes())
    content[data_start(content) + header_of(content)["arrays"][-1]["offset"] + 150] ^= 1
    assert "checksum of its suffixes" in refusal(path, content)


def test_the_same_fasta_gives_the_same_bytes(fasta: Path, tmp_path: Path) -> None:
    for name in ("first.hgx", "second.hgx"):
        FM_INDEX_FILE.save(build_index(fasta, CpuDevice()), tmp_path / name)
    assert (tmp_path / "first.hgx").read_bytes() == (tmp_path / "second.hgx").read_bytes()


def test_checksums_are_crc32(saved: Path) -> None:
    content = saved.read_bytes()
    for entry in header_of(content)["arrays"]:
        start = data_start(content) + entry["offset"]
        part = content[start : start + entry["items"] * np.dtype(entry["dtype"]).itemsize]
        assert entry["crc32"] == ([zlib.crc32(part)] if part else [])


def test_a_flipped_bit_in_any_array(saved: Path) -> None:
    content = saved.read_bytes()
    for entry in header_of(content)["arrays"]:
        size = entry["items"] * np.dtype(entry["dtype"]).itemsize
        assert size
        for offset in (0, size // 2, size - 1):
            damaged = bytearray(content)
            damaged[data_start(content) + entry["offset"] + offset] ^= 0x10
            message = refusal(saved, damaged)
            assert f"damaged (the checksum of its {entry['name']} is wrong)" in message
            assert message.endswith(f"; run: hapgpu index {saved.with_suffix('')}")


def test_a_flipped_bit_in_the_header(saved: Path) -> None:
    content = saved.read_bytes()
    for offset in [*range(PRELUDE.size), *range(PRELUDE.size, data_start(content) - 64, 50)]:
        damaged = bytearray(content)
        damaged[offset] ^= 0x04
        refusal(saved, damaged)


def test_truncated(saved: Path) -> None:
    content = saved.read_bytes()
    start = data_start(content)
    for size in (0, 1, 7, 19, 20, 21, start - 1, start, start + 1, len(content) // 2):
        refusal(saved, content[:size])
    assert "truncated" in refusal(saved, content[:-1])
    assert "truncated or damaged" in refusal(saved, content + b"\0")


def test_other_files(saved: Path) -> None:
    for content in (b">contig0\nACGT\nACGTACGTACGTACGT\n", bytes(1000), b"\x1f\x8b" + bytes(50)):
        assert "no index of hapgpu; run: hapgpu index" in refusal(saved, content)


def test_other_version(saved: Path) -> None:
    content = saved.read_bytes()
    newer = content[:8] + struct.pack("<I", files.VERSION + 1) + content[12:]
    assert f"version {files.VERSION + 1}" in refusal(saved, newer)


@pytest.mark.parametrize(
    "change",
    [
        {"primary": 0},
        {"primary": 10**6},
        {"primary": "1"},
        {"jump_length": 5},
        {"jump_length": 10**9},
        {"jump_length": -1},
        {"contigs": ["contig0"]},
        {"primary": 2.0},
        {"primary": True},
        {"primary": 10**400},
        {"contigs": None},
        {"contigs": "abc"},
        {"contigs": [1, 2, 3]},
        {"contigs": ["contig0", "contig1", "contig1"]},
        {"contigs": ["contig0", "contig1", "con\ttig2"]},
        {"contigs": ["contig0", "contig1", "contig\ud800"]},
        {"contigs": ["contig0", "contig1", ""]},
        {"fasta_bytes": "73"},
        {"fasta_digest": 0},
        {"fasta_digest": "xyz"},
        {"data_bytes": None},
        {"data_bytes": -(2**40)},
        {"arrays": []},
        {"arrays": {}},
        {"arrays": [1]},
        {"arrays": [{"name": "other", "offset": 0}]},
        {"arrays": [{"name": ["planes"]}]},
    ],
)
def test_header_that_does_not_fit(saved: Path, change: dict[str, Any]) -> None:
    content = saved.read_bytes()
    assert "damaged" in refusal(saved, with_header(content, header_of(content) | change))


@pytest.mark.parametrize("header", [[], 1, None, {}])
def test_header_of_another_kind(saved: Path, header: object) -> None:
    assert "damaged" in refusal(saved, with_header(saved.read_bytes(), header))


def test_arrays_that_do_not_fit(fasta: Path, tmp_path: Path) -> None:
    index, path = build_index(fasta, CpuDevice()), tmp_path / "mixed.hgx"
    other = index_of(["ACGT" * 100])
    for field in ("contigs", "bases", "occurrences", "suffixes"):
        FM_INDEX_FILE.save(replace(index, **{field: getattr(other, field)}), path)
        assert "do not fit" in refusal(path, path.read_bytes())


def test_missing(tmp_path: Path) -> None:
    path = tmp_path / "none.fa.hgx"
    with pytest.raises(InputError, match=r"none\.fa\.hgx: no such file; run: hapgpu index REF\.fa"):
        FM_INDEX_FILE.load(path)


def test_the_command_names_an_index_in_another_directory(tmp_path: Path) -> None:
    path = tmp_path / "elsewhere.hgx"
    assert refusal(path, b"x").endswith(f"run: hapgpu index REF.fa -o {path}")


@pytest.mark.parametrize("name", ["ref.fa", "ref.fa.gz", "ref.fasta"])
def test_default_path(name: str) -> None:
    assert default_index_path(Path("directory") / name) == Path("directory") / f"{name}.hgx"


def test_index_belongs_to_its_fasta(saved: Path, fasta: Path) -> None:
    FM_INDEX_FILE.load_for(fasta, saved, index_command(fasta, saved))


@pytest.mark.parametrize("change", ["size", "letter"])
def test_fasta_that_has_changed(saved: Path, fasta: Path, change: str) -> None:
    text = fasta.read_text(encoding="ascii")
    fasta.write_text(f"{text}A\n" if change == "size" else text.replace("R", "N", 1), "ascii")
    with pytest.raises(InputError) as caught:
        FM_INDEX_FILE.load_for(fasta, saved, index_command(fasta, saved))
    assert str(caught.value) == (
        f"{saved}: does not match {fasta} (another file, or changed since);"
        f" run: hapgpu index {fasta}"
    )


def test_index_of_another_fasta(saved: Path, tmp_path: Path) -> None:
    other = write_fasta(tmp_path / "other.fa", ["ACGT"])
    with pytest.raises(InputError, match=rf"run: hapgpu index {other} -o {saved}$"):
        FM_INDEX_FILE.load_for(other, saved, index_command(other, saved))


def test_directory_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        FM_INDEX_FILE.save(index_of(["ACGT"]), tmp_path / "none" / "made.hgx")


def test_an_index_in_use_outlives_its_file(saved: Path) -> None:
    index = FM_INDEX_FILE.load(saved)
    expected = np.array(index.jump)
    FM_INDEX_FILE.save(index_of(["GATTACA"]), saved)
    np.testing.assert_array_equal(index.jump, expected)
