"""Minimizers of the reference implementation, encoded as in the compiled stage."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hapgpu.arrays.ragged import Ragged
from hapgpu.longread.index import sketch as sketch_cpu
from hapgpu.longread.options import SketchOptions
from tests.longread.sketch import reference


class Minimizer(NamedTuple):
    """`hash << 8 | span` and `position << 1 | strand`."""

    key: int
    position: int


def minimizers_of(sequence: str, options: SketchOptions) -> list[Minimizer]:
    """Find the minimizers of a sequence by the reference implementation."""
    return [
        Minimizer(found.hash << 8 | found.span, found.position << 1 | found.strand)
        for found in reference.minimizers_of(sequence.encode(), options)
    ]


def sketch_all(sequences: list[str], options: SketchOptions) -> list[list[Minimizer]]:
    """Find the minimizers of each sequence by the compiled stage."""
    rows = Ragged.from_sequences(sequences)
    starts, lengths = rows.offsets[:-1].astype(np.int32), rows.lengths.astype(np.int32)
    found = sketch_cpu.sketch(rows.data, starts, lengths, options)
    assert found.keys.size == found.positions.size == found.offsets[-1]
    pairs = list(map(Minimizer, found.keys.tolist(), found.positions.tolist()))
    bounds = found.offsets.tolist()
    return [pairs[start:end] for start, end in pairwise(bounds)]
