"""Assembly by the kernel, run on the CPU, against the CPU's own: strings, bits of scores, flags."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.assembly.assembler import assembled_haplotypes, assembled_paths
from hapgpu.calling.assembly.coded_regions import CodedRegions, coded_regions
from hapgpu.calling.assembly.gpu_assembly import GpuAssembly
from hapgpu.calling.assembly.haplotypes import LEFT, UNROLLED, AssembledPaths
from hapgpu.calling.options import AssemblyOptions, VariantOptions
from hapgpu.calling.reads.finalized import finalized_reads
from hapgpu.calling.regions.active_regions import active_regions
from hapgpu.runtime.devices import CpuDevice
from tests.calling.assembly.kmer_graphs.made_graphs import reads_of
from tests.calling.assembly.plain_assembly import Region
from tests.calling.assembly.test_assembler import (
    columns_of,
    made_long_regions,
    made_regions,
    random_bases,
)
from tests.calling.segments import segment_reads
from tests.emulation.emulator import emulate
from tests.example_counts import many

DEVICE = SimpleNamespace(index=0, memory_budget=lambda: 1 << 30)


class HostArray(np.ndarray[Any, Any]):
    """Array of NumPy with the method of CuPy that copies to the host."""

    def get(self) -> NDArray[Any]:
        return np.asarray(self)


class HostArrays(ModuleType):
    """Functions of CuPy that make arrays."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: getattr(np, name)(*args, **kwargs).view(HostArray)


@pytest.fixture(scope="module")
def cuda() -> Iterator[Any]:
    """Return the module that launches the kernel, which runs on the CPU."""
    pytest.importorskip("cupy")
    from hapgpu.calling.assembly import cuda  # noqa: PLC0415  (imports CuPy)

    with pytest.MonkeyPatch.context() as patch:
        emulate(patch, cuda)
        patch.setattr(cuda, "cupy", HostArrays("cupy"))
        patch.setattr(cuda, "active_on", lambda _device: nullcontext())
        patch.setattr(cuda, "uploaded", np.ascontiguousarray)
        patch.setattr(cuda, "wait_asleep", lambda: None)
        patch.setattr(cuda, "release_memory", lambda: None)
        patch.setattr(cuda, "multiprocessors", lambda _index: 1)
        turns = SimpleNamespace(compute=lambda function: function())
        patch.setattr(cuda, "memory_turns", lambda _device: turns)
        yield cuda


def check(
    cuda: Any, columns: tuple[Any, ...], options: AssemblyOptions, device: Any = DEVICE
) -> AssembledPaths:
    """Compare all regions except those that are left to the CPU; return what the kernel found."""
    expected = assembled_paths(*columns, options)
    found: AssembledPaths = cuda.assembled_paths(
        coded_regions(*columns, options.min_base_quality), options, device
    )
    is_done = found.outcomes & LEFT == 0
    rows = np.flatnonzero(is_done[expected.regions])
    np.testing.assert_array_equal(found.regions, expected.regions[rows])
    assert found.bases.to_list() == expected.bases.take(rows).to_list()
    np.testing.assert_array_equal(found.scores, expected.scores[rows])
    np.testing.assert_array_equal(found.outcomes[is_done], expected.outcomes[is_done])
    return found


