"""Index and simulated reads of the benchmark of long-read mapping."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hapgpu.benchmark.measurement import Measurement
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.genome.fasta import FastaRecords
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.pipeline import block_transfer
from hapgpu.runtime.devices import CpuDevice, Device
from hapgpu.simulation.long_reads import LongReadModel, simulated_reads

_CPU_BASES: Final = 20_000_000
_GPU_BASES: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class LongReadData:
    """Reference, its index and simulated reads.

    Attributes
    ----------
    name
        Reference and model of the reads, for the table.
    reference
        FASTA file.
    records, index
        Its sequences and their index.
    blocks
        Blocks of FASTQ.
    bases
        Bases of all reads.
    """

    name: str
    reference: Path
    records: FastaRecords
    index: MinimizerIndex
    blocks: list[ReadBlock]
    bases: int

    def measured(self, device: Device, task: str, seconds: float) -> Measurement:
        """Return a measurement of all reads."""
        return bases_measured(device, task, self.name, self.bases, seconds)

    def written_reads(self, directory: Path) -> Path:
        """Return the FASTQ file of all reads in a directory; write it unless it exists."""
        path = directory / "reads.fq"
        if not path.exists():
            with path.open("wb") as file:
                file.writelines(block.text.data for block in self.blocks)
        return path


def simulated_data(
    device: Device,
    reference: Path,
    records: FastaRecords,
    index: MinimizerIndex,
    bases: int | None,
    model: LongReadModel,
) -> LongReadData:
    """Simulate reads in blocks for a device.

    Parameters
    ----------
    device
        The device.
    reference, records, index
        FASTA file, its sequences and their index.
    bases
        Approximate number of bases of the reads; None: 20 million on the CPU, a billion on a GPU.
    model
        Model of the reads.
    """
    if bases is None:
        bases = _CPU_BASES if isinstance(device, CpuDevice) else _GPU_BASES
    transfer = block_transfer([device], threads=1)
    blocks = list(
        simulated_reads(records.sequences, bases, transfer.size, transfer.allocate, model)
    )
    simulated_bases = sum(int(parse_block(block, LONG_READS).lengths.sum()) for block in blocks)
    reads = f"{model.mean_length:,}-base reads, {model.error_rate:.4g} errors"
    return LongReadData(
        f"{reference.name}, {reads}", reference, records, index, blocks, simulated_bases
    )


def bases_measured(device: Device, task: str, data: str, bases: int, seconds: float) -> Measurement:
    """Return a measurement of some bases."""
    return Measurement(
        device=device.name,
        task=task,
        data=data,
        unit="bases",
        numbers={"bases": bases},
        seconds=seconds,
    )
