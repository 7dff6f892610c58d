"""Whole runs with given alleles on real reads: the same bytes for all segments and threads."""

from __future__ import annotations

import random
from pathlib import Path

import pysam
import pytest

from hapgpu.calling.options import CallOptions, VariantOptions
from hapgpu.calling.pipeline import write_calls
from hapgpu.calling.session import CallInputs, CallSession
from hapgpu.io.genome.regions import RegionChoice, parse_region
from hapgpu.runtime.devices import CpuDevice
from hapgpu.runtime.statistics import RunStatistics

SAMPLES = ("NA12878", "HG002")
FIRST, LENGTH = 10_000_000, 12_000


def given_file(directory: Path, reference: Path) -> Path:
    """Write random alleles: substitutions of up to 4 bases, insertions, deletions, and others."""
    source = random.Random(1)  # noqa: S311  (data for a test)
    with pysam.FastaFile(str(reference)) as fasta:
        bases = fasta.fetch("chr20", FIRST, FIRST + LENGTH).upper()
    rows = set()
    for _ in range(300):
        at = source.randrange(200, LENGTH - 200)
        ref = bases[at : at + source.choice([1, 1, 2, 4, 25])]
        alt = source.choice([ref[0], "".join(source.choices("ACGT", k=source.choice([1, 4, 9])))])
        if ref != alt:
            rows.add((FIRST + at + 1, ref, alt))
    path = directory / "given.vcf"
    lines = [f"chr20\t{at}\t.\t{ref}\t{alt}\t.\t.\t.\n" for at, ref, alt in sorted(rows)]
    head = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    path.write_text(head + "".join(lines))
    return path


def run(
    data_dir: Path, out: Path, segment_size: int, threads: int, *, samples: int, is_genomic: bool
) -> tuple[bytes, dict[str, int]]:
    real = data_dir / "illumina_na12878"
    reference = real / "chr20.hg19.fa.gz"
    inputs = CallInputs(
        [str(real / f"{name}.chr20.dev.bam") for name in SAMPLES[:samples]],
        reference,
        RegionChoice((parse_region(f"chr20:{FIRST + 1}-{FIRST + LENGTH}"),)),
        alleles=given_file(out, reference),
    )
    genotyping = VariantOptions(
        has_non_ref=is_genomic, min_confidence=0.0 if is_genomic else 1000.0
    )
    devices, options = [CpuDevice(threads)], CallOptions(genotyping=genotyping)
    statistics = RunStatistics("call", [], [], threads)
    path = out / "called.vcf"
    with CallSession(inputs, options, devices, threads, segment_size) as session:
        write_calls(session, str(path), statistics, threads=threads, command_line="call")
    return path.read_bytes(), statistics.counts


@pytest.mark.exhaustive
@pytest.mark.parametrize(("samples", "is_genomic"), [(1, True), (2, False)])
def test_segments_and_threads(
    data_dir: Path, tmp_path: Path, samples: int, *, is_genomic: bool
) -> None:
    expected, counts = run(data_dir, tmp_path, LENGTH, 1, samples=samples, is_genomic=is_genomic)
    assert counts["given_alleles"] > 200
    assert counts["given_alleles_lost"] == 0
    for segment_size, threads in ((3100, 2), (233, 1)):
        text, own = run(
            data_dir, tmp_path, segment_size, threads, samples=samples, is_genomic=is_genomic
        )
        assert text == expected
        for name in ("given_alleles", "given_alleles_called", "given_alleles_lost"):
            assert own[name] == counts[name]
