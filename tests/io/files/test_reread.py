"""Inputs can be read several times, even pipes."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from hapgpu.errors import InputError
from hapgpu.io.files.reread import rereadable

DATA = bytes(range(256)) * 9000  # more than the capacity of a pipe, and than one copied part


def test_a_file_is_read_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "reads.bam"
    path.write_bytes(DATA)
    with rereadable(str(path)) as file:
        assert (file.path, file.name) == (str(path), str(path))


@pytest.mark.parametrize("name", ["absent.bam", "."])
def test_paths_that_are_no_files_stay_unchanged(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name)
    with rereadable(path) as file:
        assert (file.path, file.name) == (path, path)


def fill(path: Path) -> threading.Thread:
    thread = threading.Thread(target=path.write_bytes, args=(DATA,))
    thread.start()
    return thread


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory of temporary files."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


def test_a_pipe_is_copied(tmp_path: Path, temporary: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    thread = fill(pipe)
    with rereadable(str(pipe)) as file:
        assert file.name == str(pipe)
        for _ in range(3):
            assert Path(file.path).read_bytes() == DATA
        copy = file.path
        assert not list(temporary.iterdir())  # no file remains
    thread.join()
    assert not Path(copy).exists()


@pytest.mark.parametrize("as_pipe", [False, True])
def test_standard_input_is_copied(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch, as_pipe: bool
) -> None:
    """A redirected file, too: its current offset is unknown."""
    path = tmp_path / "reads"
    if as_pipe:
        os.mkfifo(path)
    thread = fill(path)
    if not as_pipe:
        thread.join()
    with path.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        with rereadable("-") as file:
            assert file.name == "standard input"
            assert [Path(file.path).read_bytes() for _ in range(2)] == [DATA, DATA]
    thread.join()
    assert not list(temporary.iterdir())


def test_no_room_for_a_copy(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "reads"
    path.write_bytes(DATA)
    monkeypatch.setattr(shutil, "copyfileobj", fail)
    with path.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        with (
            pytest.raises(
                InputError, match=r"standard input: cannot be copied to .*No space.*TMPDIR"
            ),
            rereadable("-"),
        ):
            pass
    assert not list(temporary.iterdir())
