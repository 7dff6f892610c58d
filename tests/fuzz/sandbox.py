"""Sandbox of a target: files of the corpus, and directories for an input and an output."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from hapgpu.cli.catalogue import command_module
from hapgpu.cli.parameters import one_parameter_per_option
from tests.fuzz.inputs.corpus import Corpus

_ON_CPU: Final = {"device": "cpu", "threads": 1}
_COMPUTING: Final = {"realign", "pairhmm", "genotype", "call", "map", "chain"}
_LAST: Final = 0xFFFF


class LeftoverError(Exception):
    """A command has left a temporary file."""


class Sandbox:
    """Directories for inputs and outputs, which are empty between executions.

    Parameters
    ----------
    corpus
        Further inputs of the commands.
    directory
        Existing directory, in memory if possible.
    """

    def __init__(self, corpus: Corpus, directory: Path) -> None:
        self.corpus = corpus
        self._inputs, self._outputs = directory / "in", directory / "out"
        for made in (self._inputs, self._outputs):
            made.mkdir()
        self._count = 0

    @property
    def output(self) -> Path:
        return self._outputs / "out"

    def known(self, name: str) -> Path:
        """Return a file of the corpus, which is not changed."""
        return self.corpus.directory / name

    @contextmanager
    def file(self, data: bytes, suffix: str, **beside: bytes) -> Iterator[Path]:
        """Write an input under a new name: the cache of files is keyed by name.

        `beside` holds further files beside it, by the ends of their names.
        """
        self._count += 1
        path = self._inputs / f"{self._count}.{suffix}"
        files = {path: data} | {Path(f"{path}.{end}"): part for end, part in beside.items()}
        for each, content in files.items():
            each.write_bytes(content)
        try:
            yield path
        finally:
            for each in self._inputs.iterdir():
                each.unlink()

    @contextmanager
    def link(self, name: str, **beside: bytes) -> Iterator[Path]:
        """Link a file of the corpus beside other files."""
        self._count += 1
        path = self._inputs / f"{self._count}{Path(name).suffix}"
        path.symlink_to(self.known(name))
        for end, content in beside.items():
            Path(f"{path}.{end}").write_bytes(content)
        try:
            yield path
        finally:
            for each in self._inputs.iterdir():
                each.unlink()

    def run(self, command: str, **arguments: Any) -> bytes:
        """Run the function of a command; return its output.

        Raises
        ------
        LeftoverError
            It left more files than its output, or an output although it failed.
        """
        function = one_parameter_per_option(getattr(command_module(command), command))
        computing = _ON_CPU if command in _COMPUTING else {}
        try:
            function(**arguments, **computing, output=self.output, quiet=True)
            return self.output.read_bytes()
        except Exception:
            self._clear(())
            raise
        finally:
            self._clear((self.output,))

    def _clear(self, expected: tuple[Path, ...]) -> None:
        found = list(self._outputs.iterdir())
        for path in found:
            path.unlink()
        if left := [path.name for path in found if path not in expected]:
            raise LeftoverError(", ".join(left))


def covering_index(bam: bytes) -> bytes:
    """Return a BAI by which each region is all of a BAM file, damaged or not."""
    blocks = [(0, b"")]
    try:
        at = 0
        while at < len(bam):
            (size,) = struct.unpack_from("<H", bam, at + 16)
            inflated = zlib.decompress(bam[at + 18 : at + size - 7], -15)
            blocks.append((at, inflated))
            at += size + 1
        start, references = _first_record(b"".join(content for _, content in blocks))
    except (struct.error, zlib.error, ValueError):
        start, references = 0, 1
    first, end = _virtual(blocks, start), blocks[-1][0] << 16 | min(len(blocks[-1][1]), _LAST)
    one = struct.pack("<iIiQQi", 1, 0, 1, first, max(first, end), 0)
    return struct.pack("<4si", b"BAI\1", references) + one * references


def _first_record(data: bytes) -> tuple[int, int]:
    """Return the offset of the first record after a header, and the number of contigs."""
    (text,) = struct.unpack_from("<i", data, 4)
    (references,) = struct.unpack_from("<i", data, 8 + text)
    if not 0 <= references <= 1000:
        raise ValueError
    at = 12 + text
    for _ in range(references):
        at += 8 + struct.unpack_from("<i", data, at)[0]
    return at, references


def _virtual(blocks: list[tuple[int, bytes]], at: int) -> int:
    for offset, content in blocks:
        if at < len(content):
            return offset << 16 | max(at, 0)
        at -= len(content)
    return blocks[-1][0] << 16
