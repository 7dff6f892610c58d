"""Reads at loci in GPU memory, from any kind of input, against the CPU."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.genotyping.batches import LocusReads
from hapgpu.genotyping.reads.aligned_reads import HOST_READING, AlignedReads
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.io.bam.decode import decode_block
from hapgpu.runtime.devices import CudaDevice, discover
from hapgpu.runtime.pool import Pool
from tests.genotyping.reads.test_aligned_reads import (
    FILTERS,
    NO_FASTA,
    START,
    Interval,
    LocusKeys,
    batch_of,
    batches_of,
    intervals_along,
    keys_by_locus,
    made_loci,
    samtools,
    write_bam,
)

pytestmark = pytest.mark.gpu

Found = tuple[list[LocusKeys], Mapping[str, int]]


def on_cpu(
    paths: Sequence[Path | str], batches: Sequence[LocusBatch], reference: Path = NO_FASTA
) -> Found:
    """Return the reads at each locus, and the counts of reads."""
    names = [str(path) for path in paths]
    with AlignedReads(
        names, HOST_READING, threads=1, reference=reference, filters=FILTERS
    ) as reads:
        found = [reads_ for group in reads.at(iter(batches)) for reads_ in group]
        return [keys for each in found for keys in keys_by_locus(each)], dict(reads.counts)


def on_gpu(
    paths: Sequence[Path | str],
    batches: Sequence[LocusBatch],
    reference: Path = NO_FASTA,
    gpu: CudaDevice | None = None,
) -> Found:
    """Return the same from GPU memory."""
    pytest.importorskip("cupy")
    from hapgpu.genotyping.reads.cuda.aligned_reads import (  # noqa: PLC0415  (needs CuPy)
        device_reading,
    )
    from hapgpu.runtime.gpu.context import active_on  # noqa: PLC0415  (as above)

    device = gpu or CudaDevice(discover().gpus[0].index)
    names = [str(path) for path in paths]
    with (
        active_on(device),
        AlignedReads(
            names, device_reading([device]), threads=2, reference=reference, filters=FILTERS
        ) as reads,
    ):
        found = [reads_ for group in reads.at(iter(batches)) for reads_ in group]
        return [keys for each in found for keys in keys_by_locus(_on_host(each))], dict(
            reads.counts
        )


def _on_host(found: object) -> LocusReads:
    from hapgpu.genotyping.reads.cuda.aligned_reads import (  # noqa: PLC0415  (needs CuPy)
        DeviceLocusReads,
        HostLocusReads,
    )

    if isinstance(found, DeviceLocusReads):
        found = found.download()
    assert isinstance(found, HostLocusReads)
    with Pool(1) as pool:
        reads = decode_block(found.records, pool)
    return LocusReads(found.batch, reads, found.samples, found.files)


@pytest.fixture(scope="module")
def real(data_dir: Path) -> tuple[Path, Path, Path]:
    """Return two BAM files and their reference."""
    directory = data_dir / "illumina_na12878"
    return (
        directory / "NA12878.chr20.dev.bam",
        directory / "HG002.chr20.dev.bam",
        directory / "chr20.hg19.fa.gz",
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return reads of three contigs and two samples, as BAM with an index and as SAM."""
    random = np.random.default_rng(1)
    positions = np.column_stack([random.integers(0, 3, 1500), random.integers(0, 4000, 1500)])
    positions = positions[np.lexsort(positions.T[::-1])]
    path = tmp_path_factory.mktemp("made") / "made.bam"
    write_bam(path, [(int(c), int(p), int(p) * 7 + k) for k, (c, p) in enumerate(positions)])
    pysam.index(str(path))
    sam = path.with_suffix(".sam")
    pysam.view("-h", "-o", str(sam), str(path), catch_stdout=False)
    return path, sam


@pytest.mark.parametrize("size", [7, 1000])
@pytest.mark.parametrize("files", [1, 2])
def test_indexed_files(real: tuple[Path, Path, Path], size: int, files: int) -> None:
    batches = batches_of("chr20", intervals_along(START - 500, START + 20_000, 350), size)
    expected = on_cpu(real[:files], batches)
    assert expected[1]["reads"] > 5000
    assert on_gpu(real[:files], batches) == expected


