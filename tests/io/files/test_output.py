"""An output file appears when it is complete, and not before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hapgpu.errors import OutputError
from hapgpu.io.files.output import OutputFile


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with OutputFile(path) as output:
        output.write(b"new")
        output.write(memoryview(b" content"))
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new content"
    assert list(tmp_path.iterdir()) == [path]


def _fail_within(path: Path) -> None:
    with OutputFile(path) as output:
        output.write(b"new")
        raise ZeroDivisionError


def test_an_exception_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(ZeroDivisionError):
        _fail_within(path)
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError):
        _fail_within(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_as_for_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    with OutputFile(tmp_path / "out"):
        pass
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_keeps_its_target(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.touch()
    link.symlink_to(target)
    with OutputFile(link) as output:
        output.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("path", ["-", None])
def test_standard_output(path: str | None, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with OutputFile(path) as output:
        output.write(b"\x00\xff")
    assert capfdbinary.readouterr().out == b"\x00\xff"


def test_devices_are_written_directly() -> None:
    with OutputFile("/dev/null") as output:
        output.write(b"new")
    assert Path("/dev/null").is_char_device()


def test_unwritable_paths_are_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"no/out: cannot be written \(No such file or directory"):
        OutputFile(tmp_path / "no" / "out")
    with pytest.raises(OutputError, match="is a directory"):
        OutputFile(tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_reported() -> None:
    def fill() -> None:
        with OutputFile("/dev/full") as output:
            output.write(bytes(1 << 22))

    with pytest.raises(
        OutputError, match=r"/dev/full: cannot be written \(No space left on device"
    ):
        fill()


def test_a_broken_pipe_is_propagated(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    def write() -> None:
        with OutputFile("-") as output:
            output.write(bytes(1 << 22))

    with os.fdopen(os.dup(1), "w") as stdout:
        monkeypatch.setattr(sys, "stdout", os.fdopen(writing, "w"))
        with pytest.raises(BrokenPipeError):
            write()
        sys.stdout.detach().detach().close()
        monkeypatch.setattr(sys, "stdout", stdout)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
def test_a_file_given_as_a_descriptor_is_appended_to(tmp_path: Path, name: str) -> None:
    """`>> log` and `-o /dev/stdout`: the file keeps its content, and later output follows."""
    (tmp_path / "link").symlink_to("/dev/stdout")
    log = tmp_path / "log"
    log.write_text("before\n")
    code = (
        "import sys\n"
        "from hapgpu.io.files.output import OutputFile\n"
        "with OutputFile(sys.argv[1]) as output: output.write(b'here\\n')\n"
    )
    with log.open("a") as file:
        for text in ("here\n", ""):
            command = [sys.executable, "-c", code if text else "print('after')", name]
            subprocess.run(command, stdout=file, cwd=tmp_path, check=True)
    assert log.read_text() == "before\nhere\nafter\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "log"]


def test_another_descriptor_is_written_to(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w+b") as file:
        file.write(b"before ")
        file.flush()
        with OutputFile(f"/dev/fd/{file.fileno()}") as output:
            output.write(b"here")
        file.write(b" after")
    assert (tmp_path / "file").read_bytes() == b"before here after"
