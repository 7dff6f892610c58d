"""Python API of short-read mapping."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.sequences import Sequences, sequence_rows
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.errors import InputError, UsageError
from hapgpu.io.fastx.limits import SHORT_READS
from hapgpu.runtime.devices import CudaDevice, Device, resolve_devices, usable_cpus
from hapgpu.runtime.pool import Pool
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.files import FM_INDEX_FILE
from hapgpu.shortread.index.fm_index import Contigs, FMIndexArrays
from hapgpu.shortread.search import cpu
from hapgpu.shortread.search.hits import INSERTION, UNGAPPED, HitBatch, SearchOptions
from hapgpu.shortread.search.packed_reads import PackedReads, pack_reads

_BASES_ON_CPU: Final = 1 << 20
_BASES_ON_GPU: Final = 1 << 28
_BASES_PER_READ: Final = 64  # counted on top of its bases: each read takes memory too
_MAX_ERRORS: Final = 1
_MATCH, _INSERT, _DELETE = range(3)  # operations of BAM


@dataclass(frozen=True, slots=True)
class Hits:
    """The h hits of some reads, sorted by read, distance, position and strand.

    Attributes
    ----------
    read
        int64[h], the number of the read, from 0.
    contig
        int32[h], into `contig_names`.
    strand
        uint8[h]: 0 forward, 1 reverse.
    start, end
        int64[h]: the interval on the contig, 0-based, half-open.
    distance
        uint8[h]: the number of errors.
    cigar
        Ragged uint32, h rows, in BAM encoding (length << 4 | operation), of the read as aligned
        to the forward strand.
    contig_names
        As in the FASTA file.
    """

    read: NDArray[np.int64]
    contig: NDArray[np.int32]
    strand: NDArray[np.uint8]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    distance: NDArray[np.uint8]
    cigar: Ragged
    contig_names: tuple[str, ...]

    def __len__(self) -> int:
        return self.read.size

    def cigar_strings(self) -> list[str]:
        """Return the CIGARs as text."""
        return cigar_strings(self.cigar)


@dataclass(frozen=True, slots=True)
class FMIndex:
    """An FM index of a reference, made by `build` or `load`.

    Attributes
    ----------
    data
        The arrays of the index.
    """

    data: FMIndexArrays

    @classmethod
    def build(cls, path: str | Path, *, device: str = "auto", low_memory: bool = False) -> Self:
        """Index a FASTA file, plain or gzip-compressed.

        Parameters
        ----------
        path
            The file.
        device
            `auto`, `cpu`, `cuda` or `cuda:N`; the index does not depend on it.
        low_memory
            Sample the suffix array: the index is less than half as large, and slower.

        Raises
        ------
        InputError
            The file cannot be read or is not FASTA.
        DeviceError
            A named device cannot be used.
        """
        devices, _ = resolve_devices(device)
        return cls(build_index(path, devices[0], usable_cpus(), low_memory=low_memory))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load an index from the file that `save`, or `hapgpu index`, wrote.

        Raises
        ------
        InputError
            The file cannot be read, is not an index of this version, or is damaged (a wrong
            checksum, or values with which a search would leave the arrays).
        """
        return cls(FM_INDEX_FILE.load(path))

    def save(self, path: str | Path) -> None:
        """Write the index to a file, which appears once it is complete.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        FM_INDEX_FILE.save(self.data, path)

    def map(
        self,
        reads: Sequences,
        *,
        errors: int = 1,
        indels: bool = True,
        forward_only: bool = False,
        device: str = "auto",
    ) -> Hits:
        """Find every hit of the reads with at most `errors` errors.

        Parameters
        ----------
        reads
            Sequences as text, or a Ragged of uint8 text, in either case. A letter other than A,
            C, G and T matches nothing. Reads of fewer than 10 bases have no hits.
        errors
            0 or 1.
        indels
            Whether the error may be an inserted or deleted base.
        forward_only
            Whether to search the forward strand only.
        device
            `auto`, `cpu`, `cuda` or `cuda:N`; the hits do not depend on it. Of several devices,
            the first is used.

        Raises
        ------
        InputError
            A read is not ASCII or longer than a million bases.
        UsageError
            An argument has the wrong type or value.
        DeviceError
            A named device cannot be used, has too little memory for one read, or fails.
        """
        if errors not in range(_MAX_ERRORS + 1):
            message = f"errors={errors}: not 0 or 1; give 0 or 1"
            raise UsageError(message)
        rows = _read_rows(reads)
        devices, _ = resolve_devices(device)
        options = SearchOptions(errors=errors, indels=indels, forward_only=forward_only)
        batch = _search(self.data, rows, options, devices[0])
        return _hits(batch, rows.lengths, self.data.contigs)


def _read_rows(reads: Sequences) -> Ragged:
    """Return the reads as a Ragged of uint8 text, after checking their lengths."""
    rows = sequence_rows(reads, "read")
    if len(rows) and rows.lengths.max() > SHORT_READS.max_bases:
        row, most = int(rows.lengths.argmax()), SHORT_READS.max_bases
        raise InputError(f"read {row}: more than {most:,} bases; give shorter reads")
    return rows


def _search(
    index: FMIndexArrays, reads: Ragged, options: SearchOptions, device: Device
) -> HitBatch:
    if isinstance(device, CudaDevice):
        from hapgpu.shortread.search import cuda  # noqa: PLC0415  (imports CuPy)

        parts = [
            cuda.search(index, _packed(rows), options, device)
            for rows in _pieces(reads, _BASES_ON_GPU)
        ]
        return HitBatch.concatenate(parts)
    with Pool(device.threads) as pool:
        tasks = [
            pool.submit(lambda rows: cpu.search(index, _packed(rows), options), rows)
            for rows in _pieces(reads, _BASES_ON_CPU)
        ]
        return HitBatch.concatenate(pool.results(tasks))


def _packed(reads: Ragged) -> PackedReads:
    return pack_reads(
        reads.data, reads.offsets[:-1].astype(np.int32), reads.lengths.astype(np.int32)
    )


def _pieces(reads: Ragged, bases: int) -> Iterator[Ragged]:
    """Split reads into pieces of about `bases` bases; each read counts `_BASES_PER_READ` more.

    Without reads there are no pieces.
    """
    ends = reads.offsets + _BASES_PER_READ * np.arange(len(reads) + 1)
    cuts = np.unique(np.searchsorted(ends, np.arange(bases, ends[-1], bases))).tolist()
    for start, end in pairwise([0, *cuts, len(reads)]):
        if start < end:
            yield reads[start:end]


def _hits(batch: HitBatch, lengths: NDArray[np.int64], contigs: Contigs) -> Hits:
    """Unpack the hits of reads of these lengths."""
    reads = np.repeat(np.arange(lengths.size), np.diff(batch.offsets))
    starts = batch.starts
    contig = np.searchsorted(contigs.offsets, starts, side="right") - 1
    start = starts - contigs.offsets[contig]
    return Hits(
        read=reads,
        contig=contig.astype(np.int32),
        strand=batch.strands,
        start=start,
        end=start + lengths[reads] + batch.kinds.astype(np.int64) - UNGAPPED,
        distance=batch.distances,
        cigar=_cigars(batch, lengths[reads]),
        contig_names=contigs.names,
    )


def _cigars(batch: HitBatch, lengths: NDArray[np.int64]) -> Ragged:
    """Return the CIGAR of each hit, whose read has the given length: matches, a gap, matches."""
    kinds = batch.kinds
    gap = np.array([_INSERT, _MATCH, _DELETE])[kinds]
    gap_length = (kinds != UNGAPPED).astype(np.int64)
    before = np.where(kinds == UNGAPPED, 0, batch.errors)
    after = lengths - before - (kinds == INSERTION)
    operations = np.stack([before << 4, gap_length << 4 | gap, after << 4 | _MATCH], axis=1)
    present = np.stack([before, gap_length, after], axis=1) > 0
    return Ragged(operations[present].astype(np.uint32), offsets_of(present.sum(axis=1)))
