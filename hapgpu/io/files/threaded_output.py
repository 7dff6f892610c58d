"""Outputs whose content is prepared by several threads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from hapgpu.io.files.output import OutputFile
from hapgpu.runtime.pool import Pool


class PooledOutput(ABC):
    """A context manager around an output file and the threads that prepare its content.

    Leaving its context with an exception discards the output.

    Parameters
    ----------
    path
        A file, which appears when it is complete, or `-` for standard output.
    threads
        CPU threads used, the calling one among them.

    Raises
    ------
    OutputError
        The output cannot be made.
    """

    def __init__(self, path: str, threads: int) -> None:
        self._pool = Pool(threads)
        self._output = OutputFile(path)

    @abstractmethod
    def _begin(self) -> None:
        """Write what comes before the records."""

    @abstractmethod
    def _finish(self) -> None:
        """Write what is pending and what comes behind the records."""

    def _commit(self) -> None:
        """Give what is complete its name."""
        self._output.commit()

    def _close(self) -> None:
        """Let go of everything; what was not committed is lost."""
        self._pool.close()
        self._output.discard()

    def __enter__(self) -> Self:
        try:
            self._begin()
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
                self._finish()
                self._commit()
        finally:
            self._close()
