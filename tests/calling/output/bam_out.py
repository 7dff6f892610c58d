"""Runs on real reads with realigned reads, and independent checks of these."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pysam

from hapgpu.calling.options import CallOptions
from hapgpu.calling.pipeline import write_calls
from hapgpu.calling.session import CallInputs, CallSession
from hapgpu.io.genome.regions import RegionChoice, parse_region
from hapgpu.runtime.devices import CpuDevice
from hapgpu.runtime.statistics import RunStatistics

HAPLOTYPES = "ArtificialHaplotypeRG"
REGIONS = ("chr20:10,000,001-10,006,000", "chr20:10,007,001-10,010,000")
LENGTH = 9000


def reads_of(directory: Path, sample: str = "NA12878") -> Path:
    return directory / "illumina_na12878" / f"{sample}.chr20.dev.bam"


def reference_of(directory: Path) -> Path:
    return directory / "illumina_na12878" / "chr20.hg19.fa.gz"


def run(
    reads: Sequence[Path],
    reference: Path,
    out: Path,
    *,
    segment_size: int = LENGTH,
    threads: int = 1,
) -> None:
    """Write `called.vcf`, and the realigned reads at `out`."""
    choice = RegionChoice(tuple(map(parse_region, REGIONS)))
    inputs = CallInputs([str(path) for path in reads], reference, choice)
    statistics = RunStatistics("call", [], [], threads)
    with CallSession(inputs, CallOptions(), [CpuDevice(1)], threads, segment_size) as session:
        write_calls(
            session,
            str(out.with_name("called.vcf")),
            statistics,
            threads=threads,
            command_line="call",
            bam_out=str(out),
        )


def records_in(path: Path) -> list[pysam.AlignedSegment]:
    with pysam.AlignmentFile(str(path)) as file:
        return list(file)


def variants_in(directory: Path) -> list[pysam.VariantRecord]:
    with pysam.VariantFile(str(directory / "called.vcf")) as file:
        return list(file)


def is_haplotype(record: pysam.AlignedSegment) -> bool:
    return record.get_tag("RG") == HAPLOTYPES


def tags_of(record: pysam.AlignedSegment, *left_out: str) -> dict[str, object]:
    return {name: value for name, value in record.get_tags() if name not in left_out}
