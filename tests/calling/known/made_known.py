"""Files of known variants, and records to name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pysam

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.calling.batches import VariantCalls

HEADER = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"


def known_file(
    path: Path, lines: Sequence[str], header: str = HEADER, *, is_csi: bool = False
) -> Path:
    """Write a VCF, compressed and indexed; the columns of `lines` are separated by blanks."""
    plain = path.with_suffix("")
    plain.write_text(header + "".join("\t".join(line.split(" ")) + "\n" for line in lines))
    compress(plain, path, is_csi=is_csi)
    return path


def compress(plain: Path, path: Path, *, is_csi: bool = False) -> None:
    """Compress a VCF by bgzip, and index it."""
    pysam.tabix_compress(str(plain), str(path), force=True)
    pysam.tabix_index(str(path), preset="vcf", force=True, csi=is_csi)


def calls_at(records: Sequence[tuple[int, Sequence[str]]]) -> VariantCalls:
    """Return records with these positions, from 1, and alleles."""
    count = len(records)
    alleles = [allele for _, row in records for allele in row]
    none = np.zeros(count, dtype=np.int64)
    return VariantCalls(
        np.arange(count),
        np.array([position - 1 for position, _ in records], dtype=np.int64),
        offsets_of([len(row) for _, row in records]),
        Ragged.from_sequences(alleles),
        np.zeros(len(alleles), dtype=np.int16),
        none.astype(np.float64),
        np.zeros((count, 1, 2), dtype=np.int16),
        np.zeros((count, 1), dtype=np.int16),
        Ragged.from_lengths(np.empty(0, dtype=np.int32), [0] * count),
        np.zeros(len(alleles), dtype=np.int32),
        none + 2,
    )
