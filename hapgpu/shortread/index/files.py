"""Files of the FM index: written, and loaded or built; checks of their arrays.

Checks ensure that a search stays within the arrays and ends, whoever wrote them. Checked are:
sizes; that the counts of `occurrences` agree with its symbols, so that a step leads from a row to a
row, and from a later row to no earlier one; and that the ranks of samples agree with their marks.

The search itself checks three more things, at no cost while it waits for memory. It takes no rows
from `jump` after the last row, compares a read with the reference only within the reference, and
ends a walk to a sample after `SAMPLING` steps. Hits are correct in a correct index only, but they
always lie within the bases of the index.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import popcount
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.files.array_file import (
    ArrayFormat,
    Arrays,
    Header,
    bytes_of,
    holds_everywhere,
    names_of,
    whole_of,
)
from hapgpu.io.files.index_file import IndexFile, rebuild_command
from hapgpu.io.text.values import LAST_POSITION, are_contig_names
from hapgpu.runtime.devices import Device
from hapgpu.runtime.jit import njit
from hapgpu.runtime.progress import NoProgress, Progress
from hapgpu.runtime.run_context import RunContext
from hapgpu.shortread.index.build import build_index
from hapgpu.shortread.index.bwt import MAX_JUMP
from hapgpu.shortread.index.encoding import block_count
from hapgpu.shortread.index.fm_index import (
    BLOCK,
    MAX_BASES,
    Contigs,
    FMIndexArrays,
    ReferenceBases,
    SuffixSamples,
)
from hapgpu.shortread.index.names import SUFFIX, default_index_path, index_command

_COUNTS = 8
"""uint32 values per block of occurrences: four counts, and the symbols."""

_0, _1, _2, _3, _4, _5, _32, _64 = map(np.uint64, (0, 1, 2, 3, 4, 5, 32, 64))


def is_sound(index: FMIndexArrays) -> bool:
    """Tell whether every search of an index stays within its arrays and ends."""
    return (
        _are_contigs(index.contigs)
        and _are_bases(index.bases, int(index.contigs.offsets[-1]))
        and _is_jump_table(index.jump, index.jump_length)
        and _are_occurrences(index.occurrences, int(index.jump[-1]))
        and 0 < index.primary < int(index.jump[-1])
        and _are_suffixes(index.suffixes, int(index.jump[-1]), index.primary)
    )


def _are_contigs(contigs: Contigs) -> bool:
    names, offsets = contigs.names, contigs.offsets
    return (
        offsets.size == len(names) + 1
        and offsets[0] == 0
        and bool((offsets[:-1] < offsets[1:]).all())
        and 0 < offsets[-1] <= MAX_BASES
        and bool((np.diff(offsets) <= LAST_POSITION).all())
        and are_contig_names(names)
    )


def _are_bases(bases: ReferenceBases, total: int) -> bool:
    blocks, positions, letters = block_count(total), bases.letter_positions, bases.letters
    return (
        bases.planes.size == 2 * blocks
        and bases.others.size == blocks
        and positions.size == letters.size
        and (not positions.size or (positions[0] >= 0 and positions[-1] < total))
        and bool((positions[:-1] < positions[1:]).all())
        and bool(((ord("A") <= letters) & (letters <= ord("Z"))).all())
    )


def _is_jump_table(jump: NDArray[np.uint32], length: int) -> bool:
    return 1 <= length <= MAX_JUMP and jump.size == 4**length + 1 and jump[0] == 0 and jump[-1] > 0


def _are_occurrences(occurrences: NDArray[np.uint32], rows: int) -> bool:
    """Tell whether each count agrees with the symbols before it, up to the number of rows."""
    symbols = rows - 1
    blocks = symbols // BLOCK + 1
    if occurrences.size != _COUNTS * blocks:
        return False
    words = read_only(occurrences.view(np.uint64))
    low, high = int(words[-2]), int(words[-1])
    every = (1 << symbols % BLOCK) - 1
    of_base = (every & ~low & ~high, low & ~high, high & ~low, low & high)
    ends = [int(occurrences[base - _COUNTS]) + of_base[base].bit_count() for base in range(4)]
    return (
        [1, *ends] == [*map(int, occurrences[:4]), rows]
        and (low | high) <= every
        and holds_everywhere(partial(_are_sums, words), blocks - 1)
    )


@njit
def _are_sums(words: NDArray[np.uint64], start: int, end: int) -> bool:
    """Tell whether the counts after each block equal the counts before it plus its symbols.

    Two counts are added at a time. Neither overflows into the other: their first and last values
    are correct, and no step adds more than the number of symbols.
    """
    differences = _0
    for block in range(np.uint64(start), np.uint64(end)):
        at = _4 * block
        low, high = words[at + _2], words[at + _3]
        lows, highs, both = popcount(low), popcount(high), popcount(low & high)
        first_two = (_64 - lows - highs + both) | (lows - both) << _32
        last_two = (highs - both) | both << _32
        differences |= (words[at] + first_two) ^ words[at + _4]
        differences |= (words[at + _1] + last_two) ^ words[at + _5]
    return bool(differences == _0)


def _are_suffixes(suffixes: NDArray[np.uint32] | SuffixSamples, rows: int, primary: int) -> bool:
    if not isinstance(suffixes, SuffixSamples):
        return suffixes.size == rows
    marks, ranks = read_only(suffixes.marks), read_only(suffixes.ranks)
    if not marks.size == ranks.size == -(-rows // BLOCK):
        return False
    is_kept = [int(marks[row // BLOCK]) >> row % BLOCK & 1 for row in (0, primary)]
    last = int(ranks[-1]) + int(marks[-1]).bit_count()
    return (
        all(is_kept)
        and ranks[0] == 0
        and suffixes.positions.size == last
        and holds_everywhere(partial(_are_ranks, marks, ranks), ranks.size - 1)
    )


@njit
def _are_ranks(marks: NDArray[np.uint64], ranks: NDArray[np.uint32], start: int, end: int) -> bool:
    """Tell whether each rank is the previous rank plus the number of marks."""
    for word in range(np.uint64(start), np.uint64(end)):
        if ranks[word] + popcount(marks[word]) != ranks[word + _1]:
            return False
    return True


MAGIC: Final = b"\x89HGX\r\n\x1a\n"  # as for PNG: not text, and damaged by converted line ends
VERSION: Final = 2


def _header_of(index: FMIndexArrays) -> Header:
    """Return the header that `_index_of` reads."""
    return {
        "contigs": index.contigs.names,
        "primary": index.primary,
        "jump_length": index.jump_length,
        "fasta_bytes": index.fasta_bytes,
        "fasta_digest": index.fasta_digest.hex(),
    }


def _index_of(header: Header, arrays: Arrays) -> FMIndexArrays:
    return FMIndexArrays.of(
        arrays,
        names=names_of(header, "contigs"),
        primary=whole_of(header, "primary"),
        jump_length=whole_of(header, "jump_length"),
        fasta_bytes=whole_of(header, "fasta_bytes"),
        fasta_digest=bytes_of(header, "fasta_digest"),
    )


def _remedy(path: Path) -> str:
    """Return the command that builds an index again."""
    fasta = str(path).removesuffix(SUFFIX)
    if fasta != str(path) and Path(fasta).is_file():
        return f"hapgpu index {fasta}"
    return rebuild_command(path, SUFFIX, "hapgpu index REF.fa")


FM_INDEX_FILE: Final = IndexFile(
    ArrayFormat(
        what="index of hapgpu",
        magic=MAGIC,
        version=VERSION,
        dtypes={
            "contig_offsets": np.int64,
            "planes": np.uint64,
            "others": np.uint64,
            "letter_positions": np.int64,
            "letters": np.uint8,
            "occurrences": np.uint32,
            "jump": np.uint32,
            "suffixes": np.uint32,
            "sample_marks": np.uint64,
            "sample_ranks": np.uint32,
            "sample_positions": np.uint32,
        },
        remedy=_remedy,
    ),
    header_of=_header_of,
    arrays_of=FMIndexArrays.arrays,
    index_of=_index_of,
    is_sound=is_sound,
)
"""Files of FM indexes."""


_NO_PROGRESS: Final = NoProgress()


def open_index(
    reference: Path,
    device: Device,
    threads: int,
    progress: Progress = _NO_PROGRESS,
) -> FMIndexArrays:
    """Load the index of a reference, or build it if there is none beside the FASTA file.

    Parameters
    ----------
    reference
        FASTA, plain or gzip-compressed, or an index.
    device, threads
        Device and number of CPU threads that build the index, if there is none.
    progress
        Receives the phases of building; started and finished by the caller.

    Raises
    ------
    InputError
        A file cannot be read, or the index is damaged or was built from another FASTA file.
    DeviceError
        The GPU has too little memory to build the index.
    """
    if FM_INDEX_FILE.is_index(reference):
        return FM_INDEX_FILE.load(reference)
    path = default_index_path(reference)
    return FM_INDEX_FILE.load_or_build(
        reference,
        path,
        index_command(reference, path),
        lambda: build_index(reference, device, threads, progress=progress),
    )


def write_index(run: RunContext, reference: Path, path: Path, *, low_memory: bool) -> None:
    """Build the FM index of a FASTA file on the first device, save it, and count its contigs.

    Raises
    ------
    InputError
        The file cannot be read or is not FASTA.
    OutputError
        The index cannot be written.
    DeviceError
        The GPU has too little memory.
    """

    def build(progress: Progress) -> FMIndexArrays:
        device = run.devices[0]
        return build_index(reference, device, run.threads, low_memory=low_memory, progress=progress)

    contigs = FM_INDEX_FILE.build_and_save(run, path, build).contigs
    run.statistics.add({"contigs": len(contigs.names), "bases": int(contigs.offsets[-1])})
