"""The files that `hapgpu bench genotype` reads: a simulated sample, several times side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import pysam
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.errors import InputError, UsageError
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.genome.fasta import read_fasta
from hapgpu.simulation.fragments import PairedReadModel
from hapgpu.simulation.phased_variants import vcf_text
from hapgpu.simulation.sample import sample_header, simulated_reads
from hapgpu.simulation.variants import VariantKind, VariantModel, drawn_variants

CONTIG: Final = "tiles"
SAMPLE: Final = "simulated"
READ_MODEL: Final = PairedReadModel(depth=30.0, read_length=148)
_VARIANTS: Final = VariantModel(
    frequencies={
        VariantKind.SNV: 0.82,
        VariantKind.MNV: 0.01,
        VariantKind.INSERTION: 0.04,
        VariantKind.DELETION: 0.05,
        VariantKind.REPEAT: 0.06,
        VariantKind.MULTI_SNV: 0.005,
        VariantKind.MULTI_REPEAT: 0.015,
    },
    spacing=690.0,
    alternative_weight=1.0,
)
"""As dense as in a human genome, and of all kinds in about the shares that they have there."""
_PLOIDY: Final = 2
_MIN_BASES: Final = 5000
_LONGEST_CONTIG: Final = 2**31 - 1  # of BAM


@dataclass(frozen=True, slots=True)
class SimulatedFiles:
    """The files of a sample, and the truth.

    Attributes
    ----------
    reads
        BAM, with its index.
    reference
        FASTA of one contig, `CONTIG`, with its index.
    sites
        VCF without genotypes.
    read_count
        Of the BAM.
    starts
        int64[s]: 0-based positions of the sites.
    genotypes
        int8[s, 2]: numbers of the alleles that the sample has at each site, ascending.
    """

    reads: Path
    reference: Path
    sites: Path
    read_count: int
    starts: NDArray[np.int64]
    genotypes: NDArray[np.int8]


def simulated_files(
    folder: Path, reference: Path, copies: int, threads: int, seed: int = 7
) -> SimulatedFiles:
    """Simulate the reads of a sample at 30x, and write them, its sites and their reference.

    The sample is that of one tile: the longest stretch of the reference's longest contig without
    N. The new reference is a row of tiles.

    Parameters
    ----------
    folder
        Where the files are written.
    reference
        FASTA to take the tile from.
    copies
        How many tiles, at least one.
    threads
        CPU threads to write with.
    seed
        For another sample.

    Raises
    ------
    InputError
        The reference cannot be read, or has too few bases in a row.
    UsageError
        So many copies are longer than what BAM can hold.
    """
    bases = _tile_of(reference)
    length = bases.size * copies
    if length > _LONGEST_CONTIG:
        most = _LONGEST_CONTIG // bases.size
        raise UsageError(f"--copies: at most {most} of {bases.size:,} bases fit into a BAM file")
    tile = ReferenceSlice(0, bases)
    sample, _ = drawn_variants(tile, _PLOIDY, _VARIANTS, seed)
    if not len(sample):
        raise InputError(f"{reference}: no place for a variant in its longest stretch without N")
    made = folder / "tiles.fa"
    _write_fasta(made, bases, copies)
    variants = sample.tiled(bases.size, copies)
    sites = folder / "sites.vcf"
    sites.write_text(vcf_text(variants, CONTIG, length))
    reads = folder / "reads.bam"
    batches = list(simulated_reads(tile, sample, SAMPLE, READ_MODEL, seed))
    _write_reads(reads, batches, bases.size, copies, threads)
    return SimulatedFiles(
        reads,
        made,
        sites,
        copies * sum(map(len, batches)),
        variants.starts,
        np.sort(variants.genotypes, axis=1),
    )


def _tile_of(path: Path) -> NDArray[np.uint8]:
    """uint8 text, upper case: the longest stretch without N of the longest contig."""
    sequences = read_fasta(path).sequences
    contig = sequences[int(sequences.lengths.argmax())] & ~np.uint8(0x20)
    edges = np.concatenate([[-1], np.flatnonzero(contig == ord("N")), [contig.size]])
    longest = int(np.diff(edges).argmax())
    tile: NDArray[np.uint8] = contig[edges[longest] + 1 : edges[longest + 1]]
    if tile.size < _MIN_BASES:
        raise InputError(
            f"{path}: its longest contig has {tile.size:,} bases in a row without N: to simulate a "
            f"sample takes {_MIN_BASES:,}"
        )
    return tile


def _write_fasta(path: Path, tile: NDArray[np.uint8], copies: int) -> None:
    text = tile.tobytes()
    with path.open("wb") as file:
        file.write(f">{CONTIG}\n".encode("ascii"))
        for _ in range(copies):
            file.write(text)
        file.write(b"\n")
    pysam.faidx(str(path))


def _write_reads(
    path: Path, batches: Iterable[ReadBatch], period: int, copies: int, threads: int
) -> None:
    """Write the reads of a tile once for each copy, and index them."""
    header = sample_header(SAMPLE, CONTIG, period * copies)
    with open_writer(str(path), header, threads=threads, write_index=True) as writer:
        for copy in range(copies):
            for batch in batches:
                writer.write(_shifted(batch, copy * period))


def _shifted(reads: ReadBatch, by: int) -> ReadBatch:
    shift = np.int32(by)
    return replace(
        reads, positions=reads.positions + shift, mate_positions=reads.mate_positions + shift
    )
