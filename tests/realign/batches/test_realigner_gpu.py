"""Realignment of records in GPU memory, against the realignment of batches on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.genome.regions import Region
from hapgpu.realign import cpu
from hapgpu.realign.options import BestBy
from hapgpu.realign.realigner import RealignOptions, RealignTask
from hapgpu.realign.records.build import NewAlignments
from hapgpu.realign.scoring import PRESETS, Scoring
from hapgpu.runtime.devices import CpuDevice, CudaDevice
from hapgpu.runtime.pool import Pool
from tests.io.bam.encoded_blocks import encode_block
from tests.realign.batches.made_reads import HEADER, MadeReads, made_reads

pytestmark = pytest.mark.gpu

OPTIONS = RealignOptions(
    scoring=PRESETS["read-to-haplotype"],
    best_by=BestBy.SCORE,
    min_score=0.5,
    always=False,
    write_all=False,
    require_flags=0,
    exclude_flags=0,
)


def options(**changes: Any) -> RealignOptions:
    return RealignOptions(
        **{field.name: getattr(OPTIONS, field.name) for field in fields(OPTIONS)} | changes
    )


def expected(
    haplotypes: HaplotypeSet, header: SamHeader, reads: ReadBatch, chosen: RealignOptions
) -> tuple[list[str], NewAlignments[Ragged], Mapping[str, int]]:
    """Return the names and new alignments of the records that the CPU writes, and its counts."""

    def records(originals: ReadBatch, bases: Ragged, qualities: Ragged, *rest: Any) -> Any:
        new, _, _ = rest
        np.testing.assert_array_equal(bases.lengths, qualities.lengths)
        names = [name.tobytes().decode() for name in originals.names]
        return names, new

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "realigned_records", records)
        task = RealignTask(haplotypes, None, header, chosen, "x.bam")
        done = cpu.open_realigner(task, CpuDevice(1))(reads)
    ((names, new),) = cast(Any, done.content.records)
    return names, new, done.counts


def realigned(
    haplotypes: HaplotypeSet,
    header: SamHeader,
    reads: ReadBatch,
    chosen: RealignOptions,
    memory: int | None = None,
) -> tuple[list[str], dict[str, list[Any]], Mapping[str, int]]:
    """Return as `expected` what the GPU computes, with pieces of an eighth of `memory` bytes.

    The new alignments are the columns of all pieces, in host memory.
    """
    cupy = pytest.importorskip("cupy")
    from hapgpu.io.bam.cuda.device_records import DeviceRecords, download_reads  # noqa: PLC0415  (needs CuPy)
    from hapgpu.realign import cuda  # noqa: PLC0415  (needs CuPy)

    names: list[str] = []
    columns: dict[str, list[Any]] = {field.name: [] for field in fields(NewAlignments)}

    def records(originals: Any, new: Any, *_rest: Any) -> Any:
        batch = download_reads(originals.take(new.rows))
        names.extend(name.tobytes().decode() for name in batch.names)
        for name, values in columns.items():
            column = getattr(new, name)
            values.append(column.get() if hasattr(column, "get") else column.download())
        return cupy.empty(0, dtype=np.uint8), None

    with Pool(1) as pool:
        block = encode_block(reads, header, pool)
    device = CudaDevice(0, memory_limit=memory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda, "finished_records", records)
        task = RealignTask(haplotypes, None, header, chosen, "x.bam")
        done = cuda.open_realigner(task, device)(DeviceRecords.upload(block))
    return names, columns, done.counts


def check(
    haplotypes: HaplotypeSet,
    header: SamHeader,
    reads: ReadBatch,
    chosen: RealignOptions,
    memory: int | None = None,
) -> None:
    names, new, counts = expected(haplotypes, header, reads, chosen)
    found_names, columns, found_counts = realigned(haplotypes, header, reads, chosen, memory)
    assert found_counts == counts
    assert found_names == names
    assert columns.pop("rows")[0].dtype == np.int64  # the rows of a piece
    for name, parts in columns.items():
        other = getattr(new, name)
        if isinstance(other, Ragged):
            column = Ragged.concatenate(parts)
            assert column.data.dtype == other.data.dtype, name
            np.testing.assert_array_equal(column.offsets, other.offsets, name)
            np.testing.assert_array_equal(column.data, other.data, name)
        else:
            values = np.concatenate(parts)
            assert values.dtype == other.dtype, name
            np.testing.assert_array_equal(values, other, name)


def check_made(made: MadeReads, chosen: RealignOptions, memory: int | None = None) -> None:
    check(made.haplotypes, HEADER, made.reads, chosen, memory)


KINDS = st.fixed_dictionaries(
    {
        "per_locus": st.sampled_from([1, 4]),
        "is_in_order": st.booleans(),
        "with_loci": st.booleans(),
    }
)
CHANGES = st.fixed_dictionaries(
    {
        "write_all": st.booleans(),
        "min_score": st.sampled_from([0.0, 0.5, 0.9]),
        "require_flags": st.sampled_from([0, 16]),
        "exclude_flags": st.sampled_from([0, 0x704]),
    }
)


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from([0, 1, 2, 40, 150]), KINDS, CHANGES)
def test_made_reads(seed: int, count: int, kinds: Any, changes: Any) -> None:
    check_made(made_reads(seed, count, **kinds), options(**changes))


@pytest.mark.parametrize("write_all", [False, True])
def test_pieces_of_any_size(write_all: bool) -> None:
    made = made_reads(3, 200)
    for memory in (8 * 1000, 8 * 30_000):
        check_made(made, options(write_all=write_all), memory)


def test_pieces_that_do_not_fit_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    from hapgpu.realign import cuda  # noqa: PLC0415  (needs CuPy)

    device_queries = cuda.device_queries

    def tight(records: Any) -> Any:
        if len(records) > 30:
            raise MemoryError
        return device_queries(records)

    monkeypatch.setattr(cuda._DeviceRealignStages, "queries", staticmethod(tight))
    check_made(made_reads(7, 200), OPTIONS)


def test_weights_with_which_exact_matches_are_not_best() -> None:
    check_made(made_reads(4, 60), options(scoring=Scoring(1, -2, 1, -3)))


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32), write_all=st.booleans(), with_loci=st.booleans())
def test_choice_by_likelihood(seed: int, write_all: bool, with_loci: bool) -> None:
    made = made_reads(seed, 60, with_loci=with_loci)
    check_made(made, options(best_by=BestBy.LIKELIHOOD, write_all=write_all))


def with_indel_qualities(reads: ReadBatch, seed: int, offset: int = 0) -> ReadBatch:
    """Replace tags by BI, BD, both or none; their texts are longer by `offset` than the reads."""
    rng = np.random.default_rng(seed)
    rows = []
    for length in reads.bases.lengths.tolist():
        texts = rng.integers(33, 90, (2, length + offset), dtype=np.uint8)
        fields = [b"BIZ" + texts[0].tobytes() + b"\0", b"BDZ" + texts[1].tobytes() + b"\0"]
        rows.append(b"".join(field for field in fields if rng.random() < 0.6))
    return replace(reads, tags=Ragged.from_sequences(rows))


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32))
def test_choice_by_likelihood_with_indel_qualities(seed: int) -> None:
    made = made_reads(seed, 60)
    reads = with_indel_qualities(made.reads, seed)
    check(made.haplotypes, HEADER, reads, options(best_by=BestBy.LIKELIHOOD))


def test_choice_by_likelihood_of_lower_case_haplotypes() -> None:
    made = made_reads(7, 100)
    texts = [text.tobytes().lower() for text in made.haplotypes.sequences]
    haplotypes = replace(made.haplotypes, sequences=Ragged.from_sequences(texts))
    check(haplotypes, HEADER, made.reads, options(best_by=BestBy.LIKELIHOOD))


def test_indel_qualities_that_do_not_fit() -> None:
    made = made_reads(8, 60)
    reads = with_indel_qualities(made.reads, 8, offset=1)
    same_error(made.haplotypes, reads)


def same_error(haplotypes: HaplotypeSet, reads: ReadBatch) -> None:
    """Check that CPU and GPU refuse reads with the same line."""
    arguments = (haplotypes, HEADER, reads, options(best_by=BestBy.LIKELIHOOD))
    with pytest.raises(InputError) as on_cpu:
        expected(*arguments)
    with pytest.raises(InputError) as on_gpu:
        realigned(*arguments)
    assert str(on_gpu.value) == str(on_cpu.value)


def test_choice_by_likelihood_needs_qualities() -> None:
    made = made_reads(5, 30, has_qualities=False)
    same_error(made.haplotypes, made.reads)


def test_real_reads(data_dir: Path) -> None:
    """Haplotypes with made differences, at loci along the real reads."""
    directory = data_dir / "illumina_tiny"
    sequence = "".join((directory / "q.fa").read_text().splitlines()[1:]).encode()
    rng = np.random.default_rng(6)
    sequences, regions, index = [], [], []
    with open_reads(directory / "NA12878.chr22.tiny.bam", threads=1) as source:
        header, batches = source.header, list(source.batches())
        (contig,) = header.reference_names
        for locus, start in enumerate(range(0, len(sequence) - 400, 350)):
            regions.append(Region(contig, start, start + 400))
            for _ in range(int(rng.integers(1, 4))):
                at = int(rng.integers(0, 390))
                bases = sequence[start : start + at] + b"ACG" + sequence[start + at + 5 :]
                sequences.append(bases[:400])
                index.append(locus)
    haplotypes = HaplotypeSet(
        tuple(f"h{k}" for k in range(len(sequences))),
        Ragged.from_sequences(sequences),
        tuple(regions),
        np.array(index, dtype=np.int32),
    )
    reads = ReadBatch.concatenate(batches).take(np.arange(0, len(batches[0]), 8))
    check(haplotypes, header, reads, OPTIONS)
