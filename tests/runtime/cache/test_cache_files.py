"""The files of the cache: their paths, their permissions, and their removal."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from hapgpu.runtime import cache
from hapgpu.runtime.cache import cache_directory, load, mark_used, store
from hapgpu.runtime.devices import set_cupy_cache


def test_damage_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("a", "b"):
        store(tmp_path / name, name, b"content")
        with (tmp_path / name).open("ab") as file:
            file.write(b"more")
        assert load(tmp_path / name, name) is None
    (message,) = caplog.messages
    assert str(tmp_path / "a") in message
    assert "set HAPGPU_CACHE_DIR" in message


def test_a_file_under_the_name_of_another_is_not_taken(tmp_path: Path) -> None:
    store(tmp_path / "a", "for sm_80", b"content")
    shutil.copy(tmp_path / "a", tmp_path / "b")
    assert load(tmp_path / "b", "for sm_90") is None
    assert load(tmp_path / "b", "for sm_80") == b"content"


def test_files_are_never_writable_by_others(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store(tmp_path / "cache" / "numba" / "a", "a", b"content")
    finally:
        os.umask(before)
    for path in (tmp_path / "cache").rglob("*"):
        assert not path.stat().st_mode & 0o022
    assert not (tmp_path / "cache").stat().st_mode & 0o022


def test_writers_at_once_leave_one_of_their_contents(tmp_path: Path) -> None:
    contents = [bytes([number]) * 100_000 for number in range(4)]
    seen: list[bytes | None] = []

    def write_and_read(content: bytes) -> None:
        for _ in range(30):
            store(tmp_path / "a", "a", content)
            seen.append(load(tmp_path / "a", "a"))

    threads = [Thread(target=write_and_read, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 120
    assert set(seen) <= set(contents)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a user without an entry in the user database, as in containers."""

    def refuse(_: int) -> None:
        raise KeyError("uid not found")

    monkeypatch.setattr(pwd, "getpwuid", refuse)
    for name in ("HOME", "HAPGPU_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_home(monkeypatch)
    with pytest.raises(OSError, match="no home directory"):
        cache_directory()
    assert cache.cache_path("a") is None
    monkeypatch.setenv("HOME", "/somewhere")
    assert cache_directory() == Path("/somewhere/.cache/hapgpu")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache_directory() == Path("/caches/hapgpu")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HAPGPU_CACHE_DIR", "here")
    assert cache_directory() == tmp_path / "here"


def aged(path: Path, days: float) -> Path:
    then = time.time() - days * 24 * 3600
    os.utime(path, (then, then))
    return path


def test_files_unused_for_a_month_are_removed(tmp_path: Path) -> None:
    old, recent, foreign = (tmp_path / name for name in ("0" * 16, "1" * 16, "results"))
    for directory in (old, recent, foreign):
        directory.mkdir()
        (directory / "file").touch()
    old_kernel = tmp_path / f"{'2' * 32}.kernel"
    old_kernel.touch()
    aged(recent, 29)
    for path in (old, foreign, old_kernel):
        aged(path, 31)
    mark_used(tmp_path / ("3" * 16))
    assert {path.name for path in tmp_path.iterdir()} == {recent.name, foreign.name}
    aged(recent, 31)
    mark_used(recent)  # in use, and nothing is new
    mark_used(tmp_path / ("3" * 16))
    assert recent.is_dir()


def test_nothing_is_removed_where_others_may_have_put_it(tmp_path: Path) -> None:
    directory, elsewhere, link = (tmp_path / name for name in ("numba", "elsewhere", "link"))
    for parent in (directory, elsewhere):
        (parent / ("0" * 16)).mkdir(parents=True)
        aged(parent / ("0" * 16), 31)
    directory.chmod(0o777)
    link.symlink_to(elsewhere)
    mark_used(directory / ("1" * 16))
    mark_used(link / ("1" * 16))
    assert (directory / ("0" * 16)).is_dir()
    assert (elsewhere / ("0" * 16)).is_dir()


@pytest.fixture
def without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    for name in ("CUPY_CACHE_DIR", "CUPY_CACHE_IN_MEMORY"):
        monkeypatch.setenv(name, "")  # to be restored after the test
        monkeypatch.delenv(name)


@pytest.mark.usefixtures("without_cupy")
def test_a_directory_for_cupy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HAPGPU_CACHE_DIR", str(tmp_path / "cache"))
    set_cupy_cache()
    assert "CUPY_CACHE_DIR" not in os.environ
    shutil.rmtree(home)
    home.touch()
    set_cupy_cache()
    assert os.environ["CUPY_CACHE_DIR"] == str(tmp_path / "cache" / "cupy")
    assert "CUPY_CACHE_IN_MEMORY" not in os.environ


@pytest.mark.usefixtures("without_cupy")
def test_no_directory_for_cupy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_home(monkeypatch)
    monkeypatch.chdir(tmp_path)
    set_cupy_cache()
    assert os.environ["CUPY_CACHE_IN_MEMORY"] == "1"
    assert Path(os.environ["CUPY_CACHE_DIR"]).is_dir()
    assert not [*tmp_path.iterdir()]
