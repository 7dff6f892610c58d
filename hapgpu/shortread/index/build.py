"""Construction of an FM index from a FASTA file, on the CPU or a GPU, with the same result."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import DeviceError, InputError
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.files.index_file import digest_fasta
from hapgpu.io.files.reread import RereadableInput, rereadable
from hapgpu.io.genome.fasta import FastaRecords, read_fasta
from hapgpu.io.text.values import LAST_POSITION
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device
from hapgpu.runtime.pool import Pool
from hapgpu.runtime.progress import NoProgress, Progress
from hapgpu.shortread.index import bwt, encoding, suffix_array
from hapgpu.shortread.index.encoding import XpArray
from hapgpu.shortread.index.fm_index import MAX_BASES, Contigs, FMIndexArrays

_NO_PROGRESS: Final = NoProgress()
_READ, _ENCODED, _SORTED, _TRANSFORMED, _JUMPS, _POSITIONS = 0.03, 0.045, 0.6, 0.7, 0.83, 0.95
"""Fraction of the time, writing included, at the end of each phase: 8 and 64 Mb on four cores."""

_LETTERS_PER_CHECK: Final = 1 << 26
_NUCLEOTIDES: Final = b"ACGTUNRYSWKMBDHVX"
_IS_NOT_NUCLEOTIDE: Final = ~np.isin(
    np.arange(256, dtype=np.uint8), np.frombuffer(_NUCLEOTIDES + _NUCLEOTIDES.lower(), np.uint8)
)


def build_index(
    path: str | Path,
    device: Device,
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
        The device that builds the index; the index does not depend on it.
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
    with rereadable(str(path)) as file:
        progress.phase("reading", _READ)
        reference = _read(file, device.threads if isinstance(device, CpuDevice) else 1)
    if isinstance(device, CudaDevice):
        return _build_on_gpu(reference, device, progress, low_memory=low_memory)
    index = _assemble(reference, np, suffix_array.sort_suffixes, progress, low_memory=low_memory)
    return index.changed(read_only)


@dataclass(frozen=True, slots=True)
class _FastaReference:
    """A checked FASTA file; `letters` is its text, uint8[p], contigs end to end."""

    name: str
    contigs: Contigs
    letters: NDArray[np.uint8]
    fasta_bytes: int
    fasta_sha256: bytes


def _read(file: RereadableInput, threads: int) -> _FastaReference:
    name = file.name
    with Pool(threads) as pool:
        records = read_fasta(file.path, name=name, max_bases=LAST_POSITION, pool=pool)
    letters, offsets = records.sequences.data, records.sequences.offsets
    if letters.size > MAX_BASES:
        limit = f"more than the {MAX_BASES:,} that an index holds"
        raise InputError(f"{name}: {letters.size:,} bases, {limit}; split the reference")
    _check_contigs(name, records)
    _check_letters(name, records)
    return _FastaReference(name, Contigs(records.names, offsets), letters, *digest_fasta(file.path))


def _check_contigs(name: str, records: FastaRecords) -> None:
    """Refuse contigs that the SAM header of the mapped reads could not hold."""
    try:
        SamHeader.from_references(records.names, records.sequences.lengths.tolist())
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _check_letters(name: str, records: FastaRecords) -> None:
    """Refuse proteins: letters other than IUPAC nucleotides, U and X (masked bases)."""
    letters, offsets = records.sequences.data, records.sequences.offsets
    for start in range(0, letters.size, _LETTERS_PER_CHECK):
        is_wrong = _IS_NOT_NUCLEOTIDE[letters[start : start + _LETTERS_PER_CHECK]]
        if is_wrong.any():
            offset = start + int(is_wrong.argmax())
            contig = int(np.searchsorted(offsets, offset, side="right")) - 1
            raise InputError(
                f"{name}: contig '{records.names[contig]}', base "
                f"{offset - int(offsets[contig]) + 1:,}: '{chr(letters[offset])}' is not a "
                "nucleotide; give a DNA reference"
            )


def _assemble(
    reference: _FastaReference,
    xp: ModuleType,
    sort_suffixes: Callable[[XpArray], XpArray],
    progress: Progress,
    *,
    low_memory: bool,
) -> FMIndexArrays:
    """Build the index in arrays of `xp`."""
    progress.phase("encoding", _ENCODED, reference.letters.size)
    letters = xp.asarray(reference.letters)
    padded = encoding.encode(letters, xp)
    bases = encoding.pack_bases(letters, padded, xp)
    codes = encoding.unpadded(padded, letters.size)
    text, runs = encoding.text_of(codes), bwt.find_runs(codes, xp)
    del letters, padded, codes
    if not text.size:
        raise InputError(f"{reference.name}: contains no A, C, G or T; give a DNA reference")
    progress.phase("sorting suffixes", _SORTED)
    suffixes = sort_suffixes(text)
    progress.phase("Burrows-Wheeler transform", _TRANSFORMED)
    symbols, primary = bwt.transform(text, suffixes, xp)
    occurrences = bwt.occurrence_blocks(symbols, text.size, xp)
    progress.phase("jump table", _JUMPS)
    jump_length = bwt.jump_length_for(text.size)
    jump = bwt.jump_table(text, jump_length, xp)
    progress.phase("suffix positions", _POSITIONS)
    total = reference.letters.size
    return FMIndexArrays(
        contigs=reference.contigs,
        bases=bases,
        occurrences=occurrences,
        primary=primary,
        jump=jump,
        jump_length=jump_length,
        suffixes=bwt.sample(suffixes, runs, total, xp)
        if low_memory
        else bwt.to_positions(suffixes, runs, total, xp),
        fasta_bytes=reference.fasta_bytes,
        fasta_sha256=reference.fasta_sha256,
    )


def _build_on_gpu(
    reference: _FastaReference, device: CudaDevice, progress: Progress, *, low_memory: bool
) -> FMIndexArrays:
    import cupy  # noqa: PLC0415  (only where a GPU is used: slow, and not installed everywhere)

    from hapgpu.runtime.gpu.context import (  # noqa: PLC0415  (imports CuPy)
        OUT_OF_MEMORY,
        device_errors,
    )

    _check_memory(reference.letters.size, device)

    def sort_suffixes(text: XpArray) -> XpArray:
        return suffix_array.double_prefixes(text, cupy)

    with device_errors(device), cupy.cuda.Device(device.index):
        try:
            index = _assemble(reference, cupy, sort_suffixes, progress, low_memory=low_memory)
            return index.changed(lambda array: read_only(cupy.asnumpy(array)))
        except OUT_OF_MEMORY as error:
            raise DeviceError(_lack_of_memory(reference.letters.size, device)) from error
        finally:
            with suppress(cupy.cuda.runtime.CUDARuntimeError):  # raised again by a lost GPU
                cupy.get_default_memory_pool().free_all_blocks()


def _check_memory(bases: int, device: CudaDevice) -> None:
    needed = bases * suffix_array.BYTES_PER_SYMBOL
    if bases > suffix_array.MAX_SYMBOLS or needed > device.memory_budget():
        raise DeviceError(_lack_of_memory(bases, device))


def _lack_of_memory(bases: int, device: CudaDevice) -> str:
    needed = bases * suffix_array.BYTES_PER_SYMBOL / 1e9
    return (
        f"{device.name}: too little free memory to index {bases:,} bases (about {needed:.1f} GB);"
        " use --device cpu"
    )
