"""Output files that appear under their name only when they are complete."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from hapgpu.errors import OutputError
from hapgpu.runtime import leftovers

_BUFFER_BYTES = 1 << 20
_STANDARD_OUTPUT = 1
_MAX_LINKS = 40


class OutputFile:
    """A binary output: a file, or standard output.

    A regular file is written beside its target under a temporary name. Leaving the context
    gives it its name; leaving it with an exception removes it, and so does the end of the process
    by a signal. Pipes, devices and descriptors (`/dev/stdout`, `/dev/fd/3`) are written directly.
    A broken pipe is raised as it is.

    Parameters
    ----------
    path
        `-` or None is standard output.

    Raises
    ------
    OutputError
        The file cannot be made, written or renamed.
    """

    def __init__(self, path: str | Path | None) -> None:
        standard = path is None or str(path) == "-"
        self.name = "standard output" if standard else str(path)
        self._target: Path | None = None
        self._temporary: Path | None = None
        self._leftover = -1
        with self.reporting():
            descriptor = _STANDARD_OUTPUT if standard else _descriptor_of(Path(str(path)))
            standard = descriptor == _STANDARD_OUTPUT
            if standard:
                self._stream: BinaryIO = sys.stdout.buffer
            elif descriptor is not None:
                self._stream = os.fdopen(os.dup(descriptor), "wb", buffering=_BUFFER_BYTES)
            else:
                self._stream = self._open(Path(str(path)))
        self._is_standard = standard

    def _open(self, path: Path) -> BinaryIO:
        if path.is_dir():
            raise OutputError(f"cannot write {self.name}: it is a folder")
        if path.exists() and not path.is_file():
            return path.open("wb", buffering=_BUFFER_BYTES)
        self._target = path.resolve()
        temporary = self._target.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.tmp")
        with leftovers.steady():
            stream = temporary.open("x+b", buffering=_BUFFER_BYTES)
            self._leftover = leftovers.register(temporary.unlink)
        self._temporary = temporary
        return stream

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append bytes."""
        with self.reporting():
            self._stream.write(data)

    def fileno(self) -> int:
        """Return the descriptor; nothing may have been written before it is used."""
        return self._stream.fileno()

    def staged(self) -> Path:
        """Write out what is buffered, and return where it lies until it is committed.

        Raises
        ------
        OutputError
            It is written to a pipe or a device.
        """
        with self.reporting():
            self._stream.flush()
        if not self._temporary:
            raise OutputError(f"cannot write {self.name}: it is no regular file")
        return self._temporary

    def commit(self) -> None:
        """Write out what is buffered and give the file its name."""
        with self.reporting():
            if self._is_standard:
                self._stream.flush()
                return
            self._stream.close()
            if self._temporary and self._target:
                with leftovers.steady():
                    self._temporary.replace(self._target)
                    leftovers.forget(self._leftover)
                    leftovers.note_result()
                self._temporary = None

    def discard(self) -> None:
        """Remove what has been written, where that is possible."""
        if not self._is_standard:
            with suppress(OSError):
                self._stream.close()
        if self._temporary:
            self._temporary.unlink(missing_ok=True)
            leftovers.forget(self._leftover)
            self._temporary = None

    @property
    def is_new_file(self) -> bool:
        """Whether this is a regular file, and not a pipe or a device."""
        return self._temporary is not None

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Turn what the system says of this file into an OutputError; a broken pipe stays."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise OutputError(f"cannot write {self.name}: {reason}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.discard()
            return
        try:
            self.commit()
        except BaseException:
            self.discard()
            raise


def _descriptor_of(path: Path) -> int | None:
    """Return the descriptor of this process that a path such as `/dev/stdout` leads to.

    What it stands for may be a file with content before and behind: that is not to be replaced.
    """
    for _ in range(_MAX_LINKS):
        if path.parent.resolve() == Path(f"/proc/{os.getpid()}/fd") and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def write_json(path: str | Path, value: object) -> None:
    """Write a value as a whole file of JSON.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    with OutputFile(path) as output:
        output.write(json.dumps(value, indent=2).encode() + b"\n")


def drop_indexes(path: str, suffixes: Sequence[str], written: Path) -> None:
    """Remove indexes beside a name and, of a link, beside its target, for `written` to come."""
    for name in (path, Path(path).resolve()):
        for suffix in suffixes:
            index = Path(f"{name}{suffix}")
            # The link stays by which the index is written elsewhere.
            (index.resolve() if index == written else index).unlink(missing_ok=True)
