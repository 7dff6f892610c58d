"""Common parts of the sources of reads in BAM, CRAM and SAM."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Final, Self

from hapgpu.io.alignments.formats import ReadFormat, ReadInput
from hapgpu.io.alignments.index.open import has_index
from hapgpu.io.bam.header import SamHeader

INDEX_KINDS: Final = {
    ReadFormat.BAM: ("bai", "csi"),
    ReadFormat.CRAM: ("crai", "csi"),
    ReadFormat.SAM: (),
}
"""Suffixes of the indexes of each format."""


class Closeable(ABC):
    """Context manager that calls `close` at its end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Release files, threads and processes."""


def is_sorted(source: ReadInput, header: SamHeader) -> bool:
    """Tell whether the header, or an index beside the file, says that records are sorted."""
    indexed = source.path is not None and has_index(source.path, INDEX_KINDS[source.format])
    return header.is_coordinate_sorted or indexed
