"""Construction of an FM index from a FASTA file, on the CPU or a GPU, with the same result."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.files.index_file import digest_fasta
from hapgpu.io.files.reread import rereadable
from hapgpu.io.genome.fasta import FastaRecords, read_fasta
from hapgpu.io.text.values import LAST_POSITION
from hapgpu.runtime.devices import CudaDevice, Device
from hapgpu.runtime.pool import Pool
from hapgpu.runtime.progress import NoProgress, Progress
from hapgpu.shortread.index.bwt import jump_length_for, sample, to_positions, transform
from hapgpu.shortread.index.encoding import EncodedReference, NotANucleotideError, encode
from hapgpu.shortread.index.fm_index import MAX_BASES, Contigs, FMIndexArrays
from hapgpu.shortread.index.suffixes import cpu
from hapgpu.shortread.index.suffixes.text import PackedText

_NO_PROGRESS: Final = NoProgress()
_READ, _ENCODED, _SORTED, _TRANSFORMED, _POSITIONS = 0.04, 0.07, 0.74, 0.91, 0.93
"""Fraction of the time, writing included, at the end of each phase: 100 Mb on two cores."""


def build_index(
    path: str | Path,
    device: Device,
    threads: int = 1,
    *,
    low_memory: bool = False,
    progress: Progress = _NO_PROGRESS,
) -> FMIndexArrays:
    """Build the FM index of a reference.

    Parameters
    ----------
    path
        FASTA, plain, gzip- or BGZF-compressed, a file or a pipe. A, C, G and T of either case are
        bases; other letters match nothing.
    device
        The device that sorts the suffixes; the index does not depend on it.
    threads
        Number of CPU threads for the sort without a GPU, and for everything else; at least 1.
    low_memory
        Whether to keep only samples of the suffix array.
    progress
        Receives phases; started and finished by the caller.

    Returns
    -------
    The index, its arrays read-only and in host memory.

    Raises
    ------
    InputError
        The file cannot be read or is not FASTA, SAM does not allow the name of a contig, or
        there are too many bases or none.
    DeviceError
        The GPU has too little memory, or failed.
    """
    with rereadable(str(path)) as file, Pool(threads) as pool:
        progress.phase("reading", _READ)
        records = read_fasta(file.path, name=file.name, max_bases=LAST_POSITION, pool=pool)
        fasta_bytes, fasta_digest = digest_fasta(file.path, pool)
        contigs = _checked_contigs(file.name, records)
        bases = int(contigs.offsets[-1])
        progress.phase("encoding", _ENCODED, bases)
        reference = _encoded(file.name, records, pool)
        del records
        text, runs = reference.text, reference.runs
        progress.phase("sorting suffixes", _SORTED)
        suffixes = _sort_suffixes(text, device, pool, progress)
        progress.phase("Burrows-Wheeler transform", _TRANSFORMED)
        jump_length = jump_length_for(text.size)
        occurrences, jump, primary = transform(text, suffixes, jump_length, pool)
        progress.phase("suffix positions", _POSITIONS)
        located = (sample if low_memory else to_positions)(suffixes, runs, bases, pool)
    index = FMIndexArrays(
        contigs=contigs,
        bases=reference.bases,
        occurrences=occurrences,
        primary=primary,
        jump=jump,
        jump_length=jump_length,
        suffixes=located,
        fasta_bytes=fasta_bytes,
        fasta_digest=fasta_digest,
    )
    return index.changed(read_only)


def _checked_contigs(name: str, records: FastaRecords) -> Contigs:
    """Return the contigs; refuse those that the SAM header of the mapped reads could not hold."""
    offsets = records.sequences.offsets
    if offsets[-1] > MAX_BASES:
        limit = f"more than the {MAX_BASES:,} that an index holds"
        raise InputError(f"{name}: {offsets[-1]:,} bases, {limit}; split the reference")
    try:
        SamHeader.from_references(records.names, records.sequences.lengths.tolist())
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    return Contigs(records.names, offsets)


def _encoded(name: str, records: FastaRecords, pool: Pool) -> EncodedReference:
    """Encode the bases; refuse proteins, and references without a base."""
    letters, offsets = records.sequences.data, records.sequences.offsets
    try:
        reference = encode(letters, pool)
    except NotANucleotideError as error:
        contig = int(np.searchsorted(offsets, error.offset, side="right")) - 1
        raise InputError(
            f"{name}: contig '{records.names[contig]}', base "
            f"{error.offset - int(offsets[contig]) + 1:,}: '{chr(letters[error.offset])}' is not a "
            "nucleotide; give a DNA reference"
        ) from None
    if not reference.text.size:
        raise InputError(f"{name}: contains no A, C, G or T; give a DNA reference")
    return reference


def _sort_suffixes(
    text: PackedText, device: Device, pool: Pool, progress: Progress
) -> NDArray[np.uint32]:
    if isinstance(device, CudaDevice):
        from hapgpu.shortread.index.suffixes.cuda import (  # noqa: PLC0415  (imports CuPy)
            sort_suffixes,
        )

        return sort_suffixes(text, device, pool, progress)
    return cpu.sort_suffixes(text, pool, progress)
