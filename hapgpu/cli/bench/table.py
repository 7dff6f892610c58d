"""The tables of `hapgpu bench`: each measurement one line, written as soon as it is made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeVar

from hapgpu.benchmark import genotyping, mapping, pairhmm, realign
from hapgpu.benchmark.chaining.anchors import Method as ChainMethod
from hapgpu.benchmark.chaining.anchors import benchmark_anchors
from hapgpu.benchmark.chaining.reads import benchmark_reads
from hapgpu.benchmark.io import benchmark_io
from hapgpu.benchmark.measurement import Measurement as ChainMeasurement
from hapgpu.chaining.options import preset
from hapgpu.cli.bench.options import Choices, Method
from hapgpu.runtime.devices import Device
from hapgpu.simulation.long_reads import LongReadModel

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Line = TypeVar("_Line", bound="DataclassInstance")

Table = list[dict[str, object]]
"""Measurements as JSON has them."""


def io_table(threads: int) -> Table:
    """Measure reading and writing."""
    results = benchmark_io(threads)
    for name, rate in results.items():
        _print_row((name, f"{rate:.4g}"))
    return [{"metric": name, "value": rate} for name, rate in results.items()]


def realign_table(devices: Sequence[Device]) -> Table:
    """Measure alignment of pairs."""

    def row(line: realign.Measurement) -> Iterable[object]:
        sizes = (line.read_length, line.haplotype_length)
        rates = (f"{line.pairs_per_second:.0f}", f"{line.gcups:.2f}")
        return (line.device, line.task, *sizes, *rates)

    header = ("device", "what", "read", "haplotype", "pairs/s", "GCUPS")
    return _table(header, _of_all(devices, realign.benchmark_realign), row)


def pairhmm_table(devices: Sequence[Device], choices: Choices) -> Table:
    """Measure the pair-HMM."""

    def measured(device: Device) -> Iterable[pairhmm.Measurement]:
        if choices.batches is None:
            return pairhmm.benchmark_pairhmm(device)
        return pairhmm.benchmark_regions(choices.batches, choices.copies or 1, device)

    def row(line: pairhmm.Measurement) -> Iterable[object]:
        rates = (f"{line.seconds:.4g}", f"{line.gcups:.4g}")
        return (line.device, line.task, line.data, line.cells, *rates)

    header = ("device", "what", "data", "cells", "seconds", "GCUPS")
    return _table(header, _of_all(devices, measured), row)


def map_table(devices: Sequence[Device], choices: Choices) -> Table:
    """Measure mapping of short reads."""

    def measured(device: Device) -> Iterable[mapping.Measurement]:
        return mapping.benchmark_map(
            device,
            reference=choices.reference,
            reads=choices.reads,
            copies=choices.copies or 1,
            method=mapping.Method(choices.method or Method.FM),
        )

    def row(line: mapping.Measurement) -> Iterable[object]:
        rates = (f"{line.seconds:.4g}", f"{line.reads_per_second / 1e6:.4g}")
        return (line.device, line.task, line.data, line.reads, line.hits, *rates)

    header = ("device", "what", "data", "reads", "hits", "seconds", "M reads/s")
    return _table(header, _of_all(devices, measured), row)


def chain_table(devices: Sequence[Device], choices: Choices) -> Table:
    """Measure chaining of long reads, or the scoring of ready-made anchors."""
    options = preset(choices.preset or "map-ont")

    def measured(device: Device) -> Iterable[ChainMeasurement]:
        if choices.anchors is not None:
            method = ChainMethod(choices.method or Method.PREDECESSOR)
            copies = choices.copies or 1
            yield from benchmark_anchors(device, choices.anchors, options, copies, method)
        if choices.reference is not None:
            model = _read_model(choices)
            yield from benchmark_reads(device, choices.reference, options, choices.bases, model)

    def row(line: ChainMeasurement) -> Iterable[object]:
        rates = (f"{line.seconds:.4g}", f"{line.per_second / 1e6:.4g}")
        return (line.device, line.task, line.data, line.count, line.unit, *rates)

    header = ("device", "what", "data", "count", "unit", "seconds", "M/s")
    return _table(header, _of_all(devices, measured), row)


def genotype_table(devices: Sequence[Device], choices: Choices) -> Table:
    """Measure genotyping of a simulated sample."""

    def measured(device: Device) -> Iterable[genotyping.Measurement]:
        if choices.reference is not None:
            copies = choices.copies or 1
            yield from genotyping.benchmark_genotype(device, choices.reference, copies)

    def row(line: genotyping.Measurement) -> Iterable[object]:
        counts = (line.sites, line.reads, line.cells, f"{line.seconds:.4g}")
        rates = (f"{line.sites_per_second:.0f}", f"{line.reads_per_second:.0f}")
        shares = (f"{100 * line.genotype_error_rate:.3f}", f"{100 * line.kernel_fraction:.1f}")
        return (line.device, line.data, *counts, *rates, f"{line.gcups:.4g}", *shares)

    header = ("device", "data", "sites", "reads", "cells", "seconds")
    rates = ("sites/s", "reads/s", "GCUPS", "% wrong", "% kernels")
    return _table((*header, *rates), _of_all(devices, measured), row)


def _read_model(choices: Choices) -> LongReadModel:
    """Return what simulated reads are to be like; half of the mean is the least where it is low."""
    usual = LongReadModel()
    length = choices.read_length or usual.mean_length
    return LongReadModel(
        mean_length=length,
        min_length=min(usual.min_length, length // 2),
        error_rate=usual.error_rate if choices.error is None else choices.error,
    )


def _of_all(
    devices: Sequence[Device], measured: Callable[[Device], Iterable[_Line]]
) -> Iterator[_Line]:
    for device in devices:
        yield from measured(device)


def _table(
    header: Sequence[str], lines: Iterable[_Line], row: Callable[[_Line], Iterable[object]]
) -> Table:
    _print_row(header)
    table = []
    for line in lines:
        _print_row(row(line))
        table.append(asdict(line))
    return table


def _print_row(fields: Iterable[object]) -> None:
    sys.stdout.write("\t".join(map(str, fields)) + "\n")
    sys.stdout.flush()
