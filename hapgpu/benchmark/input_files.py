"""Input files of benchmarks: reads and sites of a simulated sample, and haplotypes."""

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
from hapgpu.runtime.devices import CpuDevice, Device, usable_cpus
from hapgpu.simulation.paired_reads import PairedReadModel
from hapgpu.simulation.phased_variants import vcf_text
from hapgpu.simulation.sample import sample_header, simulated_reads
from hapgpu.simulation.sequences import random_reference
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
"""Variants with about the density of a human genome, and about its fractions of each kind."""
HAPLOTYPE_LENGTH: Final = 600
"""Bases of a haplotype; loci of this length lie end to end."""
READ_LENGTH: Final = READ_MODEL.read_length

_CPU_TILE, _GPU_TILE = 100_000, 2_000_000
_GPU_COPIES: Final = 10
_HAPLOTYPES_PER_LOCUS: Final = 2
_NEXT_LETTER: Final = bytes.maketrans(b"ACGT", b"CGTA")
_PLOIDY: Final = 2
_MIN_BASES: Final = 5000
_MAX_CONTIG: Final = 2**31 - 1  # of BAM


@dataclass(frozen=True, slots=True)
class SimulatedFiles:
    """The files of a simulated sample, and its true genotypes.

    Attributes
    ----------
    reads
        BAM, with its index.
    reference
        FASTA of one contig, `CONTIG`, with its index.
    sites
        VCF without genotypes.
    read_count
        Number of reads in the BAM.
    starts
        int64[s]: 0-based positions of the sites.
    genotypes
        int8[s, 2]: allele numbers of the sample at each site, ascending.
    """

    reads: Path
    reference: Path
    sites: Path
    read_count: int
    starts: NDArray[np.int64]
    genotypes: NDArray[np.int8]


def simulated_files(
    directory: Path, reference: Path, copies: int, threads: int, seed: int = 7
) -> SimulatedFiles:
    """Simulate reads of a sample at 30x; write the reads, the sites and their reference.

    The sample covers one tile: the longest run of bases without N in the longest contig of the
    reference. The new reference consists of copies of the tile, end to end.

    Parameters
    ----------
    directory
        Output directory.
    reference
        FASTA that contains the tile.
    copies
        Number of tiles, at least one.
    threads
        CPU threads to write with.
    seed
        Random seed of the sample.

    Raises
    ------
    InputError
        The reference cannot be read, or its longest run of bases without N is too short.
    UsageError
        The copies are longer than a BAM file can hold.
    """
    bases = _tile_of(reference)
    check_copies(bases.size, copies)
    length = bases.size * copies
    tile = ReferenceSlice(0, bases)
    sample, _ = drawn_variants(tile, _PLOIDY, _VARIANTS, seed)
    if not len(sample):
        raise InputError(
            f"{reference}: no variant fits into its longest run of bases without N; "
            "give another reference"
        )
    made = directory / "tiles.fa"
    write_fasta(made, bases, copies)
    variants = sample.tiled(bases.size, copies)
    sites = directory / "sites.vcf"
    sites.write_text(vcf_text(variants, CONTIG, length))
    reads = directory / "reads.bam"
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


def name_of_sample(reference: Path, copies: int) -> str:
    """Return the name of the data of `simulated_files`."""
    return f"{reference.name} x{copies}, {READ_MODEL.depth:.0f}x"


def _tile_of(path: Path) -> NDArray[np.uint8]:
    """Return uint8 text, upper case: the longest run without N in the longest contig."""
    sequences = read_fasta(path).sequences
    contig = sequences[int(sequences.lengths.argmax())] & ~np.uint8(0x20)
    edges = np.concatenate([[-1], np.flatnonzero(contig == ord("N")), [contig.size]])
    longest = int(np.diff(edges).argmax())
    tile: NDArray[np.uint8] = contig[edges[longest] + 1 : edges[longest + 1]]
    if tile.size < _MIN_BASES:
        raise InputError(
            f"{path}: its longest contig has at most {tile.size:,} bases in a row without N, of "
            f"{_MIN_BASES:,} needed; give a longer reference"
        )
    return tile


def check_copies(bases: int, copies: int) -> None:
    """Refuse more copies of a tile than a BAM file can hold.

    Parameters
    ----------
    bases
        Bases of the tile.
    copies
        Number of tiles.

    Raises
    ------
    UsageError
        The copies are longer than a contig of BAM.
    """
    if bases * copies > _MAX_CONTIG:
        most = _MAX_CONTIG // bases
        limit = f"a BAM contig holds at most {most} copies of {bases:,} bases"
        raise UsageError(f"--copies {copies}: {limit}; give fewer")


def write_fasta(path: Path, tile: NDArray[np.uint8], copies: int) -> None:
    """Write a contig, `CONTIG`, of copies of a tile, uint8 text, and index the file."""
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
    """Write the reads of a tile once per copy, and index the file."""
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


@dataclass(frozen=True, slots=True)
class SampleFiles:
    """Files of a sample.

    Attributes
    ----------
    data
        Name of the data.
    reads
        BAM, with its index.
    haplotypes
        FASTA: for each locus the bases of the reference, and the same with another base in the
        middle.
    read_count
        Number of reads.
    pairs
        Number of pairs of reads and haplotypes, for reads without indels at random positions.
    """

    data: str
    reads: Path
    haplotypes: Path
    read_count: int
    pairs: int


def sample_files(directory: Path, device: Device) -> SampleFiles:
    """Simulate a sample for a device: 100 kb at 30x for a CPU, 20 Mb for a GPU."""
    if isinstance(device, CpuDevice):
        return _sample_files(directory, _CPU_TILE, 1, device.threads)
    return _sample_files(directory, _GPU_TILE, _GPU_COPIES, usable_cpus())


def scaling_files(directory: Path, copies: int, threads: int) -> SampleFiles:
    """Simulate a sample for any number of threads and GPUs: 2 Mb at 30x per copy."""
    return _sample_files(directory, _GPU_TILE, copies, threads)


def _sample_files(directory: Path, bases: int, copies: int, threads: int) -> SampleFiles:
    tile = random_reference(bases)
    reference = directory / "tile.fa"
    reference.write_bytes(b">tile\n" + tile.tobytes() + b"\n")
    files = simulated_files(directory, reference, copies, threads)
    haplotypes = directory / "haplotypes.fa"
    _write_haplotypes(haplotypes, tile, copies)
    loci_per_read = 1 + (READ_LENGTH - 1) / HAPLOTYPE_LENGTH
    return SampleFiles(
        f"{tile.size * copies:,} bases, {READ_MODEL.depth:.0f}x",
        files.reads,
        haplotypes,
        files.read_count,
        int(files.read_count * loci_per_read * _HAPLOTYPES_PER_LOCUS),
    )


def _write_haplotypes(path: Path, tile: NDArray[np.uint8], copies: int) -> None:
    """Write the haplotypes of all loci."""
    text, middle = tile.tobytes() * copies, HAPLOTYPE_LENGTH // 2
    with path.open("wb") as file:
        for start in range(0, len(text) - HAPLOTYPE_LENGTH + 1, HAPLOTYPE_LENGTH):
            end = start + HAPLOTYPE_LENGTH
            bases = text[start:end]
            other = bases[middle : middle + 1].translate(_NEXT_LETTER)
            changed = bases[:middle] + other + bases[middle + 1 :]
            locus = f"{CONTIG}:{start + 1}-{end}".encode("ascii")
            file.write(b">r%d %b\n%b\n" % (start, locus, bases))
            file.write(b">a%d %b\n%b\n" % (start, locus, changed))
