"""Records of VCF in columns: the text of their lines, and the offsets of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, overload

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.io.vcf.records import FIXED_COLUMNS, VcfRecord, record_of

GENOTYPES: Final = FIXED_COLUMNS
"""Column of `VcfBatch.columns`: the start of FORMAT."""
END: Final = GENOTYPES + 1
"""Column of `VcfBatch.columns`: the end of the last sample."""


@dataclass(frozen=True, slots=True)
class VcfBatch(Sequence[VcfRecord]):
    """n records of one contig; a sequence of `VcfRecord`, each made when it is indexed.

    Attributes
    ----------
    contig
        CHROM.
    unit
        `line`, or `record` of BCF, for messages.
    numbers
        int64[n], the number of each record in its file, from 1.
    text
        uint8, the lines; also of records of other batches.
    columns
        int64[n, 10], offsets in the text: starts of the columns CHROM to INFO, start of FORMAT,
        and end of the last sample. Column k < 8 ends a byte before the start of the next. Without
        samples, the last two are equal.
    starts
        int64[n], 0-based position of the first base of REF; -1 for POS 0.
    alternatives
        int64[n], number of ALT alleles.
    """

    contig: str
    unit: str
    numbers: NDArray[np.int64]
    text: NDArray[np.uint8]
    columns: NDArray[np.int64]
    starts: NDArray[np.int64]
    alternatives: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size

    @overload
    def __getitem__(self, row: int) -> VcfRecord: ...

    @overload
    def __getitem__(self, row: slice) -> VcfBatch: ...

    def __getitem__(self, row: int | slice) -> VcfRecord | VcfBatch:
        if isinstance(row, slice):
            return VcfBatch(
                self.contig,
                self.unit,
                self.numbers[row],
                self.text,
                self.columns[row],
                self.starts[row],
                self.alternatives[row],
            )
        label = f"{self.unit} {self.numbers[row]}"
        start, genotypes, end = self.columns[row, [0, GENOTYPES, END]].tolist()
        line = self.text[start : max(end, genotypes - 1)].tobytes()
        samples = line.count(b"\t") - FIXED_COLUMNS if end > genotypes else 0
        return record_of(label, line.decode("utf-8", "surrogateescape"), samples)

    @classmethod
    def empty(cls, contig: str) -> VcfBatch:
        """Return no records."""
        numbers = np.empty(0, dtype=np.int64)
        columns = np.empty((0, END + 1), dtype=np.int64)
        return cls(contig, "line", numbers, np.empty(0, dtype=np.uint8), columns, numbers, numbers)

    @property
    def reference_lengths(self) -> NDArray[np.int64]:
        """int64[n]: number of bases of REF."""
        lengths: NDArray[np.int64] = self.columns[:, 4] - self.columns[:, 3] - 1
        return lengths

    def take(self, kept: NDArray[np.bool_]) -> VcfBatch:
        """Return the records of a mask, `kept`, bool[n], with no more text than theirs."""
        if kept.all():
            return self
        first = self.columns[kept, 0]
        lines = Ragged.gather(self.text, first, self._ends[kept] - first)
        return VcfBatch(
            self.contig,
            self.unit,
            self.numbers[kept],
            lines.data,
            self.columns[kept] + (lines.offsets[:-1] - first)[:, np.newaxis],
            self.starts[kept],
            self.alternatives[kept],
        )

    @property
    def _ends(self) -> NDArray[np.int64]:
        """int64[n]: the end of the part of each line that is used."""
        return np.maximum(self.columns[:, END], self.columns[:, GENOTYPES] - 1)

    @classmethod
    def concatenate(cls, batches: Sequence[VcfBatch]) -> VcfBatch:
        """Concatenate batches of one contig, at least one, in their order; copy their lines."""
        parts = [batch for batch in batches if len(batch)] or batches[:1]
        if len(parts) == 1:
            return parts[0]
        texts, columns, size = [], [], 0
        for part in parts:
            start, end = int(part.columns[0, 0]), int(part._ends[-1])  # noqa: SLF001  (own class)
            texts.append(part.text[start:end])
            columns.append(part.columns + (size - start))
            size += end - start
        return cls(
            parts[0].contig,
            parts[0].unit,
            np.concatenate([part.numbers for part in parts]),
            np.concatenate(texts),
            np.concatenate(columns),
            np.concatenate([part.starts for part in parts]),
            np.concatenate([part.alternatives for part in parts]),
        )
