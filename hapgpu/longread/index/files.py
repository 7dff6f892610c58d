"""Files of minimizer indexes: written, and loaded or built; checks of their arrays.

Checks ensure that a look-up stays within the arrays and short, and that every occurrence is a
position of a k-mer in a sequence. They do not check that it is the right k-mer.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.files.array_file import (
    ArrayFormat,
    Arrays,
    Header,
    bytes_of,
    flag_of,
    holds_everywhere,
    names_of,
    never_decreases,
    whole_of,
)
from hapgpu.io.files.index_file import IndexFile, rebuild_command
from hapgpu.io.genome.fasta import FastaRecords
from hapgpu.longread.index.build import (
    MAX_BASES,
    build_index,
    build_index_of_records,
    read_reference,
)
from hapgpu.longread.index.hash_table import LAST_KEY
from hapgpu.longread.index.lookup import CompiledTable, compiled_table
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.index.names import SUFFIX, default_index_path, index_command
from hapgpu.longread.options import LONGEST_KMER, WIDEST_WINDOW, SketchOptions
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool
from hapgpu.runtime.progress import NoProgress, Progress
from hapgpu.runtime.run_context import RunContext

_1, _2, _3, _32 = map(np.uint64, (1, 2, 3, 32))
_LOW_HALF = np.uint64(2**32 - 1)


def is_sound(index: MinimizerIndex) -> bool:
    """Return True if look-ups stay within the arrays, are short and find positions of k-mers."""
    return _are_sequences(index) and _is_table(index) and _are_occurrences(index)


def _are_sequences(index: MinimizerIndex) -> bool:
    lengths, sketch = index.lengths, index.sketch
    return (
        1 <= sketch.k <= LONGEST_KMER
        and 1 <= sketch.w <= WIDEST_WINDOW
        and lengths.size == len(index.names)
        and bool(((lengths >= 0) & (lengths <= MAX_BASES)).all())
        and all(name.split() == [name] for name in index.names)
    )


def _is_table(index: MinimizerIndex) -> bool:
    """Return True if the entries ascend and the directory matches them."""
    directory, entries = index.directory, index.entries
    distinct = entries.size // 2 - 1
    return (
        entries.size >= 2
        and entries.size % 2 == 0
        and index.directory_bits == max(distinct.bit_length(), 1)
        and directory.size == 2**index.directory_bits + 1
        and int(entries[-2]) == LAST_KEY
        and (entries[1], entries[-1]) == (0, index.occurrences.size)
        and (directory[0], directory[-1]) == (0, distinct)
        and never_decreases(directory)
        and holds_everywhere(partial(_are_entries, compiled_table(index)), distinct)
    )


@njit
def _are_entries(table: CompiledTable, start: int, end: int) -> bool:
    """Return True if the entries from `start` to `end` ascend and match the directory."""
    directory, shift, entries = table.directory, table.shift, table.entries
    for entry in range(np.uint64(start), np.uint64(end)):
        at = _2 * entry
        bucket = entries[at] >> shift
        ascends = entries[at] < entries[at + _2] and entries[at + _1] < entries[at + _3]
        if not (ascends and directory[bucket] <= entry < directory[bucket + _1]):
            return False
    return True


def _are_occurrences(index: MinimizerIndex) -> bool:
    occurrences, min_position = read_only(index.occurrences), np.uint64(index.sketch.k - 1)
    position_counts = np.append(np.maximum(index.lengths - (index.sketch.k - 1), 0), 0).astype(
        np.uint64
    )
    return holds_everywhere(
        partial(_are_positions, occurrences, read_only(position_counts), min_position),
        occurrences.size,
    )


@njit
def _are_positions(
    occurrences: NDArray[np.uint64],
    position_counts: NDArray[np.uint64],
    min_position: np.uint64,
    start: int,
    end: int,
) -> bool:
    """Return True if the occurrences from `start` to `end` are positions of k-mers.

    Sequence i has `position_counts[i]` positions, from `min_position` on; the last row is 0.
    """
    last = np.uint64(position_counts.size - 1)
    for k in range(np.uint64(start), np.uint64(end)):
        position = (occurrences[k] & _LOW_HALF) >> _1
        if position - min_position >= position_counts[min(occurrences[k] >> _32, last)]:
            return False
    return True


MAGIC: Final = b"\x89HGM\r\n\x1a\n"  # as for PNG: not text, and damaged by converted line ends
VERSION: Final = 2

_DEFAULT_NAME = re.compile(
    r"(?P<fasta>.+)\.k(?P<k>\d{1,2})w(?P<w>\d{1,3})(?P<hpc>H?)\.hgm", re.DOTALL
)


def _arrays_of(index: MinimizerIndex) -> Arrays:
    return {
        "lengths": index.lengths,
        "directory": index.directory,
        "entries": index.entries,
        "hits": index.occurrences,
    }


def _header_of(index: MinimizerIndex) -> Header:
    """Return the header that `_index_of` reads."""
    return {
        "names": index.names,
        "k": index.sketch.k,
        "w": index.sketch.w,
        "hpc": index.sketch.is_hpc,
        "directory_bits": index.directory_bits,
        "fasta_bytes": index.fasta_bytes,
        "fasta_digest": index.fasta_digest.hex(),
    }


def _index_of(header: Header, arrays: Arrays) -> MinimizerIndex:
    return MinimizerIndex(
        names=names_of(header, "names"),
        lengths=arrays["lengths"],
        sketch=SketchOptions(
            k=whole_of(header, "k"), w=whole_of(header, "w"), is_hpc=flag_of(header, "hpc")
        ),
        directory=arrays["directory"],
        directory_bits=whole_of(header, "directory_bits"),
        entries=arrays["entries"],
        occurrences=arrays["hits"],
        fasta_bytes=whole_of(header, "fasta_bytes"),
        fasta_digest=bytes_of(header, "fasta_digest"),
    )


def _remedy(path: Path) -> str:
    """Return the command that builds an index again."""
    named = _DEFAULT_NAME.fullmatch(str(path))
    if named and Path(named["fasta"]).is_file():
        sketch = SketchOptions(k=int(named["k"]), w=int(named["w"]), is_hpc=bool(named["hpc"]))
        return index_command(named["fasta"], sketch)
    return rebuild_command(path, SUFFIX, "hapgpu index --minimizers REF.fa")


MINIMIZER_FILE: Final = IndexFile(
    ArrayFormat(
        what="minimizer index of hapgpu",
        magic=MAGIC,
        version=VERSION,
        dtypes={
            "lengths": np.int64,
            "directory": np.uint32,
            "entries": np.uint64,
            "hits": np.uint64,
        },
        remedy=_remedy,
    ),
    header_of=_header_of,
    arrays_of=_arrays_of,
    index_of=_index_of,
    is_sound=is_sound,
)
"""Files of minimizer indexes."""


_NO_PROGRESS: Final = NoProgress()
logger = logging.getLogger(__name__)


def open_index(
    reference: Path, sketch: SketchOptions, threads: int, progress: Progress = _NO_PROGRESS
) -> MinimizerIndex:
    """Load the index of a reference, or build it if there is none beside the FASTA file.

    Parameters
    ----------
    reference
        FASTA, plain or gzip-compressed, or an index, whose own minimizers are used.
    sketch
        Options of the minimizers; ignored, with a warning, for an index.
    threads
        Number of threads that build the index, if there is none.
    progress
        Receives the phases of building; started and finished by the caller.

    Raises
    ------
    InputError
        A file cannot be read, or the index is damaged or was built from another FASTA file.
    """
    if MINIMIZER_FILE.is_index(reference):
        return load_index(reference, sketch)
    return _load_or_build(
        reference, sketch, lambda: build_index(reference, sketch, threads, progress)
    )


def open_index_with_bases(
    reference: Path, sketch: SketchOptions, threads: int, progress: Progress = _NO_PROGRESS
) -> tuple[MinimizerIndex, FastaRecords]:
    """Load or build the index of a FASTA file as `open_index` does; return the sequences, too.

    An index, which has no bases, is not taken for the FASTA file.

    Raises
    ------
    InputError
        As in `open_index`.
    """
    built: list[FastaRecords] = []

    def build() -> MinimizerIndex:
        index, records = build_index_of_records(reference, sketch, threads, progress)
        built.append(records)
        return index

    index = _load_or_build(reference, sketch, build)
    if built:
        return index, built[0]
    with Pool(threads) as pool:
        return index, read_reference(reference, pool)


def _load_or_build(
    reference: Path, sketch: SketchOptions, build: Callable[[], MinimizerIndex]
) -> MinimizerIndex:
    if not reference.exists():
        raise InputError(f"{reference}: no such file")
    path, command = default_index_path(reference, sketch), index_command(reference, sketch)
    return MINIMIZER_FILE.load_or_build(reference, path, command, build)


def load_index(path: Path, sketch: SketchOptions) -> MinimizerIndex:
    """Load an index given in place of the FASTA file; warn if its options are not `sketch`.

    Raises
    ------
    InputError
        The file cannot be read, or is damaged.
    """
    index = MINIMIZER_FILE.load(path)
    if index.sketch != sketch:
        logger.warning(
            "%s: built with %s; ignoring %s", path, _options(index.sketch), _options(sketch)
        )
    return index


def _options(sketch: SketchOptions) -> str:
    return f"-k {sketch.k} -w {sketch.w}{' -H' if sketch.is_hpc else ''}"


def write_index(run: RunContext, reference: Path, path: Path, sketch: SketchOptions) -> None:
    """Build the minimizer index of a FASTA file on the CPU, save it, and count its sequences.

    Raises
    ------
    InputError
        The file cannot be read or is not FASTA.
    OutputError
        The index cannot be written.
    """

    def build(progress: Progress) -> MinimizerIndex:
        return build_index(reference, sketch, run.threads, progress)

    index = MINIMIZER_FILE.build_and_save(run, path, build)
    run.statistics.add({"contigs": len(index.names), "bases": int(index.lengths.sum())})
