"""Cache of compiled code: with any damage to it, runs continue with the same results."""

from __future__ import annotations

import errno
import os
import pickle
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hapgpu.runtime.cache import store
from hapgpu.runtime.compiled.cache import CheckedCache
from hapgpu.runtime.compiled.dispatcher import CompiledFunction

ROOT = os.geteuid() == 0
STRANGER = 12345
NO_SPACE = "No space left on device"


def compiled_in(directory: Path | None) -> Any:
    """Return a function as in a new process: not compiled, with the cache of the directory."""

    def add(a: int, b: int) -> int:
        return a + b

    function = CompiledFunction(add, {"nogil": True})
    function._cache = CheckedCache(add, directory)
    return function


def hits(function: Any) -> int:
    return sum(function.stats.cache_hits.values())


def check_run(directory: Path | None, *, expected_hits: int) -> None:
    function = compiled_in(directory)
    assert function(1, 2) == 3
    assert hits(function) == expected_hits


def only_file(directory: Path) -> Path:
    (file,) = (path for path in directory.iterdir())
    return file


def test_compiled_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The test also guards the private names of Numba that the cache relies on."""
    check_run(tmp_path, expected_hits=0)
    check_run(tmp_path, expected_hits=1)
    assert not caplog.messages


def test_versions_for_other_types_are_kept_too(tmp_path: Path) -> None:
    check_run(tmp_path, expected_hits=0)
    assert compiled_in(tmp_path)(0.5, 0.25) == 0.75
    function = compiled_in(tmp_path)
    assert (function(1, 2), function(0.5, 0.25)) == (3, 0.75)
    assert hits(function) == 2


@pytest.mark.parametrize("length", [0, 1, 31, 32, 64, 100, -1])
def test_a_file_cut_short_is_compiled_again(length: int, tmp_path: Path) -> None:
    check_run(tmp_path, expected_hits=0)
    file = only_file(tmp_path)
    file.write_bytes(file.read_bytes()[:length])
    check_run(tmp_path, expected_hits=0)
    check_run(tmp_path, expected_hits=1)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.004, 0.1, 0.5, 0.999])
def test_a_flipped_bit_is_noticed(share: float, tmp_path: Path) -> None:
    check_run(tmp_path, expected_hits=0)
    file = only_file(tmp_path)
    content = bytearray(file.read_bytes())
    content[int(share * len(content))] ^= 4
    file.write_bytes(content)
    check_run(tmp_path, expected_hits=0)
    check_run(tmp_path, expected_hits=1)


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self._mark,)


def test_the_bomb_works(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Bomb(tmp_path / "mark")))  # noqa: S301
    assert (tmp_path / "mark").exists()


def test_foreign_files_are_not_unpickled(tmp_path: Path) -> None:
    directory, mark = tmp_path / "cache", tmp_path / "mark"
    check_run(directory, expected_hits=0)
    only_file(directory).write_bytes(pickle.dumps(Bomb(mark)))
    check_run(directory, expected_hits=0)
    assert not mark.exists()


def plant(directory: Path, mark: Path) -> Path:
    """Put a bomb into the cache, with a correct label and checksum."""
    compiled = compiled_in(directory)
    assert compiled(1, 2) == 3
    file = only_file(directory)
    _, label = compiled._cache._version(compiled.signatures[0], compiled.targetctx)
    store(file, label, pickle.dumps(Bomb(mark)))
    return file


def test_files_that_others_may_write_are_not_unpickled(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory, mark = tmp_path / "cache", tmp_path / "mark"
    for mode in (0o664, 0o646):
        plant(directory, mark).chmod(mode)
        check_run(directory, expected_hits=0)
        check_run(directory, expected_hits=1)  # its own, under the same name
    assert not mark.exists()
    (message,) = caplog.messages
    assert "other users can write" in message


@pytest.mark.skipif(not ROOT, reason="only root can give files away")
def test_files_that_others_own_are_not_unpickled(tmp_path: Path) -> None:
    directory, mark = tmp_path / "cache", tmp_path / "mark"
    os.chown(plant(directory, mark), STRANGER, STRANGER)
    check_run(directory, expected_hits=0)
    check_run(directory, expected_hits=1)
    assert not mark.exists()


def check_goes_on_without(directory: Path | None, caplog: pytest.LogCaptureFixture) -> str:
    """Return the one warning of a run without a usable cache."""
    check_run(directory, expected_hits=0)
    check_run(directory, expected_hits=0)
    (message,) = caplog.messages
    assert "set HAPGPU_CACHE_DIR to another directory" in message
    return message


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_write_that_fails(
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(self: Path, _target: Path) -> None:
        raise OSError(number, os.strerror(number), str(self))

    monkeypatch.setattr(Path, "replace", refuse)
    message = check_goes_on_without(tmp_path, caplog)
    assert os.strerror(number) in message
    assert str(tmp_path) in message
    assert not [*tmp_path.iterdir()]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_limit_of_file_sizes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with largest_file(1000):
        message = check_goes_on_without(tmp_path, caplog)
    assert "File too large" in message
    assert not [*tmp_path.iterdir()]


@pytest.mark.skipif(not ROOT, reason="only root can mount a file system")
def test_a_full_disk(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", tmp_path]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("tmpfs cannot be mounted here")
    try:
        message = check_goes_on_without(tmp_path / "cache", caplog)
        assert not [*(tmp_path / "cache").iterdir()]
    finally:
        subprocess.run(["umount", tmp_path], check=True)
    assert NO_SPACE in message


@pytest.mark.skipif(ROOT, reason="root writes everywhere")
def test_a_read_only_directory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tmp_path.chmod(0o500)
    check_goes_on_without(tmp_path, caplog)


@pytest.mark.skipif(ROOT, reason="root enters everywhere")
def test_a_directory_without_access(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tmp_path.chmod(0)
    check_goes_on_without(tmp_path / "cache", caplog)


def test_a_file_instead_of_the_directory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    check_goes_on_without(tmp_path / "file" / "cache", caplog)


def test_a_directory_that_cannot_be_made(caplog: pytest.LogCaptureFixture) -> None:
    check_goes_on_without(Path("/proc/none/cache"), caplog)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["directory", "pipe"])
def test_something_else_instead_of_a_file(make: Callable[[Path], None], tmp_path: Path) -> None:
    check_run(tmp_path, expected_hits=0)
    file = only_file(tmp_path)
    file.unlink()
    make(file)
    check_run(tmp_path, expected_hits=0)


def test_no_directory_at_all(caplog: pytest.LogCaptureFixture) -> None:
    check_goes_on_without(None, caplog)


def test_the_directory_is_deleted_in_the_middle(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    function = compiled_in(directory)
    assert function(1, 2) == 3
    shutil.rmtree(directory)
    assert function(0.5, 0.25) == 0.75
    check_run(directory, expected_hits=0)
    check_run(directory, expected_hits=1)


def test_a_directory_of_numbas_is_reported_with_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    check_run(tmp_path / "file", expected_hits=0)
    (message,) = caplog.messages
    assert "set NUMBA_CACHE_DIR to another directory" in message


COMPILE = """
import pwd
def refuse(_): raise KeyError("uid not found")
pwd.getpwuid = refuse
from hapgpu.cli.terminal.messages import set_up_messages
set_up_messages("map", quiet={quiet}, verbose=False, debug=False)
from hapgpu.arrays.bytes import load_i32
from hapgpu.runtime.compiled.first_run import FirstRun
from hapgpu.runtime.devices import CpuDevice
from hapgpu.runtime.jit import COMPILED
from hapgpu.runtime.progress import NoProgress
import numpy as np
FirstRun(COMPILED, "map", [CpuDevice()], []).compile(NoProgress())
print(load_i32(np.array([5, 1, 0, 0], dtype=np.uint8), 0))
"""


@pytest.mark.parametrize("quiet", [False, True])
def test_a_process_without_a_home(tmp_path: Path, *, quiet: bool) -> None:
    names = {"HOME", "HAPGPU_CACHE_DIR", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"}
    environment = {name: value for name, value in os.environ.items() if name not in names}
    root = str(Path(__file__).parents[3])
    ended = subprocess.run(
        [sys.executable, "-c", COMPILE.format(quiet=quiet)],
        env={**environment, "PYTHONPATH": root},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "261\n"
    expected = (
        "hapgpu map: no directory to store compiled code in; compiled for this run only; "
        "set HAPGPU_CACHE_DIR to another directory\n"
    )
    assert ended.stderr == ("" if quiet else expected)
    assert not [*tmp_path.iterdir()]
