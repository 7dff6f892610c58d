"""Construction of a minimizer index and its repeat cutoff."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.large_arrays import give_back
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.files.index_file import digest_fasta
from hapgpu.io.files.reread import rereadable
from hapgpu.io.genome.fasta import FastaRecords, read_fasta
from hapgpu.longread.index.hash_table import MinimizerBatch, group_by_hash, table_of
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.index.sketch import sketch
from hapgpu.longread.options import SeedOptions, SketchOptions
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool
from hapgpu.runtime.progress import NoProgress, Progress

MAX_BASES: Final = 2**31 - 1
"""Largest length of a sequence."""
MAX_MINIMIZERS: Final = 2**32 - 1
UNLIMITED: Final = 2**31 - 1
"""The cutoff if no minimizer is repetitive."""

_NO_PROGRESS: Final = NoProgress()
_READ, _SKETCHED, _SORTED, _TABLE = 0.18, 0.42, 0.58, 0.76
"""Fraction of the time, writing included, at the end of each phase: 8 and 64 Mb on four cores."""

_FREQUENT: Final = 1 << 16
"""Occurrences of minimizers that are counted alike; cutoffs are smaller, except by request."""
_MIN_BATCH: Final = 1 << 20
_MAX_BATCH: Final = 1 << 28
_BATCHES_PER_THREAD: Final = 4


def build_index(
    path: str | Path, options: SketchOptions, threads: int, progress: Progress = _NO_PROGRESS
) -> MinimizerIndex:
    """Build the minimizer index of a reference.

    Parameters
    ----------
    path
        FASTA, plain, gzip- or BGZF-compressed, a file or a pipe.
    options
        Options for minimizers.
    threads
        Number of threads, at least 1; the index does not depend on it.
    progress
        Receives phases; started and finished by the caller.

    Raises
    ------
    InputError
        The file cannot be read or is not FASTA, or a sequence is too long.
    """
    index, _ = _build(path, options, threads, progress, keeps_bases=False)
    return index


def build_index_of_records(
    path: str | Path, options: SketchOptions, threads: int, progress: Progress = _NO_PROGRESS
) -> tuple[MinimizerIndex, FastaRecords]:
    """Build the minimizer index of a reference as `build_index` does; return the records, too."""
    return _build(path, options, threads, progress, keeps_bases=True)


def _build(
    path: str | Path, options: SketchOptions, threads: int, progress: Progress, *, keeps_bases: bool
) -> tuple[MinimizerIndex, FastaRecords]:
    """Build the minimizer index of a reference; return the records, too.

    Their bases are lost unless `keeps_bases`: the memory of a batch is given back after its sketch.
    """
    with rereadable(str(path)) as file, Pool(threads) as pool:
        progress.phase("reading", _READ)
        records = read_reference(file.path, pool, file.name)
        digest = digest_fasta(file.path, pool)
        progress.phase("minimizers", _SKETCHED, records.sequences.data.size)
        batches = _sketch_records(records, options, pool, keeps_bases=keeps_bases)
        _check_count(file.name, batches)
        return _index_of(records, batches, options, digest, pool, progress), records


def index_of_records(records: FastaRecords, options: SketchOptions, pool: Pool) -> MinimizerIndex:
    """Build the minimizer index of records in memory, too few to exceed a limit; it has no file."""
    batches = _sketch_records(records, options, pool, keeps_bases=True)
    return _index_of(records, batches, options, (0, b""), pool, _NO_PROGRESS)


def _index_of(
    records: FastaRecords,
    batches: list[MinimizerBatch],
    options: SketchOptions,
    digest: tuple[int, bytes],
    pool: Pool,
    progress: Progress,
) -> MinimizerIndex:
    """Build the index of all minimizers; `digest` is that of the FASTA file."""
    progress.phase("sorting minimizers", _SORTED)
    grouped = group_by_hash(batches, pool)
    progress.phase("hash table", _TABLE)
    entries, directory, bits = table_of(grouped, pool)
    return MinimizerIndex(
        names=records.names,
        lengths=read_only(records.sequences.lengths),
        sketch=options,
        directory=read_only(directory),
        directory_bits=bits,
        entries=read_only(entries),
        occurrences=read_only(grouped.occurrences),
        fasta_bytes=digest[0],
        fasta_digest=digest[1],
    )


def read_reference(path: str | Path, pool: Pool, name: str | None = None) -> FastaRecords:
    """Read the sequences of a reference.

    Parameters
    ----------
    path
        FASTA, plain, gzip- or BGZF-compressed; readable twice.
    name
        Name for messages; by default the path.

    Raises
    ------
    InputError
        The file cannot be read or is not FASTA, or a sequence is too long.
    """
    return read_fasta(path, name=name, allow_empty=True, max_bases=MAX_BASES, pool=pool)


def _check_count(name: str, batches: Sequence[MinimizerBatch]) -> None:
    count = sum(batch.minimizers.keys.size for batch in batches)
    if count > MAX_MINIMIZERS:
        limit = f"{MAX_MINIMIZERS:,}, the limit of a minimizer index"
        raise InputError(f"{name}: {count:,} minimizers, more than {limit}; give a larger -w")


def _sketch_records(
    records: FastaRecords, options: SketchOptions, pool: Pool, *, keeps_bases: bool
) -> list[MinimizerBatch]:
    """Find the minimizers of all sequences, in enough batches for every thread."""

    def sketch_rows(first: int, last: int) -> MinimizerBatch:
        rows = records.sequences[first:last]
        starts, lengths = rows.offsets[:-1].astype(np.int32), rows.lengths.astype(np.int32)
        minimizers = sketch(rows.data, starts, lengths, options)
        if not keeps_bases:
            give_back(rows.data)
        return MinimizerBatch(first, minimizers)

    bounds = _batch_bounds(records.sequences.offsets, pool.threads)
    return pool.results([pool.submit(sketch_rows, *rows) for rows in pairwise(bounds)])


def _batch_bounds(offsets: NDArray[np.int64], threads: int) -> list[int]:
    """Split sequences into batches of similar size; return the bounds, b + 1 row numbers.

    All sequences of a batch start below offset 2**31.
    """
    even_size = int(offsets[-1]) // (_BATCHES_PER_THREAD * threads)
    size = min(max(even_size, _MIN_BATCH), _MAX_BATCH)
    bounds = [0]
    while bounds[-1] < offsets.size - 1:
        bounds.append(int(np.searchsorted(offsets[:-1], offsets[bounds[-1]] + size)))
    return bounds


def repeat_cutoff(index: MinimizerIndex, options: SeedOptions) -> int:
    """Return the cutoff, as in minimap2: minimizers with more occurrences are repetitive."""
    if options.repetitive >= 1:
        return int(options.repetitive + 0.499)
    cutoff = max(_cutoff_of_fraction(index, options.repetitive), options.min_cutoff)
    if options.max_cutoff > options.min_cutoff:
        cutoff = min(cutoff, options.max_cutoff)
    return cutoff


def _cutoff_of_fraction(index: MinimizerIndex, fraction: float) -> int:
    hashes = index.entries.size // 2 - 1
    rounded = float(np.float32(fraction))  # as in minimap2
    if rounded <= 0 or hashes < 1:
        return UNLIMITED
    rank = min(int((1.0 - rounded) * hashes), hashes - 1)
    histogram = np.zeros(_FREQUENT, dtype=np.int64)
    _count_occurrences(read_only(index.entries), histogram)
    cutoff = int(np.searchsorted(np.cumsum(histogram), rank, side="right"))
    if cutoff == _FREQUENT - 1:
        cutoff = int(np.partition(np.diff(index.entries[1::2]), rank)[rank])
    return cutoff + 1


@njit
def _count_occurrences(entries: NDArray[np.uint64], histogram: NDArray[np.int64]) -> None:
    """Count the minimizers by their occurrences; the last number counts those with more, too."""
    last = histogram.size - 1
    for row in range(1, entries.size - 2, 2):
        occurrences = np.int64(entries[row + 2]) - np.int64(entries[row])
        if occurrences < last:
            histogram[occurrences] += 1
        else:
            histogram[last] += 1