@pytest.mark.parametrize("kind", ["cram", "sam", "-"])
def test_other_inputs(
    real: tuple[Path, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    na12878, hg002, fasta = real
    batches = batches_of("chr20", intervals_along(START, START + 15_000, 777), 7)
    expected, _ = on_cpu([hg002, na12878], batches)
    other: Path | str = tmp_path / f"other.{kind}"
    if kind == "-":
        other = kind
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(na12878.read_bytes())))
    else:
        samtools("view", "-h", "-T", fasta, "-o", other, na12878)
    if kind == "cram":
        samtools("index", other)
    assert on_gpu([hg002, other], batches, fasta)[0] == expected


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=made_loci(), second=made_loci(), size=st.integers(1, 6), file=st.integers(0, 1))
def test_random_loci(
    made: tuple[Path, Path],
    first: list[Interval],
    second: list[Interval],
    size: int,
    file: int,
) -> None:
    batches = batches_of("one", first, size) + batches_of("three", second, size)
    expected, counts = on_cpu([made[0]], batches)
    found, found_counts = on_gpu([made[file]], batches)
    assert found == expected
    assert file == 1 or found_counts == counts


def test_deep_loci_in_little_memory(tmp_path: Path) -> None:
    """Loci are yielded in slices, from many pieces."""
    path = tmp_path / "deep.bam"
    amplicons = range(200, 4200, 200)
    write_bam(path, [(1, at, 0) for at in amplicons for _ in range(700)])
    pysam.index(str(path))
    intervals = [(at + shift, at + shift + 1) for at in amplicons for shift in (3, 20)]
    batches = batches_of("two", intervals, 40)
    gpu = CudaDevice(discover().gpus[0].index, memory_limit=1 << 20)
    assert on_gpu([path], batches, gpu=gpu) == on_cpu([path], batches)


def messages_of(paths: Sequence[Path], batches: Sequence[LocusBatch]) -> Iterator[str]:
    """Yield the error on each device."""
    for read in (on_cpu, on_gpu):
        with pytest.raises(InputError) as raised:
            read(paths, batches)
        yield str(raised.value)


def test_unsorted_reads(tmp_path: Path) -> None:
    path = tmp_path / "unsorted.sam"
    reads = "".join(f"r{k}\t0\tone\t{p}\t60\t2M\t*\t0\t0\tAC\t*\n" for k, p in enumerate((50, 40)))
    path.write_text(f"@SQ\tSN:one\tLN:100\n{reads}")
    expected, found = messages_of([path], [batch_of("one", [(45, 46)])])
    assert found == expected
    assert "read 'r1' at one:40 comes after a read at one:50" in found


@pytest.mark.parametrize("tag", ["", "\tRG:Z:other", "\tRG:i:7", "\tRG:Z:nameless"])
def test_reads_without_a_sample(tmp_path: Path, tag: str) -> None:
    path = tmp_path / "groups.sam"
    groups = "@RG\tID:a\tSM:A\n@RG\tID:b\tSM:B\n@RG\tID:nameless\n"
    rows = (f"r{k}\t0\tone\t30\t60\t2M\t*\t0\t0\tAC\t*" for k in range(3))
    tags = ("\tNM:i:0\tRG:Z:b", tag, "\tRG:Z:other")
    reads = "".join(f"{row}{fields}\n" for row, fields in zip(rows, tags, strict=True))
    path.write_text(f"@SQ\tSN:one\tLN:100\n{groups}{reads}")
    expected, found = messages_of([path], [batch_of("one", [(25, 46)])])
    assert found == expected
    assert "'r1'" in found


def test_contigs_of_a_stream_come_in_order(made: tuple[Path, Path]) -> None:
    batches = [batch_of("two", [(100, 101)]), batch_of("one", [(100, 101)])]
    expected, found = messages_of([made[1]], batches)
    assert found == expected
    assert len(on_gpu([made[0]], batches)[0]) == 2


def test_damaged_bam(made: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "damaged.bam"
    data = bytearray(made[0].read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    path.with_name("damaged.bam.bai").write_bytes(Path(f"{made[0]}.bai").read_bytes())
    intervals = intervals_along(0, 4900, 50)
    batches = [batch_of(contig, intervals) for contig in ("one", "two", "three")]
    expected, found = messages_of([path], batches)
    assert found == expected


def test_reads_without_alignments(tmp_path: Path) -> None:
    path = tmp_path / "reads.fq"
    path.write_text("@r\nACGT\n+\nIIII\n")
    expected, found = messages_of([path], [])
    assert found == expected
