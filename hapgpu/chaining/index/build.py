"""A minimizer index made of a FASTA file, and from how many hits on a minimizer is repetitive."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.index.hash_table import Part, group_by_hash, table_of
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import SeedOptions, SketchOptions
from hapgpu.chaining.sketch.cpu import sketch
from hapgpu.errors import InputError
from hapgpu.io.files.reread import rereadable
from hapgpu.io.genome.fasta import FastaRecords, read_fasta
from hapgpu.io.genome.fasta_digest import digest_fasta
from hapgpu.runtime.pool import Pool

MAX_BASES: Final = 2**31 - 1
"""Of one sequence."""
MAX_HITS: Final = 2**32 - 1
UNLIMITED: Final = 2**31 - 1
"""The cut-off where no minimizer is repetitive."""

_MIN_PART: Final = 1 << 20
_MAX_PART: Final = 1 << 28
_PARTS_PER_THREAD: Final = 4


def build_index(path: str | Path, options: SketchOptions, threads: int) -> MinimizerIndex:
    """Make the minimizer index of a reference.

    Parameters
    ----------
    path
        FASTA, plain, gzip- or BGZF-compressed, a file or a pipe.
    options
        The minimizers to find.
    threads
        At least 1; the index does not depend on it.

    Raises
    ------
    InputError
        The file cannot be read or is not FASTA, or a sequence is too long.
    """
    with rereadable(str(path)) as file, Pool(threads) as pool:
        records = read_fasta(file.path, name=file.name, allow_empty=True, max_bases=MAX_BASES)
        digest = pool.submit(digest_fasta, file.path)
        parts = _sketch_records(records, options, pool)
        _check_hits(file.name, parts)
        mixed, hits = group_by_hash(parts, pool)
        del parts
        entries, directory, bits = table_of(mixed)
        fasta_bytes, fasta_sha256 = digest.result()
    return MinimizerIndex(
        names=records.names,
        lengths=read_only(records.sequences.lengths),
        sketch=options,
        directory=read_only(directory),
        directory_bits=bits,
        entries=read_only(entries),
        hits=read_only(hits),
        fasta_bytes=fasta_bytes,
        fasta_sha256=fasta_sha256,
    )


def _check_hits(name: str, parts: Sequence[Part]) -> None:
    hits = sum(part.minimizers.keys.size for part in parts)
    if hits > MAX_HITS:
        limit = f"a minimizer index holds at most {MAX_HITS:,}"
        raise InputError(f"{name}: {hits:,} minimizers, but {limit}: choose a larger -w")


def _sketch_records(records: FastaRecords, options: SketchOptions, pool: Pool) -> list[Part]:
    """Find the minimizers of all sequences, in parts that keep every thread busy."""

    def sketch_rows(first: int, last: int) -> Part:
        rows = records.sequences.slice(first, last)
        starts, lengths = rows.offsets[:-1].astype(np.int32), rows.lengths.astype(np.int32)
        return Part(first, sketch(rows.data, starts, lengths, options))

    cuts = _cuts(records.sequences.offsets, pool.threads)
    return pool.results([pool.submit(sketch_rows, *rows) for rows in pairwise(cuts)])


def _cuts(offsets: NDArray[np.int64], threads: int) -> list[int]:
    """Cut sequences into parts of similar size, in which all begin below 2**31."""
    wanted = int(offsets[-1]) // (_PARTS_PER_THREAD * threads)
    size = min(max(wanted, _MIN_PART), _MAX_PART)
    cuts = [0]
    while cuts[-1] < offsets.size - 1:
        cuts.append(int(np.searchsorted(offsets[:-1], offsets[cuts[-1]] + size)))
    return cuts


def repeat_cutoff(index: MinimizerIndex, options: SeedOptions) -> int:
    """Return the number of hits above which a minimizer is repetitive, as minimap2 finds it."""
    if options.repetitive >= 1:
        return int(options.repetitive + 0.499)
    cutoff = max(_cutoff_of_fraction(index, options.repetitive), options.min_cutoff)
    if options.max_cutoff > options.min_cutoff:
        cutoff = min(cutoff, options.max_cutoff)
    return cutoff


def _cutoff_of_fraction(index: MinimizerIndex, fraction: float) -> int:
    counts = np.diff(index.entries[1::2])
    rounded = float(np.float32(fraction))  # minimap2 keeps it so
    if rounded <= 0 or not counts.size:
        return UNLIMITED
    rank = min(int((1.0 - rounded) * counts.size), counts.size - 1)
    return int(np.partition(counts, rank)[rank]) + 1
