"""Input files of benchmarks: the reads of a region of a file, repeated along a made contig."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.benchmark.input_files import CONTIG, check_copies, write_fasta
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.errors import InputError
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import Region, RegionChoice

_BASES_BEFORE: Final = 2000
_BASES_AFTER: Final = 3000
"""Bases of the reference around the region, so that its reads and their mates fit."""
_BEFORE_NUMBER: Final = ord(".")


@dataclass(frozen=True, slots=True)
class ChosenReads:
    """Reads of a region.

    Attributes
    ----------
    path
        BAM or CRAM with its index, or SAM.
    region
        The region, as `parse_region` takes it.
    """

    path: Path
    region: str


@dataclass(frozen=True, slots=True)
class TiledFiles:
    """The files of repeated reads.

    Attributes
    ----------
    reads
        BAM, with its index.
    reference
        FASTA of one contig, `CONTIG`, with its index.
    read_count
        Number of reads in the BAM.
    """

    reads: Path
    reference: Path
    read_count: int


def tiled_files(
    directory: Path, chosen: ChosenReads, reference: Path, copies: int, threads: int
) -> TiledFiles:
    """Write the reads of a region again and again along a made contig, and its reference.

    A tile of the contig has the bases of the region, 2,000 before it and 3,000 after it. Reads
    that do not lie within the tile are excluded, and so are reads whose mates start elsewhere. The
    reads of each copy have names of their own.

    Parameters
    ----------
    directory
        Output directory.
    chosen
        The reads.
    reference
        FASTA that they were aligned to, with its index.
    copies
        Number of tiles, at least one.
    threads
        CPU threads to read and write with.

    Raises
    ------
    InputError
        A file cannot be read, the contig of the region is missing or has another length in the
        reference, or no read lies within the tile.
    UsageError
        The text is not a region, or the copies are longer than a BAM file can hold.
    """
    tile = _tile_of(chosen, reference, threads)
    check_copies(tile.bases.size, copies)
    made = directory / "tiles.fa"
    write_fasta(made, tile.bases, copies)
    path = directory / "reads.bam"
    _write_copies(path, tile, copies, threads)
    return TiledFiles(path, made, copies * len(tile.reads))


def name_of_tiles(chosen: ChosenReads, copies: int) -> str:
    """Return the name of the data of `tiled_files`."""
    return f"{chosen.path.name} {chosen.region} x{copies}"


class _Tile(NamedTuple):
    """Bases of a tile, its reads with positions on it, and @RG lines of their file.

    The bases are uint8 text.
    """

    bases: NDArray[np.uint8]
    reads: ReadBatch
    groups: list[str]


def _tile_of(chosen: ChosenReads, reference: Path, threads: int) -> _Tile:
    choice, name = RegionChoice((chosen.region,)), str(chosen.path)
    with (
        ReferenceFasta(reference) as fasta,
        open_reads(name, threads=threads, reference=reference, regions=choice) as source,
    ):
        header = source.header
        [[region]] = choice.sets(header.reference_ids)
        window = _window(region, header, name, fasta)
        contig = header.reference_ids[region.contig]
        parts = [_within(batch, contig, window) for batch in source.batches()]
        if not sum(map(len, parts)):
            raise InputError(f"{name}: no read within {chosen.region}; give another region")
        reads = ReadBatch.concatenate(parts)
        bases = np.frombuffer(fasta.fetch(window), dtype=np.uint8)
        # Reads of SAM are in any order.
        order = np.argsort(reads.positions, kind="stable")
        return _Tile(bases, reads.take(order), header.lines_of("@RG"))


def _window(region: Region, header: SamHeader, name: str, reference: ReferenceFasta) -> Region:
    """Return a region with the bases around it, within its contig."""
    contig = region.contig
    length = reference.contig_length(Region(contig, 0, 1))
    own = header.reference_lengths[header.reference_ids[contig]]
    if own != length:
        raise InputError(
            f"{name}: {contig} has {own:,} bases, but {length:,} in {reference.path}; give the "
            "reference that the reads were aligned to"
        )
    start, end = region.start - _BASES_BEFORE, region.end + _BASES_AFTER
    return Region(contig, max(start, 0), min(end, length))


def _within(reads: ReadBatch, contig: int, window: Region) -> ReadBatch:
    """Return reads of a contig that lie within a window, as their mates; positions are on it."""
    starts, mates = reads.positions.astype(np.int64), reads.mate_positions
    ends = starts + np.maximum(reference_lengths(reads.cigars), 1)
    is_near = reads.mate_reference_ids == contig
    is_near &= (window.start <= mates) & (mates < window.end)
    is_near |= reads.mate_reference_ids < 0
    is_near &= (window.start <= starts) & (ends <= window.end)
    reads = reads.take(is_near)
    zero = np.zeros(len(reads), dtype=np.int32)
    mate_ids = np.minimum(reads.mate_reference_ids, zero)
    reads = replace(reads, reference_ids=zero, mate_reference_ids=mate_ids)
    return _shifted(reads, -window.start)


def _shifted(reads: ReadBatch, by: int) -> ReadBatch:
    """Return reads further along the contig, and mates that have a position."""
    shift = np.int32(by)
    mate_shifts = np.where(reads.mate_reference_ids < 0, np.int32(0), shift)
    return replace(
        reads,
        positions=reads.positions + shift,
        mate_positions=reads.mate_positions + mate_shifts,
    )


def _write_copies(path: Path, tile: _Tile, copies: int, threads: int) -> None:
    """Write the reads of a tile once per copy, and index the file."""
    period = tile.bases.size
    header = SamHeader.from_references([CONTIG], [period * copies], "SO:coordinate")
    for line in tile.groups:
        header = header.with_line(line)
    names = _NumberedNames(tile.reads.names, len(str(copies - 1)))
    with open_writer(str(path), header, threads=threads, write_index=True) as writer:
        for copy in range(copies):
            reads = replace(tile.reads, names=names.of_copy(copy))
            writer.write(_shifted(reads, copy * period))


class _NumberedNames:
    """Names of reads, uint8 text, with the number of a copy of so many digits."""

    def __init__(self, names: Ragged, digits: int) -> None:
        self._offsets = offsets_of(names.lengths + 1 + digits)
        added = self._offsets[1:, None] + np.arange(-1 - digits, 0)
        self._digits = added[:, 1:]
        self._text = np.full(int(self._offsets[-1]), _BEFORE_NUMBER, dtype=np.uint8)
        is_name = np.ones(self._text.size, dtype=np.bool_)
        is_name[added] = False
        self._text[is_name] = names.data

    def of_copy(self, number: int) -> Ragged:
        """Return the names of a copy, uint8 text."""
        text, width = self._text.copy(), self._digits.shape[1]
        text[self._digits] = np.frombuffer(f"{number:0{width}}".encode("ascii"), dtype=np.uint8)
        return Ragged(text, self._offsets)
