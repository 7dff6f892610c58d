"""Files of minimizer indexes: round trip, errors, and choice of the file to open."""

from __future__ import annotations

import dataclasses
import json
import logging
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hapgpu.errors import InputError, OutputError
from hapgpu.longread.index import files
from hapgpu.longread.index.build import build_index
from hapgpu.longread.index.files import MINIMIZER_FILE, open_index
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.index.names import default_index_path
from hapgpu.longread.options import SketchOptions

PLAIN = SketchOptions()
SMALL = SketchOptions(k=5, w=3)
COMPRESSED = SketchOptions(k=19, w=10, is_hpc=True)
TEXT = ">one\nACGTTGCATTACGGATCCAGT\n>two of three\n\n>three\nNNNACGTTGCANNCCATTTTGACG\n"
PRELUDE = struct.Struct("<8sIII")


@pytest.fixture
def fasta(tmp_path: Path) -> Path:
    path = tmp_path / "ref.fa"
    path.write_text(TEXT, encoding="ascii")
    return path


@pytest.fixture
def saved(fasta: Path) -> Path:
    path = default_index_path(fasta, SMALL)
    MINIMIZER_FILE.save(build_index(fasta, SMALL, 1), path)
    return path


def assert_same(first: MinimizerIndex, second: MinimizerIndex) -> None:
    for field in dataclasses.fields(MinimizerIndex):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        else:
            assert one == other


