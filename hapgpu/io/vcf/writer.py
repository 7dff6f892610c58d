"""Writer of VCF as text, or as BGZF with an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pysam

from hapgpu.errors import OutputError, UsageError
from hapgpu.io.bgzf.deflater import BgzfWriter, Sink
from hapgpu.io.files.htslib import INDEX_DELIMITER, has_index_delimiter, silent_htslib
from hapgpu.io.files.names import is_bgzf_name
from hapgpu.io.files.output import OutputFile, ThreadedOutput
from hapgpu.io.vcf.tabix import BlockStarts, TabixIndex

_MAX_TBI_LENGTH: Final = 2**29


class VcfWriter(ThreadedOutput):
    """Output of VCF lines; a context manager.

    A name that ends in `.gz` or `.bgz` is written as BGZF, others as text. A BGZF file, unlike a
    pipe, gets an index: `.tbi` or, for a contig that is too long for it, `.csi`. File and index get
    their names when both are complete; the index of an earlier file is removed.

    Parameters
    ----------
    path
        A file, or `-` for standard output.
    header_text
        All lines of the header, #CHROM included, each with a newline.
    contig_lengths
        Lengths of the contigs with records.
    threads
        CPU threads, the calling thread included.

    Raises
    ------
    UsageError
        htslib cannot index a file of this name.
    OutputError
        The output cannot be created, written or indexed.
    """

    _index_suffixes = (".tbi", ".csi")

    def __init__(
        self, path: str, header_text: bytes, contig_lengths: Sequence[int], threads: int
    ) -> None:
        if is_bgzf_name(path) and has_index_delimiter(path):
            raise UsageError(
                f"{path}: htslib splits names at '{INDEX_DELIMITER}' and cannot index it; rename it"
            )
        super().__init__(path, threads)
        self._header_text = header_text
        is_long = max(contig_lengths, default=0) > _MAX_TBI_LENGTH
        self._index_suffix = ".csi" if is_long else ".tbi"
        self._is_bgzf = is_bgzf_name(path)
        self._blocks = BlockStarts(self._output)
        self._sink: Sink = self._output
        if self._is_bgzf:
            self._bgzf = BgzfWriter(self._blocks, self._pool, compressed=True)
            self._sink = self._bgzf
        self._tabix: TabixIndex | None = None

    def write(self, lines: bytes) -> None:
        """Append whole lines, sorted by contig and position.

        Raises
        ------
        OutputError
            The output cannot be written.
        """
        self._sink.write(memoryview(lines))
        if self._tabix:
            self._tabix.add(lines)

    def _start(self) -> None:
        self.write(self._header_text)
        if self._is_bgzf and self._output.is_new_file:
            self._index = OutputFile(f"{self._path}{self._index_suffix}")
            if self._index_suffix == ".tbi":
                self._tabix = TabixIndex(len(self._header_text))

    def _finish(self) -> None:
        if self._is_bgzf:
            self._bgzf.finish()
        if not self._index:
            return
        content = self._tabix.content(self._blocks.starts) if self._tabix else None
        if content is None:
            _build_index(self._output, self._index, is_csi=self._index_suffix == ".csi")
            return
        self._index.staged_path()  # it is a regular file
        self._output.flush()  # the index must not be older
        writer = BgzfWriter(self._index, self._pool, compressed=True)
        writer.write(memoryview(content))
        writer.finish()
        self._index.flush()


def _build_index(data: OutputFile, index: OutputFile, *, is_csi: bool) -> None:
    try:
        with silent_htslib():
            pysam.tabix_index(
                str(data.staged_path()),
                preset="vcf",
                force=True,
                keep_original=True,
                index=str(index.staged_path()),
                csi=is_csi,
            )
    except OSError as error:
        raise OutputError(
            f"{index.name}: cannot be written (disk full, or INFO/END after the end of a contig);"
            " free disk space or correct END"
        ) from error
