"""Output files that get their name only when they are complete."""

from __future__ import annotations

import os
import secrets
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, ClassVar, Self

from hapgpu.errors import OutputError
from hapgpu.runtime import leftovers
from hapgpu.runtime.pool import Pool

_BUFFER_BYTES = 1 << 20
_STANDARD_OUTPUT = 1
_MAX_LINKS = 40


class OutputFile:
    """Binary output: a file, or standard output.

    A regular file is written under a temporary name in the directory of its target. It gets its
    name when the context ends; an exception, or a signal that ends the process, removes it. Pipes,
    devices and descriptors (`/dev/stdout`, `/dev/fd/3`) are written directly. BrokenPipeError is
    raised unchanged.

    Parameters
    ----------
    path
        A file; `-` or None for standard output.

    Raises
    ------
    OutputError
        The file cannot be created, written or renamed.
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
            raise OutputError(f"{self.name}: is a directory; give a file")
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

    def flush(self) -> None:
        """Hand over what was written to the system."""
        with self.reporting():
            self._stream.flush()

    def fileno(self) -> int:
        """Return the descriptor, for use before anything is written."""
        return self._stream.fileno()

    def staged_path(self) -> Path:
        """Flush the buffer; return the temporary path of the file.

        Raises
        ------
        OutputError
            The output is a pipe or a device.
        """
        self.flush()
        if not self._temporary:
            raise OutputError(f"{self.name}: not a regular file; give a file")
        return self._temporary

    def commit(self) -> None:
        """Flush the buffer and give the file its name."""
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
        """Remove the temporary file, if there is one."""
        if not self._is_standard:
            with suppress(OSError):
                self._stream.close()
        if self._temporary:
            self._temporary.unlink(missing_ok=True)
            leftovers.forget(self._leftover)
            self._temporary = None

    @property
    def is_new_file(self) -> bool:
        """Whether this is a regular file, not a pipe or a device."""
        return self._temporary is not None

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Raise OutputError where OSError is raised; BrokenPipeError passes."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise OutputError(f"{self.name}: cannot be written ({reason})") from error

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
    """Return the descriptor of this process that a path such as `/dev/stdout` refers to, or None.

    The descriptor may be of a file with other content, which must not be replaced.
    """
    for _ in range(_MAX_LINKS):
        if path.parent.resolve() == Path(f"/proc/{os.getpid()}/fd") and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def remove_indexes(path: str, suffixes: Sequence[str], written: Path) -> None:
    """Remove the indexes of a file, and of the target of a link, before `written` is added."""
    for name in (path, Path(path).resolve()):
        for suffix in suffixes:
            index = Path(f"{name}{suffix}")
            # A link through which the new index is written stays.
            (index.resolve() if index == written else index).unlink(missing_ok=True)


class ThreadedOutput(ABC):
    """Output file and the threads that prepare its content; a context manager.

    An exception in the context discards the output. The file may get an index: both get their names
    when both are complete, and the indexes of an earlier file are removed.

    Parameters
    ----------
    path
        A file, which appears when it is complete, or `-` for standard output.
    threads
        CPU threads, the calling thread included.

    Raises
    ------
    OutputError
        The output cannot be created.
    """

    _index_suffixes: ClassVar[tuple[str, ...]] = ()
    """Suffixes of the indexes that a file of this kind may have."""

    def __init__(self, path: str, threads: int) -> None:
        self._pool = Pool(threads)
        self._path = path
        self._output = OutputFile(path)
        self._index: OutputFile | None = None
        self._is_finished = False

    def finish(self) -> None:
        """Write everything, so that the end of the context only gives the file its name.

        Of several outputs, all appear or none, if each is finished before any context ends.

        Raises
        ------
        OutputError
            The output cannot be written.
        """
        self._finish()
        self._output.flush()
        self._is_finished = True

    @abstractmethod
    def _start(self) -> None:
        """Write the header."""

    @abstractmethod
    def _finish(self) -> None:
        """Write the pending data and the end of the file."""

    def _commit(self) -> None:
        """Give the complete files their names."""
        if not self._index:
            self._output.commit()
            return
        # In this order there is never an index beside a file that it does not match. A signal waits
        # until both are complete.
        with leftovers.steady():
            with self._index.reporting():
                remove_indexes(self._path, self._index_suffixes, Path(self._index.name))
            self._output.commit()
            self._index.commit()

    def _close(self) -> None:
        """Release threads and files; discard what was not committed."""
        self._pool.close()
        self._output.discard()
        if self._index:
            self._index.discard()

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                if not self._is_finished:
                    self._finish()
                self._commit()
        finally:
            self._close()
