"""Input files of whole runs of `realign` and `pairhmm`: reads of a sample, and haplotypes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.benchmark.genotyping_files import CONTIG, READ_MODEL, simulated_files
from hapgpu.runtime.devices import CpuDevice, Device, usable_cpus
from hapgpu.simulation.sequences import random_reference

HAPLOTYPE_LENGTH: Final = 600
"""Bases of a haplotype; loci of this length lie end to end."""
READ_LENGTH: Final = READ_MODEL.read_length

_CPU_TILE, _GPU_TILE = 100_000, 2_000_000
_GPU_COPIES: Final = 10
_HAPLOTYPES_PER_LOCUS: Final = 2
_NEXT_LETTER: Final = bytes.maketrans(b"ACGT", b"CGTA")


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
        tile, copies, threads = random_reference(_CPU_TILE), 1, device.threads
    else:
        tile, copies, threads = random_reference(_GPU_TILE), _GPU_COPIES, usable_cpus()
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
