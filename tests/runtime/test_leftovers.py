"""Clean-up of temporary files and child processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from hapgpu.io.alignments.samtools import Samtools
from hapgpu.io.files.output import OutputFile
from hapgpu.runtime import leftovers


@pytest.fixture(autouse=True)
def _nothing_registered() -> Iterator[None]:
    leftovers.clear_up()
    yield
    leftovers.clear_up()


def test_the_latest_is_undone_first_and_failures_stop_none() -> None:
    undone: list[int] = []

    def undo(number: int) -> None:
        undone.append(number)
        if number == 2:
            raise OSError

    numbers = [leftovers.register(lambda k=k: undo(k)) for k in range(5)]
    leftovers.forget(numbers[3])
    leftovers.forget(numbers[3])
    leftovers.clear_up()
    leftovers.clear_up()
    assert undone == [4, 2, 1, 0]


def test_nothing_is_made_between_clearing_up_and_the_end(tmp_path: Path) -> None:
    """As by a signal, while another thread continues."""
    partial = OutputFile(tmp_path / "partial")
    late = Thread(target=lambda: OutputFile(tmp_path / "late").commit())
    with leftovers.steady():
        leftovers.clear_up()
        late.start()
        late.join(0.2)
        assert late.is_alive()
        assert not [*tmp_path.iterdir()]
    late.join()
    partial.discard()
    assert [path.name for path in tmp_path.iterdir()] == ["late"]


def test_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with leftovers.temporary_directory() as directory:
        (directory / "file").touch()
        leftovers.clear_up()
        assert not directory.exists()
    with leftovers.temporary_directory() as directory:
        (directory / "file").touch()
    assert not [*tmp_path.iterdir()]


def test_a_child_that_cannot_be_started_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("subprocess.Popen", refuse)
    with pytest.raises(Exception, match=r"samtools: cannot be started \(.*ulimit -u"):
        Samtools(["view", "-"], None, 1)
    assert not [*tmp_path.iterdir()]


def test_a_child_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    samtools = Samtools(["view", "-"], -1, -1)
    leftovers.clear_up()
    assert samtools.failure() is not None
    assert not [*tmp_path.iterdir()]
    samtools.close()
