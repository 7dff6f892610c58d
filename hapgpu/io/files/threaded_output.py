"""Base of outputs that several threads prepare."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from hapgpu.io.files.output import OutputFile
from hapgpu.runtime.pool import Pool


class ThreadedOutput(ABC):
    """Output file and the threads that prepare its content; a context manager.

    An exception in the context discards the output.

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

    def __init__(self, path: str, threads: int) -> None:
        self._pool = Pool(threads)
        self._output = OutputFile(path)
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
        """Give the complete file its name."""
        self._output.commit()

    def _close(self) -> None:
        """Release threads and file; discard the output if it was not committed."""
        self._pool.close()
        self._output.discard()

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
