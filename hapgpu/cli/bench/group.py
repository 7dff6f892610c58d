"""`hapgpu bench`: how fast this machine is."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from hapgpu.cli.bench.options import (
    AnchorFile,
    Bases,
    Batches,
    Benchmark,
    Choices,
    Copies,
    ErrorRate,
    HowComputed,
    ReadLength,
    Reads,
    Reference,
    check_choices,
)
from hapgpu.cli.bench.table import (
    Table,
    chain_table,
    genotype_table,
    io_table,
    map_table,
    pairhmm_table,
    realign_table,
)
from hapgpu.cli.options.chain import Preset
from hapgpu.cli.options.common import Debug, DeviceName, GpuMemory, Json, Threads
from hapgpu.cli.options.files import FASTA_INDEXES, STATISTICS, CommandFiles, Read
from hapgpu.cli.terminal.messages import set_up_messages
from hapgpu.io.files.output import write_json
from hapgpu.runtime.devices import Device, resolve_devices

EXAMPLES: Final = """Alignment, on one GPU:
hapgpu bench realign --device cuda:0

The pair-HMM, on the regions of a file, each of them 300 times:
hapgpu bench pairhmm --batches 10s.in --copies 300

Mapping beside the search of Seide 2012, in the same index:
hapgpu bench map --reference ref.fa && hapgpu bench map --reference ref.fa --method backtracking

Long reads to lines of PAF, the whole way and stage by stage:
hapgpu bench chain --reference ref.fa --bases 200m --read-length 50k

Genotyping of a simulated sample, from BAM to VCF, ten times side by side:
hapgpu bench genotype --reference ref.fa --copies 10"""

FILES: Final = CommandFiles(
    reads=(
        Read("batches", standard=True),
        Read("reference", (*FASTA_INDEXES, ".*hgx", ".*hgm")),
        Read("reads", standard=True),
        Read("anchors"),
    ),
    writes=(STATISTICS,),
)


def bench(  # noqa: PLR0913  (its parameters are the options)
    *,
    what: Annotated[
        Benchmark,
        typer.Argument(
            help="Alignment of pairs, the pair-HMM, mapping, chaining, genotyping, or reading and "
            "writing."
        ),
    ],
    batches: Batches = None,
    reference: Reference = None,
    reads: Reads = None,
    method: HowComputed = None,
    copies: Copies = None,
    anchors: AnchorFile = None,
    bases: Bases = None,
    read_length: ReadLength = None,
    error: ErrorRate = None,
    preset_name: Preset = None,
    threads: Threads,
    device: DeviceName = "auto",
    gpu_mem: GpuMemory = None,
    json: Json = None,
    debug: Debug = False,
) -> None:
    """Measure how fast this machine computes, on data made for it or on those of a file.

    One line per measurement on standard output, tab-separated.
    """
    set_up_messages("bench", quiet=False, verbose=False, debug=debug)
    choices = Choices(
        batches=batches,
        reference=reference,
        reads=reads,
        anchors=anchors,
        method=method,
        copies=copies,
        bases=bases,
        read_length=read_length,
        error=error,
        preset=preset_name,
    )
    check_choices(what, choices)
    devices, chosen = resolve_devices(device, threads=threads, gpu_memory=gpu_mem)
    sys.stderr.write(f"hapgpu bench: {chosen}\n")
    results = _measured(what, choices, devices, threads)
    if json is not None:
        write_json(json, results)


def _measured(what: Benchmark, choices: Choices, devices: Sequence[Device], threads: int) -> Table:
    match what:
        case Benchmark.IO:
            return io_table(threads)
        case Benchmark.REALIGN:
            return realign_table(devices)
        case Benchmark.PAIRHMM:
            return pairhmm_table(devices, choices)
        case Benchmark.MAP:
            return map_table(devices, choices)
        case Benchmark.CHAIN:
            return chain_table(devices, choices)
        case Benchmark.GENOTYPE:
            return genotype_table(devices, choices)
