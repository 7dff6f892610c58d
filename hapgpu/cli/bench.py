"""`hapgpu bench`: how fast this machine is."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.messages import set_up_messages
from hapgpu.cli.options import Debug, DeviceName, GpuMemory, Json, Threads
from hapgpu.device import Device, resolve_devices
from hapgpu.errors import UsageError
from hapgpu.fmindex import benchmark as mapping
from hapgpu.io.benchmark import benchmark_io
from hapgpu.io.output import write_json
from hapgpu.pairhmm import benchmark as pairhmm
from hapgpu.realign.benchmark import Measurement, benchmark_realign

EXAMPLES: Final = """Alignment, on one GPU:
hapgpu bench realign --device cuda:0

The pair-HMM, on the regions of a file, each of them 300 times:
hapgpu bench pairhmm --batches 10s.in --copies 300

Mapping beside the search of Seide 2012, in the same index:
hapgpu bench map --reference ref.fa && hapgpu bench map --reference ref.fa --method backtracking"""


class Benchmark(StrEnum):
    """What can be measured."""

    REALIGN = "realign"
    PAIRHMM = "pairhmm"
    MAP = "map"
    IO = "io"


def bench(
    *,
    what: Annotated[
        Benchmark,
        typer.Argument(help="Alignment of pairs, the pair-HMM, mapping, or reading and writing."),
    ],
    batches: Annotated[
        str | None,
        typer.Option(
            "--batches",
            metavar="FILE",
            help="Measure the pair-HMM on these text batches; - is standard input.",
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            metavar="FASTA",
            help="Measure mapping to this reference, with its index where it has one.",
        ),
    ] = None,
    reads: Annotated[
        str | None,
        typer.Option(
            "--reads",
            metavar="FASTQ",
            help="Map these reads, not simulated ones; - is standard input.",
        ),
    ] = None,
    method: Annotated[
        mapping.Method | None,
        typer.Option(
            "--method",
            help="How hits are searched: as map does (fm), or as Seide 2012 (backtracking).",
        ),
    ] = None,
    copies: Annotated[
        int | None,
        typer.Option(
            "--copies", metavar="N", min=1, help="Take the regions or reads of the file so often."
        ),
    ] = None,
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
    _check_options(what, batches, reference, reads, method, copies)
    devices, chosen = resolve_devices(device, threads=threads, gpu_memory=gpu_mem)
    sys.stderr.write(f"hapgpu bench: {chosen}\n")
    if what is Benchmark.IO:
        results = _bench_io(threads)
    elif what is Benchmark.REALIGN:
        results = _bench_realign(devices)
    elif what is Benchmark.PAIRHMM:
        results = _bench_pairhmm(devices, batches, copies or 1)
    else:
        results = _bench_map(devices, reference, reads, copies or 1, method or mapping.Method.FM)
    if json is not None:
        write_json(json, results)


def _check_options(
    what: Benchmark,
    batches: str | None,
    reference: Path | None,
    reads: str | None,
    method: mapping.Method | None,
    copies: int | None,
) -> None:
    """Refuse options that would change nothing."""
    owners = (
        ("--batches", batches, Benchmark.PAIRHMM),
        ("--reference", reference, Benchmark.MAP),
        ("--reads", reads, Benchmark.MAP),
        ("--method", method, Benchmark.MAP),
    )
    for option, value, owner in owners:
        if value is not None and what is not owner:
            raise UsageError(f"{option} is for bench {owner}, not for bench {what}")
    if reads is not None and reference is None:
        raise UsageError("--reads are mapped to a reference: give it with --reference FASTA")
    if copies is not None and batches is None and reads is None:
        raise UsageError("--copies repeats what a file holds: give it with --batches or --reads")


def _bench_io(threads: int) -> list[dict[str, object]]:
    results = benchmark_io(threads)
    for name, rate in results.items():
        _print_row((name, f"{rate:.4g}"))
    return [{"what": name, "value": rate} for name, rate in results.items()]


def _bench_realign(devices: list[Device]) -> list[dict[str, object]]:
    _print_row(("device", "what", "read", "haplotype", "pairs/s", "GCUPS"))
    measured: list[Measurement] = []
    for device in devices:
        for line in benchmark_realign(device):
            measured.append(line)
            _print_row(
                (
                    line.device,
                    line.what,
                    line.read_length,
                    line.haplotype_length,
                    f"{line.pairs_per_second:.0f}",
                    f"{line.gcups:.2f}",
                )
            )
    return [asdict(line) for line in measured]


def _bench_pairhmm(
    devices: list[Device], batches: str | None, copies: int
) -> list[dict[str, object]]:
    _print_row(("device", "what", "data", "cells", "seconds", "GCUPS"))
    measured: list[pairhmm.Measurement] = []
    for device in devices:
        if batches is None:
            lines = pairhmm.benchmark_pairhmm(device)
        else:
            lines = pairhmm.benchmark_regions(batches, copies, device)
        for line in lines:
            measured.append(line)
            _print_row(
                (
                    line.device,
                    line.what,
                    line.data,
                    line.cells,
                    f"{line.seconds:.4g}",
                    f"{line.gcups:.4g}",
                )
            )
    return [asdict(line) for line in measured]


def _bench_map(
    devices: list[Device],
    reference: Path | None,
    reads: str | None,
    copies: int,
    method: mapping.Method,
) -> list[dict[str, object]]:
    _print_row(("device", "what", "data", "reads", "hits", "seconds", "M reads/s"))
    measured: list[mapping.Measurement] = []
    for device in devices:
        for line in mapping.benchmark_map(
            device, reference=reference, reads=reads, copies=copies, method=method
        ):
            measured.append(line)
            _print_row(
                (
                    line.device,
                    line.what,
                    line.data,
                    line.reads,
                    line.hits,
                    f"{line.seconds:.4g}",
                    f"{line.reads_per_second / 1e6:.4g}",
                )
            )
    return [asdict(line) for line in measured]


def _print_row(fields: Iterable[object]) -> None:
    sys.stdout.write("\t".join(map(str, fields)) + "\n")
    sys.stdout.flush()
