"""NM and MD on the GPU against the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar import mismatches as on_cpu
from hapgpu.cigar.encoding import parse_cigar
from tests.cigar.made_alignments import ALL_BYTES, BASES, MadeAlignments, made_alignments

pytestmark = pytest.mark.gpu


def check(made: MadeAlignments, rows: Any = None) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.arrays.cuda import DeviceRagged  # noqa: PLC0415  (needs CuPy)
    from hapgpu.cigar.cuda import mismatch_tags  # noqa: PLC0415  (needs CuPy)

    bases = made.bases if rows is None else made.bases.take(rows)
    expected, texts = on_cpu.mismatch_tags(bases, *made[1:])
    distances, found = mismatch_tags(
        DeviceRagged.upload(made.bases),
        None if rows is None else cupy.asarray(rows),
        DeviceRagged.upload(made.cigars),
        cupy.asarray(made.positions),
        DeviceRagged.upload(made.references),
        cupy.asarray(made.reference_index),
    )
    assert distances.dtype == expected.dtype
    np.testing.assert_array_equal(distances.get(), expected)
    np.testing.assert_array_equal(found.download().offsets, texts.offsets)
    np.testing.assert_array_equal(found.download().data, texts.data)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    count=st.sampled_from([0, 1, 2, 33, 150]),
    unit=st.sampled_from([3, 33, 120]),
    letters=st.sampled_from([BASES, ALL_BYTES, b"A"]),
)
def test_made_alignments(seed: int, count: int, unit: int, letters: bytes) -> None:
    check(made_alignments(seed, count, unit=unit, letters=letters))


def test_queries_in_any_order() -> None:
    """One read may have several alignments; the others have none."""
    made = made_alignments(1, 50)
    check(made, np.random.default_rng(2).integers(0, 50, 50))


def test_long_numbers_and_deletions() -> None:
    cigar = np.array([1200 << 4, 5000 << 4 | 2, 700 << 4, 9 << 4 | 1, 1 << 4], dtype=np.uint32)
    read = b"A" * 1100 + b"C" + b"A" * 99 + b"A" * 700 + b"T" * 9 + b"A"
    reference = b"a" * 20_000
    made = MadeAlignments(
        Ragged.from_sequences([read, read]),
        Ragged.from_lengths(np.tile(cigar, 2), [5, 5]),
        np.array([0, 19_000], dtype=np.int32),
        Ragged.from_sequences([reference]),
        np.zeros(2, dtype=np.int32),
    )
    check(made)


def test_real_reads(data_dir: Path) -> None:
    directory = data_dir / "illumina_tiny"
    with pysam.AlignmentFile(directory / "NA12878.chr22.tiny.bam") as bam:
        reads = [read for read in bam if not read.is_unmapped]
    sequence = "".join((directory / "q.fa").read_text().splitlines()[1:])
    cigars = [parse_cigar(read.cigarstring) for read in reads]
    made = MadeAlignments(
        Ragged.from_sequences(read.query_sequence for read in reads),
        Ragged.from_lengths(np.concatenate(cigars), [cigar.size for cigar in cigars]),
        np.array([read.reference_start for read in reads], dtype=np.int32),
        Ragged.from_sequences([sequence]),
        np.zeros(len(reads), dtype=np.int32),
    )
    assert len(reads) > 3000
    check(made)
