"""Projection onto the reference on the GPU against the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.realign.projection import project as on_cpu
from hapgpu.realign.projection.project import PlacedHaplotypes
from tests.cigar.made_alignments import made_cigars
from tests.realign import gatk_projection as gatk
from tests.realign.projection.gatk_cases import LEFT_ALIGN
from tests.realign.projection.test_project import any_projection, batch_of, ragged_cigars

pytestmark = pytest.mark.gpu


def check(
    reads: Ragged,
    alignments: AlignmentBatch,
    haplotype_index: NDArray[np.int32],
    placed: PlacedHaplotypes,
    clips: tuple[NDArray[np.int32], NDArray[np.int32]],
    queries: NDArray[np.int64] | None = None,
) -> int:
    """Compare with and without clipped ends; return the number of projected rows."""
    cupy = pytest.importorskip("cupy")
    from hapgpu.arrays.cuda import DeviceRagged  # noqa: PLC0415  (needs CuPy)
    from hapgpu.realign.align.cuda.batches import DeviceAlignments  # noqa: PLC0415  (as above)
    from hapgpu.realign.projection import cuda as on_gpu  # noqa: PLC0415  (as above)

    done = 0
    for clip_ends in (False, True):
        expected = on_cpu.project_alignments(
            reads if queries is None else reads.take(queries),
            alignments,
            haplotype_index,
            placed,
            *clips,
            clip_ends=clip_ends,
        )
        found = on_gpu.project_alignments(
            DeviceRagged.upload(reads),
            DeviceAlignments.upload(alignments),
            cupy.asarray(haplotype_index),
            PlacedHaplotypes(
                DeviceRagged.upload(placed.cigars),
                cupy.asarray(placed.starts),
                cupy.asarray(placed.reference_index),
                DeviceRagged.upload(placed.references),
                cupy.asarray(placed.reference_starts),
            ),
            (cupy.asarray(clips[0]), cupy.asarray(clips[1])),
            queries=None if queries is None else cupy.asarray(queries),
            clip_ends=clip_ends,
        )
        columns: list[tuple[Any, NDArray[Any]]] = [
            (found.positions, expected.positions),
            (found.ok, expected.ok),
            (found.cigars.offsets, expected.cigars.offsets),
            (found.cigars.data, expected.cigars.data),
        ]
        for of_gpu, of_cpu in columns:
            assert of_gpu.dtype == of_cpu.dtype
            np.testing.assert_array_equal(of_gpu.get(), of_cpu)
        done += int(expected.ok.sum())
    return done


def check_cases(cases: list[tuple[str, gatk.Cigar, int, gatk.Cigar, str]]) -> int:
    rows = np.arange(len(cases), dtype=np.int32)
    placed = PlacedHaplotypes(
        cigars=ragged_cigars([case[3] for case in cases]),
        starts=np.full(rows.size, 100),
        reference_index=rows,
        references=Ragged.from_sequences(case[4] for case in cases),
        reference_starts=np.full(rows.size, 900),
    )
    return check(
        Ragged.from_sequences(case[0] for case in cases),
        batch_of([(offset, cigar) for _, cigar, offset, _, _ in cases]),
        rows,
        placed,
        (rows % 3, rows % 2 * 5),
    )


@settings(max_examples=100)
@given(st.lists(any_projection(), min_size=1, max_size=8))
def test_projection_of_anything(
    cases: list[tuple[str, gatk.Cigar, int, gatk.Cigar, str]],
) -> None:
    check_cases(cases)


def test_left_alignment_cases_of_gatk() -> None:
    before = "GTTGACTCAG"
    cases = [
        (
            read,
            gatk.parse(cigar),
            start,
            [(start + len(reference), "M")],
            before[:start] + reference,
        )
        for reference, read, cigar, _ in LEFT_ALIGN
        for start in (0, len(before))
    ]
    assert check_cases(cases) > len(cases)


def repetitive(rng: np.random.Generator, size: int) -> bytes:
    """Make a sequence of repeats, where indels have many equivalent positions."""
    units = [rng.choice(list(b"AC"), rng.integers(1, 4)).astype(np.uint8) for _ in range(size)]
    return b"".join(unit.tobytes() * int(rng.integers(1, 6)) for unit in units)


def edited(rng: np.random.Generator, bases: bytes, edits: int) -> tuple[bytes, list[int]]:
    """Change a sequence; return it and its CIGAR, whose elements are in order, to the sequence."""
    starts = np.sort(rng.choice(len(bases), min(edits, len(bases)), replace=False)).tolist()
    changed, elements, at = b"", [], 0
    for start in starts:
        if start < at:
            continue
        changed += bases[at:start]
        elements.append((start - at) << 4)
        kind, length = int(rng.integers(3)), int(rng.integers(1, 5))
        if kind == 0:
            changed += b"G"
            elements.append(1 << 4)
            at = start + 1
        elif kind == 1:
            changed += rng.choice(list(b"AC"), length).astype(np.uint8).tobytes()
            elements.append(length << 4 | 1)
            at = start
        else:
            elements.append(min(length, len(bases) - start) << 4 | 2)
            at = min(start + length, len(bases))
    elements.append((len(bases) - at) << 4)
    return changed + bases[at:], elements


def ragged_elements(rows: list[list[int]]) -> Ragged:
    flat = [element for row in rows for element in row]
    return Ragged.from_lengths(np.array(flat, dtype=np.uint32), [len(row) for row in rows])


def check_made(seed: int, count: int, edits: int) -> int:
    """Check reads that are edited parts of edited references."""
    rng = np.random.default_rng(seed)
    references = [repetitive(rng, 20) for _ in range(4)]
    haplotypes = [edited(rng, references[k % 4], int(rng.integers(0, 6))) for k in range(8)]
    index = rng.integers(0, 8, count).astype(np.int32)
    reads, cigars, starts = [], [], []
    for row in index:
        bases = haplotypes[row][0]
        start = int(rng.integers(0, len(bases)))
        part = bases[start : start + int(rng.integers(1, 80))]
        read, elements = edited(rng, part, int(rng.integers(0, edits + 1)))
        reads.append(read)
        cigars.append([element for element in elements if element >> 4])
        starts.append(start)
    offsets = np.array(starts, dtype=np.int32)
    placed = PlacedHaplotypes(
        ragged_elements([haplotype[1] for haplotype in haplotypes]),
        np.zeros(8, dtype=np.int64),
        np.arange(8, dtype=np.int32) % 4,
        Ragged.from_sequences(references),
        rng.integers(0, 1 << 40, 4),
    )
    # The rows of the reads are shuffled, so that each alignment has to look up its own.
    order = rng.permutation(count)
    queries = np.empty(count, dtype=np.int64)
    queries[order] = np.arange(count)
    shuffled = Ragged.from_sequences(reads[k] for k in order)
    clips = (rng.integers(0, 3, count).astype(np.int32), rng.integers(0, 3, count).astype(np.int32))
    alignments = AlignmentBatch(np.zeros_like(offsets), offsets, ragged_elements(cigars))
    return check(shuffled, alignments, index, placed, clips, queries)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), count=st.sampled_from([0, 1, 33, 300]))
def test_reads_of_haplotypes(seed: int, count: int) -> None:
    check_made(seed, count, 4)


def test_most_reads_of_haplotypes_are_projected() -> None:
    assert check_made(1, 500, 3) > 900


@pytest.mark.parametrize("scratch", [1, 100_000])
def test_long_cigars_and_little_memory(monkeypatch: pytest.MonkeyPatch, scratch: int) -> None:
    """Long CIGARs are projected apart; with one thread or a few, each projects many."""
    pytest.importorskip("cupy")
    from hapgpu.realign.projection import cuda as on_gpu  # noqa: PLC0415  (needs CuPy)

    monkeypatch.setattr(on_gpu, "_READ_ELEMENTS", 3)
    monkeypatch.setattr(on_gpu, "_HAPLOTYPE_ELEMENTS", 5)
    monkeypatch.setattr(on_gpu, "_SCRATCH_BYTES", scratch)
    assert check_made(2, 150, 20) > 200


def test_elements_too_long_for_bam() -> None:
    """Merged elements may be longer than BAM holds: then there is no projection."""
    longest = (1 << 28) - 1
    cases: list[tuple[str, gatk.Cigar, int, gatk.Cigar, str]] = [
        ("ACGT", [(4, "M")], 0, [(2, "M"), (longest, "D"), (2, "D"), (4, "M")], "ACGT"),
        ("ACGT", [(4, "M")], 0, [(2, "M"), (longest, "D"), (4, "M")], "ACGT"),
        ("ACGT", [(4, "M")], 1, [(longest, "M"), (4, "M")], "ACGT"),
    ]
    check_cases(cases)


def test_any_cigars_of_haplotypes() -> None:
    rng = np.random.default_rng(3)
    count = 300
    cigars = made_cigars(rng, count, 6, 4)
    reads = [b"ACCA"[: rng.integers(1, 5)] * 9 for _ in range(count)]
    cut = [read[: int(rng.integers(1, len(read) + 1))] for read in reads]
    own = ragged_elements([[len(read) << 4] for read in cut])
    offsets = rng.integers(0, 4, count).astype(np.int32)
    rows = np.arange(count, dtype=np.int32)
    placed = PlacedHaplotypes(
        cigars,
        np.zeros(count, dtype=np.int64),
        rows,
        Ragged.from_sequences([b"ACCA" * 9] * count),
        np.zeros(count, dtype=np.int64),
    )
    alignments = AlignmentBatch(np.zeros_like(offsets), offsets, own)
    check(Ragged.from_sequences(cut), alignments, rows, placed, (rows % 2, rows % 3))
