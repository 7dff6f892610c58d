"""`hapgpu bench`: how fast this machine is."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Final

import typer

from hapgpu.cli.messages import set_up_messages
from hapgpu.cli.options import Debug, DeviceName, GpuMemory, Json, Threads
from hapgpu.device import Device, resolve_devices
from hapgpu.io.benchmark import benchmark_io
from hapgpu.io.output import write_json
from hapgpu.realign.benchmark import Measurement, benchmark_realign

EXAMPLES: Final = "Example: hapgpu bench realign --device cuda:0"


class Benchmark(StrEnum):
    """What can be measured."""

    REALIGN = "realign"
    IO = "io"


def bench(
    *,
    what: Annotated[Benchmark, typer.Argument(help="Alignment of pairs, or reading and writing.")],
    threads: Threads,
    device: DeviceName = "auto",
    gpu_mem: GpuMemory = None,
    json: Json = None,
    debug: Debug = False,
) -> None:
    """Measure how fast this machine computes, on data made for it.

    One line per measurement on standard output, tab-separated.
    """
    set_up_messages("bench", quiet=False, verbose=False, debug=debug)
    devices, chosen = resolve_devices(device, threads=threads, gpu_memory=gpu_mem)
    sys.stderr.write(f"hapgpu bench: {chosen}\n")
    results = _bench_io(threads) if what is Benchmark.IO else _bench_realign(devices)
    if json is not None:
        write_json(json, results)


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


def _print_row(fields: Iterable[object]) -> None:
    sys.stdout.write("\t".join(map(str, fields)) + "\n")
    sys.stdout.flush()
