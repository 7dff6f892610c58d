"""Genomic VCF of made reads: each position once, for any options, intervals and segments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hapgpu.calling.options import BANDS, CallOptions, GenomicOptions, VariantOptions
from hapgpu.calling.pipeline import write_calls
from hapgpu.calling.ploidies import Ploidies, PloidyRegion
from hapgpu.calling.session import CallInputs, CallSession
from hapgpu.io.genome.regions import Region, RegionChoice
from hapgpu.runtime.devices import CpuDevice
from hapgpu.runtime.statistics import RunStatistics
from tests.cli.call.made_reads import (
    Alignment,
    as_bam,
    random_bases,
    with_snps,
    write_reference,
    write_sam,
)

LENGTHS = {"a": 2600, "b": 700, "c": 1}
"""Only a and b have reads; a has a gap without reads."""
NON_REF = "<NON_REF>"
READ = 80
SNPS, DELETION = (300, 310, 1900), (600, 640)

CONTIG = st.sampled_from(sorted(LENGTHS))
BAND_LISTS = st.one_of(
    st.just(BANDS), st.lists(st.integers(1, 100), min_size=1, max_size=5, unique=True).map(sorted)
)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return reads and reference: SNPs, a heterozygous deletion, and a SNP within it."""
    directory = tmp_path_factory.mktemp("made")
    random = np.random.default_rng(11)
    contigs = {name: random_bases(random, length) for name, length in LENGTHS.items()}
    changed = with_snps(contigs["a"], [*SNPS, 620])
    start, end = DELETION
    reads = []
    for number, position in enumerate(range(200, 2400, 4)):
        if 1000 <= position < 1500:
            continue
        bases, cigar = changed[position : position + READ], f"{READ}M"
        if number % 2 and position + 20 < start < position + READ - 20:
            before = start - position
            bases = changed[position:start] + changed[end : end + READ - before]
            cigar = f"{before}M{end - start}D{READ - before}M"
        reads.append(Alignment(f"a{number}", position, cigar, bases, contig="a"))
    for number, position in enumerate(range(5, 600, 30)):
        bases = contigs["b"][position : position + READ]
        reads.append(Alignment(f"b{number}", position, f"{READ}M", bases, contig="b"))
    fasta = write_reference(directory / "reference.fa", **contigs)
    return as_bam(write_sam(directory / "reads.sam", reads, LENGTHS)), fasta


@st.composite
def regions(draw: st.DrawFn) -> Region:
    contig = draw(CONTIG)
    start = draw(st.integers(0, LENGTHS[contig] - 1))
    return Region(contig, start, draw(st.integers(start + 1, LENGTHS[contig])))


def merged(chosen: list[Region]) -> list[tuple[str, int]]:
    """Return the positions of regions, in the order of the contigs."""
    found = {(list(LENGTHS).index(r.contig), at) for r in chosen for at in range(r.start, r.end)}
    return [(list(LENGTHS)[number], at) for number, at in sorted(found)]


def check_blocks(rows: list[list[str]], expected: list[tuple[str, int]]) -> None:
    """Check that a position has a line, or the line before covers it, but never both.

    A record within REF of another one may start there, and ends what the other one covers, as in
    GATK's GVCFBlockCombiner.
    """
    lines: dict[tuple[str, int], tuple[int, bool]] = {}
    for row in rows:
        contig, start, is_block = row[0], int(row[1]) - 1, row[4] == NON_REF
        end = int(row[7].removeprefix("END=")) if is_block else start + len(row[3])
        assert not is_block or {(contig, at) for at in range(start, end)} <= set(expected)
        assert (contig, start) not in lines
        lines[contig, start] = end, is_block
    covered = ("", 0)
    for contig, at in expected:
        is_covered = contig == covered[0] and at < covered[1]
        if (contig, at) not in lines:
            assert is_covered
            continue
        end, is_block = lines.pop((contig, at))
        assert not (is_block and is_covered)
        covered = contig, end
    assert not lines


def written(
    inputs: tuple[Path, Path],
    path: Path,
    options: CallOptions,
    chosen: list[Region],
    run: tuple[int, int],
) -> str:
    """Run with so many bases per segment and threads."""
    size, threads = run
    statistics, devices = RunStatistics("call", [], [], threads), [CpuDevice(threads)]
    choice = RegionChoice(tuple(chosen))
    with CallSession(
        CallInputs([str(inputs[0])], inputs[1], choice), options, devices, threads, size
    ) as session:
        write_calls(session, str(path), statistics, threads=threads, command_line="call")
    return path.read_text()


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_every_position_once(
    inputs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """The same text for any segments and threads, too."""
    chosen = data.draw(st.lists(regions(), min_size=1, max_size=4))
    ploidy = st.integers(1, 5)
    areas = st.lists(st.builds(PloidyRegion, regions(), ploidy), max_size=3)
    ploidies = Ploidies.of(data.draw(ploidy), data.draw(areas))
    genomic = GenomicOptions(
        bands=tuple(data.draw(BAND_LISTS)),
        has_floors=data.draw(st.booleans()),
        is_per_position=data.draw(st.booleans()),
    )
    genotyping = VariantOptions(min_confidence=0.0, has_non_ref=True, ploidies=ploidies)
    options = CallOptions(genotyping=genotyping, genomic=genomic)
    path = tmp_path_factory.mktemp("out") / "out.g.vcf"
    text = written(inputs, path, options, chosen, (5000, 1))
    other = (data.draw(st.integers(150, 2000)), data.draw(st.sampled_from([1, 2])))
    assert written(inputs, path, options, chosen, other) == text
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    expected = merged(chosen)
    if genomic.is_per_position:
        assert [(row[0], int(row[1]) - 1) for row in rows] == expected
    else:
        check_blocks(rows, expected)


def test_the_reads_have_a_record_within_a_deletion(
    inputs: tuple[Path, Path], tmp_path: Path
) -> None:
    """So that the test above has overlapping records, too."""
    options = CallOptions(genotyping=VariantOptions(min_confidence=0.0, has_non_ref=True))
    whole = [Region("a", 0, LENGTHS["a"])]
    text = written(inputs, tmp_path / "out.g.vcf", options, whole, (5000, 1))
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    variants = [(int(row[1]) - 1, len(row[3])) for row in rows if row[4] != NON_REF]
    assert (DELETION[0] - 1, DELETION[1] - DELETION[0] + 1) in variants
    assert (620, 1) in variants
