"""Python API of short-read mapping."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.arguments import PathName, check_replaced, file_name, whole_number
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.sequences import Sequences, sequence_rows
from hapgpu.arrays.tables import Columns, data_frame, names_column
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.errors import InputError
from hapgpu.io.fastx.limits import SHORT_READS
from hapgpu.runtime.devices import CudaDevice, Device, first_device, given_threads
from hapgpu.runtime.pool import Pool
from hapgpu.runtime.progress import Progress, showing, showing_phases
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.files import FM_INDEX_FILE
from hapgpu.shortread.index.fm_index import Contigs, FMIndexArrays
from hapgpu.shortread.search import cpu
from hapgpu.shortread.search.hits import INSERTION, UNGAPPED, HitBatch, SearchOptions
from hapgpu.shortread.search.packed_reads import PackedReads, pack_reads

if TYPE_CHECKING:
    import pandas as pd

_BASES_ON_CPU: Final = 1 << 20
_BASES_ON_GPU: Final = 1 << 28
_BASES_PER_READ: Final = 64  # counted on top of its bases: each read takes memory too
_MAX_ERRORS: Final = 1
_MATCH, _INSERT, _DELETE = range(3)  # operations of BAM


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Hits(Columns):
    """The h hits of some reads, sorted by read, distance, position and strand.

    Attributes
    ----------
    reads
        int64[h], the number of the read, from 0.
    contigs
        int32[h], numbers in `contig_names`.
    strands
        uint8[h]: 0 forward, 1 reverse.
    starts, ends
        int64[h]: the interval on the contig in bases, 0-based, half-open.
    distances
        uint8[h]: the number of errors.
    cigars
        Ragged uint32, h rows, in BAM encoding (length << 4 | operation), of the read as aligned
        to the forward strand.
    contig_names
        As in the FASTA file.
    """

    reads: NDArray[np.int64]
    contigs: NDArray[np.int32]
    strands: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    distances: NDArray[np.uint8]
    cigars: Ragged
    contig_names: tuple[str, ...]

    def __len__(self) -> int:
        return self.reads.size

    def cigar_strings(self) -> list[str]:
        """Return the CIGARs as text."""
        return cigar_strings(self.cigars)

    def to_dataframe(self) -> pd.DataFrame:
        """Return a table of pandas with a row per hit.

        Its columns are `read` (number), `contig` (name), `strand` (`+` or `-`), `start`, `end`,
        `distance` and `cigar` (text), else as the attributes.

        Raises
        ------
        UsageError
            pandas is not installed.
        """
        return data_frame(
            {
                "read": self.reads,
                "contig": names_column(self.contigs, self.contig_names),
                "strand": names_column(self.strands, "+-"),
                "start": self.starts,
                "end": self.ends,
                "distance": self.distances,
                "cigar": self.cigar_strings(),
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
class FMIndex:
    """An FM index of a reference, made by `build` or `load`.

    Attributes
    ----------
    data
        The arrays of the index.
    """

    data: FMIndexArrays

    @classmethod
    def build(
        cls,
        path: PathName,
        *,
        low_memory: bool = False,
        device: str = "auto",
        threads: int | None = None,
        progress: bool = False,
    ) -> Self:
        """Index a FASTA file, plain or gzip-compressed.

        Parameters
        ----------
        path
            The file.
        low_memory
            Whether to sample the suffix array: the index is less than half as large, and slower.
        device
            `auto`, `cpu`, `cuda` or `cuda:N`; the index does not depend on it.
        threads
            CPU threads, from 1; None: one per usable CPU.
        progress
            Whether to show a bar, in bases.

        Raises
        ------
        InputError
            The file cannot be read or is not FASTA.
        UsageError
            `device` or `threads` has another value.
        DeviceError
            A named device cannot be used.
        """
        sorting, count = first_device(device, threads), given_threads(threads)
        fasta = file_name(path, "path")
        with showing_phases("indexing", "bases", is_shown=progress) as shown:
            index = build_index(fasta, sorting, count, low_memory=low_memory, progress=shown)
        return cls(index)

    @classmethod
    def load(cls, path: PathName) -> Self:
        """Load an index from the file that `save`, or `hapgpu index`, wrote.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        InputError
            The file cannot be read, is not an index of this version, or is damaged (a wrong
            checksum, or values with which a search would leave the arrays).
        UsageError
            `path` is neither text nor a path.
        """
        return cls(FM_INDEX_FILE.load(file_name(path, "path")))

    def save(self, path: PathName) -> None:
        """Write the index to a file, which appears once it is complete.

        Parameters
        ----------
        path
            The file; an existing index is replaced.

        Raises
        ------
        OutputError
            The file cannot be written.
        UsageError
            There is a file that is no such index, for example the reference.
        """
        name = file_name(path, "path")
        check_replaced(name, FM_INDEX_FILE.is_index)
        FM_INDEX_FILE.save(self.data, name)

    def map(
        self,
        reads: Sequences,
        *,
        errors: int = 1,
        indels: bool = True,
        forward_only: bool = False,
        device: str = "auto",
        threads: int | None = None,
        progress: bool = False,
    ) -> Hits:
        """Find every hit of the reads with at most `errors` errors.

        Parameters
        ----------
        reads
            n sequences: a list of str, bytes or pysam.AlignedSegment, or a Ragged of uint8 text,
            in either case. A record gives its bases as the machine read them. A letter other than
            A, C, G and T matches nothing. Reads of fewer than 10 bases have no hits.
        errors
            0 or 1.
        indels
            Whether the error may be an inserted or deleted base.
        forward_only
            Whether to search the forward strand only.
        device
            `auto`, `cpu`, `cuda` or `cuda:N`; the hits do not depend on it. Of several devices,
            the first is used.
        threads
            CPU threads, from 1, if a CPU computes; None: one per usable CPU.
        progress
            Whether to show a bar, in reads.

        Raises
        ------
        InputError
            A read is missing, not ASCII, or longer than a million bases; the message has its
            number, from 0.
        UsageError
            An argument has the wrong type or value.
        DeviceError
            A named device cannot be used, has too little memory for one read, or fails.
        """
        most = whole_number("errors", errors, 0, _MAX_ERRORS)
        rows = _read_rows(reads)
        searching = first_device(device, threads)
        options = SearchOptions(errors=most, indels=indels, forward_only=forward_only)
        with showing("mapping", "reads", len(rows), is_shown=progress) as shown:
            batch = _search(self.data, rows, options, searching, shown)
        return _hits(batch, rows.lengths, self.data.contigs)


def _read_rows(reads: Sequences) -> Ragged:
    """Return the reads as a Ragged of uint8 text, after checking their lengths."""
    rows = sequence_rows(reads, "read", as_sequenced=True)
    if len(rows) and rows.lengths.max() > SHORT_READS.max_bases:
        row, most = int(rows.lengths.argmax()), SHORT_READS.max_bases
        raise InputError(f"read {row}: more than {most:,} bases; give shorter reads")
    return rows


def _search(
    index: FMIndexArrays,
    reads: Ragged,
    options: SearchOptions,
    device: Device,
    progress: Progress,
) -> HitBatch:
    if isinstance(device, CudaDevice):
        from hapgpu.shortread.search.cuda import search as cuda  # noqa: PLC0415  (imports CuPy)

        parts = []
        for rows in _pieces(reads, _BASES_ON_GPU):
            parts.append(cuda.search(index, _packed(rows), options, device))
            progress.advance(len(rows))
        return HitBatch.concatenate(parts)

    def searched(rows: Ragged) -> HitBatch:
        found = cpu.search(index, _packed(rows), options)
        progress.advance(len(rows))
        return found

    with Pool(device.threads) as pool:
        tasks = [pool.submit(searched, rows) for rows in _pieces(reads, _BASES_ON_CPU)]
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
    numbers = np.searchsorted(contigs.offsets, batch.starts, side="right") - 1
    starts = batch.starts - contigs.offsets[numbers]
    return Hits(
        reads=reads,
        contigs=numbers.astype(np.int32),
        strands=batch.strands,
        starts=starts,
        ends=starts + lengths[reads] + batch.kinds.astype(np.int64) - UNGAPPED,
        distances=batch.distances,
        cigars=_cigars(batch, lengths[reads]),
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
