"""VCF written as text, or as BGZF with its index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Final

import pysam

from hapgpu.errors import OutputError, UsageError
from hapgpu.io.bgzf.writer import BgzfWriter
from hapgpu.io.files.htslib import INDEX_DELIMITER, is_parted, silent_htslib
from hapgpu.io.files.output import OutputFile, drop_indexes
from hapgpu.io.files.threaded_output import PooledOutput
from hapgpu.runtime import leftovers

_LONGEST_OF_TBI: Final = 2**29
_BGZF_SUFFIXES: Final = (".gz", ".bgz")
_INDEX_SUFFIXES: Final = (".tbi", ".csi")


class VcfWriter(PooledOutput):
    """An output of VCF lines, a context manager.

    The name says the form: BGZF where it ends in `.gz` or `.bgz`, else text. A BGZF file, unlike
    a pipe, gets an index beside it, `.tbi` or, where a contig is too long for that, `.csi`; both
    appear when both are complete, and an index of an earlier file does not outlive that file.

    Parameters
    ----------
    path
        A file, or `-` for standard output.
    header_text
        All lines of the header, #CHROM included, each closed by a newline.
    contig_lengths
        Bases of the contigs on which records lie.
    threads
        CPU threads used, the calling one among them.

    Raises
    ------
    UsageError
        The name asks for BCF, or is one that htslib cannot index.
    OutputError
        The output cannot be made, written or indexed.
    """

    def __init__(
        self, path: str, header_text: bytes, contig_lengths: Sequence[int], threads: int
    ) -> None:
        suffix = PurePath(path).suffix.lower()
        if suffix == ".bcf":
            raise UsageError(
                f"{path}: BCF is not written: write .vcf.gz and run: bcftools view -Ob"
            )
        if suffix in _BGZF_SUFFIXES and is_parted(path):
            raise UsageError(
                f"{path}: htslib parts names at '{INDEX_DELIMITER}' and cannot index it; rename it"
            )
        super().__init__(path, threads)
        self._path = path
        self._header_text = header_text
        is_long = max(contig_lengths, default=0) > _LONGEST_OF_TBI
        self._index_suffix = ".csi" if is_long else ".tbi"
        self._blocks = (
            BgzfWriter(self._output, self._pool, compressed=True)
            if suffix in _BGZF_SUFFIXES
            else None
        )
        self._index: OutputFile | None = None

    def write(self, lines: bytes) -> None:
        """Append whole lines, sorted by contig and position.

        Raises
        ------
        OutputError
            The output cannot be written.
        """
        sink = self._blocks or self._output
        sink.write(memoryview(lines))

    def _begin(self) -> None:
        if self._blocks and self._output.is_new_file:
            self._index = OutputFile(f"{self._path}{self._index_suffix}")
        self.write(self._header_text)

    def _finish(self) -> None:
        if self._blocks:
            self._blocks.finish()
        if self._index:
            _build_index(self._output, self._index, is_csi=self._index_suffix == ".csi")

    def _commit(self) -> None:
        if not self._index:
            super()._commit()
            return
        # In this order there is never an index beside a file that it was not made of; and one step
        # for signals, after which both are there.
        with leftovers.steady():
            with self._index.reporting():
                drop_indexes(self._path, _INDEX_SUFFIXES, Path(self._index.name))
            super()._commit()
            self._index.commit()

    def _close(self) -> None:
        super()._close()
        if self._index:
            self._index.discard()


def _build_index(data: OutputFile, index: OutputFile, *, is_csi: bool) -> None:
    try:
        with silent_htslib():
            pysam.tabix_index(
                str(data.staged()),
                preset="vcf",
                force=True,
                keep_original=True,
                index=str(index.staged()),
                csi=is_csi,
            )
    except OSError as error:
        raise OutputError(
            f"cannot write {index.name}: the disk is full, or INFO of a record has an END that no"
            " contig reaches"
        ) from error