def parts_of(content: bytes) -> tuple[dict[str, Any], int]:
    """Return the header and the offset of the arrays."""
    size = PRELUDE.unpack_from(content)[2]
    end = PRELUDE.size + size
    return json.loads(content[PRELUDE.size : end]), -(-end // 64) * 64


def with_header(content: bytes, header: object) -> bytes:
    """Replace the header by another with a valid checksum."""
    text = json.dumps(header).encode()
    head = PRELUDE.pack(files.MAGIC, files.VERSION, len(text), zlib.crc32(text)) + text
    return head + bytes(-len(head) % 64) + content[parts_of(content)[1] :]


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        MINIMIZER_FILE.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message


@pytest.mark.parametrize(
    "sketch",
    [PLAIN, SMALL, COMPRESSED, SketchOptions(k=1, w=1), SketchOptions(k=28, w=255)],
    ids=str,
)
def test_round_trip(fasta: Path, tmp_path: Path, sketch: SketchOptions) -> None:
    index = build_index(fasta, sketch, 1)
    MINIMIZER_FILE.save(index, tmp_path / "made.hgm")
    assert_same(MINIMIZER_FILE.load(tmp_path / "made.hgm"), index)


def test_the_same_bytes_from_any_number_of_threads(fasta: Path, tmp_path: Path) -> None:
    for threads in (1, 3):
        MINIMIZER_FILE.save(build_index(fasta, SMALL, threads), tmp_path / f"{threads}.hgm")
    assert (tmp_path / "1.hgm").read_bytes() == (tmp_path / "3.hgm").read_bytes()


def test_loaded_arrays_are_aligned_and_read_only(saved: Path) -> None:
    index = MINIMIZER_FILE.load(saved)
    for array in (index.lengths, index.directory, index.entries, index.occurrences):
        assert array.ctypes.data % 64 == 0
        assert not array.flags.writeable


def test_a_flipped_bit_in_any_array(saved: Path, fasta: Path) -> None:
    content = saved.read_bytes()
    header, start = parts_of(content)
    for entry in header["arrays"]:
        damaged = bytearray(content)
        damaged[start + entry["offset"]] ^= 0x10
        assert refusal(saved, damaged) == (
            f"{saved}: damaged (the checksum of its {entry['name']} is wrong);"
            f" run: hapgpu index --minimizers -k 5 -w 3 {fasta}"
        )


def test_truncated_and_other_files(saved: Path) -> None:
    content = saved.read_bytes()
    for size in (0, 7, 20, 100, len(content) - 1):
        refusal(saved, content[:size])
    fm_index = b"\x89HGX" + content[4:]
    assert "no minimizer index of hapgpu; run: hapgpu index" in refusal(saved, fm_index)
    newer = content[:8] + struct.pack("<I", files.VERSION + 1) + content[12:]
    assert f"version {files.VERSION + 1}" in refusal(saved, newer)


@pytest.mark.parametrize(
    "change",
    [
        {"k": 0},
        {"k": 29},
        {"k": "5"},
        {"k": 5.5},
        {"w": 256},
        {"directory_bits": 1},
        {"directory_bits": 4.0},
        {"directory_bits": 10**9},
        {"directory_bits": -1},
        {"k": True},
        {"k": 10**400},
        {"hpc": 0},
        {"names": ["one"]},
        {"names": None},
        {"names": ["one", 2, "three"]},
        {"names": ["one", "two", "two"]},
        {"names": ["one", "two", "th\tree"]},
        {"names": ["one", "two", "\ud800"]},
        {"fasta_digest": "xyz"},
        {"arrays": []},
    ],
    ids=str,
)
def test_header_that_does_not_fit(saved: Path, change: dict[str, Any]) -> None:
    content = saved.read_bytes()
    header, _ = parts_of(content)
    assert "damaged" in refusal(saved, with_header(content, header | change))


def changed(array: np.ndarray[Any, Any], row: int, value: int) -> np.ndarray[Any, Any]:
    copy = array.copy()
    copy[row] = value
    return copy


def test_a_sequence_of_the_greatest_length(fasta: Path, tmp_path: Path) -> None:
    index = build_index(fasta, SMALL, 1)
    longest = replace(index, lengths=changed(index.lengths, 0, 2**31 - 1))
    MINIMIZER_FILE.save(longest, tmp_path / "longest.hgm")
    assert_same(MINIMIZER_FILE.load(tmp_path / "longest.hgm"), longest)


def test_arrays_that_do_not_fit(fasta: Path, tmp_path: Path) -> None:
    index, path = build_index(fasta, SMALL, 1), tmp_path / "mixed.hgm"
    directory, entries, occurrences = index.directory, index.entries, index.occurrences
    faults: list[dict[str, Any]] = [
        {"directory": changed(directory, 0, 1)},
        {"directory": changed(directory, -2, directory[-1] + 1)},
        {"directory": directory[:-1]},
        {"entries": changed(entries, 3, 10**6)},
        {"entries": changed(entries, -1, occurrences.size + 1)},
        {"entries": changed(entries, -2, 0)},
        {"entries": entries[:-1]},
        {"entries": entries[:0]},
        {"occurrences": occurrences[:-1]},
        {"directory": np.zeros_like(directory)},
        {"directory": changed(directory, 4, directory[4] + 1)},
        {"directory": changed(directory, 4, directory[4] - 1)},
        {"entries": changed(entries, 2, entries[0])},
        {"entries": changed(entries, 12, entries[10])},
        {"entries": changed(entries, 5, entries[3])},
        {"entries": changed(entries, 0, 2**64 - 2)},
        {"occurrences": changed(occurrences, 0, 3 << 32)},
        {"occurrences": changed(occurrences, 0, 2**64 - 1)},
        {"occurrences": changed(occurrences, 0, 1 << 32 | 8)},
        {"occurrences": changed(occurrences, 0, 21 << 1)},
        {"occurrences": changed(occurrences, 0, 3 << 1)},
        {"occurrences": np.append(occurrences, occurrences[-1])},
        {"lengths": changed(index.lengths, 0, 2**31)},
        {"lengths": changed(index.lengths, 0, -1)},
        {"lengths": index.lengths[1:]},
    ]
    for fault in faults:
        MINIMIZER_FILE.save(replace(index, **fault), path)
        assert "do not fit" in refusal(path, path.read_bytes()), fault


@pytest.mark.parametrize(
    ("sketch", "name"),
    [
        (PLAIN, "ref.fa.gz.k15w10.hgm"),
        (SketchOptions(k=19, w=19), "ref.fa.gz.k19w19.hgm"),
        (COMPRESSED, "ref.fa.gz.k19w10H.hgm"),
    ],
)
def test_default_path(sketch: SketchOptions, name: str) -> None:
    assert default_index_path("directory/ref.fa.gz", sketch) == Path("directory") / name


def test_index_command(tmp_path: Path, fasta: Path) -> None:
    arguments_by_name = {
        "ref.fa.k15w10.hgm": f" {fasta}",
        "ref.fa.k19w10H.hgm": f" -k 19 -H {fasta}",
        "other.fa.k15w10.hgm": f" REF.fa -o {tmp_path}/other.fa.k15w10.hgm",
        "elsewhere.hgm": f" REF.fa -o {tmp_path}/elsewhere.hgm",
        "reads.fq": " REF.fa",
    }
    for name, arguments in arguments_by_name.items():
        message = refusal(tmp_path / name, b"x" * 50)
        assert message.endswith(f"; run: hapgpu index --minimizers{arguments}")


def test_directory_that_does_not_exist(fasta: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        MINIMIZER_FILE.save(build_index(fasta, SMALL, 1), tmp_path / "none" / "made.hgm")


def test_index_beside_the_reference_is_opened(
    fasta: Path, saved: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("hapgpu.longread.index.files.build_index")
    assert_same(open_index(fasta, SMALL, 1), MINIMIZER_FILE.load(saved))
    assert not caplog.records


@pytest.mark.parametrize(
    ("sketch", "options"), [(PLAIN, ""), (SketchOptions(k=19, w=19), "-k 19 -w 19 ")]
)
def test_an_index_for_one_run(
    fasta: Path, saved: Path, caplog: pytest.LogCaptureFixture, sketch: SketchOptions, options: str
) -> None:
    """The index beside the reference has other minimizers."""
    assert_same(open_index(fasta, sketch, 2), build_index(fasta, sketch, 1))
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.message == (
        f"no index for {fasta}: building one for this run;"
        f" to keep it, run: hapgpu index --minimizers {options}{fasta}"
    )
    assert MINIMIZER_FILE.load(saved).sketch == SMALL


def test_an_index_given_itself(fasta: Path, saved: Path, caplog: pytest.LogCaptureFixture) -> None:
    expected = MINIMIZER_FILE.load(saved)
    moved = saved.rename(saved.with_name("moved"))
    fasta.unlink()
    assert_same(open_index(moved, SMALL, 1), expected)
    assert not caplog.records
    assert_same(open_index(moved, COMPRESSED, 1), expected)
    (record,) = caplog.records
    assert record.message == f"{moved}: built with -k 5 -w 3; ignoring -k 19 -w 10 -H"


def test_a_damaged_index_given_itself(saved: Path) -> None:
    saved.write_bytes(saved.read_bytes()[:-1])
    with pytest.raises(InputError, match="truncated"):
        open_index(saved, SMALL, 1)


def test_a_reference_that_has_changed(fasta: Path, saved: Path) -> None:
    fasta.write_text(TEXT.replace("GG", "CC"), encoding="ascii")
    with pytest.raises(InputError) as caught:
        open_index(fasta, SMALL, 1)
    assert str(caught.value) == (
        f"{saved}: does not match {fasta} (another file, or changed since);"
        f" run: hapgpu index --minimizers -k 5 -w 3 {fasta}"
    )


def test_a_reference_that_is_missing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InputError, match=r"none\.fa: no such file$"):
        open_index(tmp_path / "none.fa", PLAIN, 1)
    assert not caplog.records
