"""Output of text: plain, or BGZF if the name of the file ends in .gz or .bgz."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Final, TypeAlias

from hapgpu.io.bgzf.writer import BgzfWriter
from hapgpu.io.files.mmap_output import MmapOutput
from hapgpu.io.files.output import OutputFile
from hapgpu.runtime.pool import MAX_IO_THREADS, Pool

WriteText: TypeAlias = Callable[[memoryview], object]
"""Appends bytes, which must not change later; a piece may end within a line."""

_BGZF_SUFFIXES: Final = (".gz", ".bgz")


def is_bgzf_name(path: str | PurePath) -> bool:
    """Tell whether text in a file of this name is BGZF."""
    return PurePath(path).suffix.lower() in _BGZF_SUFFIXES


def extension_of(path: str | PurePath) -> str:
    """Return the extension in lower case, without the dot and without .gz or .bgz behind it."""
    name = PurePath(path)
    return (PurePath(name.stem) if is_bgzf_name(name) else name).suffix.lstrip(".").lower()


class TextSink:
    """Sink that deflates text if the name of its file says so.

    Parameters
    ----------
    output
        Receives the text, or its BGZF blocks.
    pool
        Deflates while the caller goes on.

    Attributes
    ----------
    is_bgzf
        Whether the text is deflated.
    """

    def __init__(self, output: OutputFile, pool: Pool) -> None:
        self.is_bgzf = is_bgzf_name(output.name)
        self._blocks = BgzfWriter(output, pool, compressed=True) if self.is_bgzf else None
        self._sink = self._blocks or output

    def write(self, text: memoryview) -> None:
        """Append bytes: see `WriteText`.

        Raises
        ------
        OutputError
            The output cannot be written.
        """
        self._sink.write(text)

    def finish(self) -> None:
        """Write what is pending, and the end of BGZF.

        Raises
        ------
        OutputError
            The output cannot be written.
        """
        if self._blocks:
            self._blocks.finish()


@contextmanager
def open_text(
    path: str | Path | None, threads: int = 1, copying_threads: int = 1
) -> Iterator[WriteText]:
    """Open an output for text; an exception in the context discards it.

    Parameters
    ----------
    path
        A file, which appears when it is complete; `-` or None for standard output.
    threads
        CPU threads that deflate, the calling thread included; more than `MAX_IO_THREADS` are not
        used.
    copying_threads
        Threads that write plain text to a regular file.

    Raises
    ------
    OutputError
        The output cannot be created or written.
    """
    with OutputFile(path) as output:
        if copying_threads > 1 and output.is_new_file and not is_bgzf_name(output.name):
            with MmapOutput(output, copying_threads) as writer:
                yield writer.write
            return
        with Pool(min(threads, MAX_IO_THREADS)) as pool:
            sink = TextSink(output, pool)
            yield sink.write
            sink.finish()


def write_json(path: str | Path, value: object) -> None:
    """Write a value to a JSON file.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    with open_text(path) as write:
        write(memoryview(json.dumps(value, indent=2).encode() + b"\n"))