@given(
    st.lists(made_regions(), min_size=1, max_size=4), st.sampled_from([(3, 5), (4,), (6,), (2, 3)])
)
@settings(max_examples=many(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_regions_of_few_letters(
    cuda: Any, regions: list[Region], kmer_sizes: tuple[int, ...]
) -> None:
    for is_strict in (False, True):
        check(
            cuda, columns_of(regions), AssemblyOptions(kmer_sizes=kmer_sizes, is_strict=is_strict)
        )


@given(
    st.lists(made_long_regions(), min_size=1, max_size=3),
    st.sampled_from([(5, 8), (6,), (8,), (7, 9)]),
    st.sampled_from([1, 2, 3, 4, 8, 128]),
    st.booleans(),
)
@settings(max_examples=many(300))
def test_cycles_and_few_kept_paths(
    cuda: Any,
    regions: list[Region],
    kmer_sizes: tuple[int, ...],
    max_haplotypes: int,
    is_strict: bool,
) -> None:
    options = AssemblyOptions(
        kmer_sizes=kmer_sizes, max_haplotypes=max_haplotypes, is_strict=is_strict
    )
    check(cuda, columns_of(regions), options)


def test_what_is_left_to_the_cpu(cuda: Any) -> None:
    """A region whose largest k has a cycle, and one with too many bases; not the one between."""
    rng = np.random.default_rng(3)
    reference = random_bases(200, rng)
    duplicated = reference[:120] + reference[60:]
    parts = [duplicated[at : at + 50] for at in range(0, 210, 5)]
    regions = [
        Region(reference, reads_of(*parts * 2)),
        Region(reference, reads_of(*[reference[:90] + reference[95:]] * 5)),
        Region(reference, reads_of(*[reference] * ((1 << 18) // 200 + 1))),
    ]
    found = check(cuda, columns_of(regions), AssemblyOptions())
    assert (found.outcomes & LEFT != 0).tolist() == [True, False, True]


def test_long_branches_are_left_to_the_cpu(cuda: Any) -> None:
    """Steps of the alignment of a branch have 16 bits, and its matrix must fit the memory."""
    rng = np.random.default_rng(5)
    reference = random_bases(400, rng)
    inserted = reference[:370] + random_bases(40_000, rng) + reference[370:390]
    tails = [reference[:200] + random_bases(40_000, rng) for _ in range(2)]
    regions = [
        Region(reference, reads_of(*[inserted] * 2)),
        Region(reference, reads_of(*tails * 2)),
    ]
    found = check(cuda, columns_of(regions), AssemblyOptions(kmer_sizes=(25,)))
    assert (found.outcomes & LEFT != 0).all()


def test_no_memory_leaves_regions_to_the_cpu(cuda: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are halved down to one region; one of the regions does not fit even alone."""
    rng = np.random.default_rng(6)
    reference = random_bases(200, rng)
    sizes = (5, 5, 30, 5, 5)
    regions = [Region(reference, reads_of(*[reference[:90] + reference[95:]] * n)) for n in sizes]
    allocated = cuda._memory_for

    def memory_for(text: int, count: int, device: Any) -> Any:
        if count > 2 or text > 1 << 14:
            raise MemoryError
        return allocated(text, count, device)

    monkeypatch.setattr(cuda, "_memory_for", memory_for)
    monkeypatch.setattr(cuda, "_TEXTS", (1 << 12, 1 << 16))
    found = check(cuda, columns_of(regions), AssemblyOptions())
    assert (found.outcomes & LEFT != 0).tolist() == [False, False, True, False, False]


def test_regions_of_each_launch(cuda: Any) -> None:
    """The memory of a warp depends on the bases of its region."""
    rng = np.random.default_rng(4)
    reference = random_bases(300, rng)
    other = reference[:150] + "ACGT" + reference[150:]
    regions = [
        Region(reference, reads_of(*[other, reference] * count)) for count in (200, 5, 60, 10)
    ]
    found = check(cuda, columns_of(regions), AssemblyOptions())
    assert not found.outcomes.any()
    assert found.regions.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("sample", ["NA12878", "HG002"])
def test_real_regions(cuda: Any, sample: str, data_dir: Path) -> None:
    """The stages after the assembly get the same haplotypes; no region is left to the CPU."""
    bam = data_dir / "illumina_na12878" / f"{sample}.chr20.dev.bam"
    segment = segment_reads(bam, "chr20", 10_000_000, 10_010_000)
    active = active_regions(segment, 1, VariantOptions())
    assert active is not None
    options = AssemblyOptions()
    reads = finalized_reads(segment, active, options)
    no_junction = np.zeros(len(active), dtype=np.bool_)
    assembly = GpuAssembly(
        lambda regions: cuda.assembled_paths(regions, options, DEVICE), options, CpuDevice()
    )
    found, flags = assembly(reads, segment, active, no_junction)
    expected, expected_flags = assembled_haplotypes(reads, segment, active, options, CpuDevice())
    np.testing.assert_array_equal(flags, expected_flags)
    assert len(found) > len(active)
    for name in ("offsets", "is_reference", "scores"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.bases.to_list() == expected.bases.to_list()
    assert found.cigars.to_list() == expected.cigars.to_list()


def test_the_cpu_completes_what_is_left(data_dir: Path) -> None:
    bam = data_dir / "illumina_na12878" / "HG002.chr20.dev.bam"
    segment = segment_reads(bam, "chr20", 10_000_000, 10_005_000)
    options = AssemblyOptions()
    active = active_regions(segment, 1, VariantOptions())
    assert active is not None
    reads = finalized_reads(segment, active, options)
    no_junction = np.zeros(len(active), dtype=np.bool_)
    is_left = np.arange(len(active)) % 3 == 0

    def paths_of(_regions: CodedRegions) -> AssembledPaths:
        """Return the paths of the CPU, without those of each third region."""
        starts = active.padded_starts - segment.reference.start
        lengths = active.padded_ends - active.padded_starts
        references = Ragged.gather(segment.reference.bases, starts, lengths)
        paths = assembled_paths(reads.bases(segment.reads), reads, references, options)
        kept = np.flatnonzero(~is_left[paths.regions])
        return AssembledPaths(
            paths.regions[kept],
            paths.bases.take(kept),
            paths.scores[kept],
            np.where(is_left, np.uint8(LEFT), paths.outcomes),
        )

    found, flags = GpuAssembly(paths_of, options, CpuDevice())(reads, segment, active, no_junction)
    expected, expected_flags = assembled_haplotypes(reads, segment, active, options, CpuDevice())
    assert (flags & LEFT != 0).tolist() == is_left.tolist()
    np.testing.assert_array_equal(flags & ~np.uint8(LEFT), expected_flags)
    assert found.bases.to_list() == expected.bases.to_list()
    assert found.cigars.to_list() == expected.cigars.to_list()
    np.testing.assert_array_equal(found.scores, expected.scores)


@given(st.lists(st.lists(st.text("ACGT", min_size=1), max_size=3), min_size=1, max_size=6))
def test_paths_are_divided_and_concatenated(strings: list[list[str]]) -> None:
    paths = AssembledPaths(
        np.repeat(np.arange(len(strings)), [len(texts) for texts in strings]),
        Ragged.from_sequences([text for texts in strings for text in texts]),
        np.arange(float(sum(map(len, strings)))),
        np.arange(len(strings), dtype=np.uint8) * UNROLLED,
    )
    parts = paths.divided([1] * len(strings))
    assert [part.bases.to_list() for part in parts] == [
        [list(text.encode()) for text in texts] for texts in strings
    ]
    joined = AssembledPaths.concatenate(parts)
    assert joined.regions.tolist() == paths.regions.tolist()
    assert joined.bases.to_list() == paths.bases.to_list()
    assert joined.scores.tolist() == paths.scores.tolist()
    assert joined.outcomes.tolist() == paths.outcomes.tolist()
