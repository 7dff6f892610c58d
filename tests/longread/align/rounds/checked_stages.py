"""Stages of a GPU, real or emulated, that compare their results with the CPU's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.longread.align import drops as drops_on_cpu
from hapgpu.longread.align import inversions as inversions_on_cpu
from hapgpu.longread.align.batches import MAPPING, PieceAlignments, Pieces, SequenceCodes
from hapgpu.longread.align.inversions import Stretches
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from tests.longread.align.device_arrays import Upload, downloaded, records, uploaded


@dataclass(frozen=True, slots=True)
class CheckedStages:
    """Stages with the functions and results of the CPU."""

    upload: Upload

    def find_drops(
        self,
        pieces: Pieces,
        alignments: PieceAlignments,
        sequences: SequenceCodes,
        scoring: AlignScoring,
        parameters: AlignParameters,
    ) -> NDArray[np.uint8]:
        from hapgpu.longread.cuda.align import drops  # noqa: PLC0415  (imports CuPy)

        expected = drops_on_cpu.find_drops(pieces, alignments, sequences, scoring, parameters)
        found = drops.find_drops(
            *map(self._uploaded, (pieces, alignments, sequences)), scoring, parameters
        )
        self._assert_equal(found, expected)
        return expected

    def find_stretches(
        self,
        mappings: NDArray[np.void],
        sequences: SequenceCodes,
        scoring: AlignScoring,
        parameters: AlignParameters,
    ) -> Stretches:
        from hapgpu.longread.cuda.align import inversions  # noqa: PLC0415  (imports CuPy)

        expected = inversions_on_cpu.find_stretches(mappings, sequences, scoring, parameters)
        found = inversions.find_stretches(
            *map(self._uploaded, (mappings, sequences)), scoring, parameters
        )
        self._assert_equal(found, expected)
        return expected

    def insert_inversions(
        self,
        mappings: NDArray[np.void],
        stretches: Stretches,
        alignments: PieceAlignments,
        sequences: SequenceCodes,
        first_operation: int,
    ) -> NDArray[np.void]:
        from hapgpu.longread.cuda.align import inversions  # noqa: PLC0415  (imports CuPy)

        on_device = self._uploaded(mappings)
        found = inversions.insert_inversions(
            on_device,
            *map(self._uploaded, (stretches, alignments, sequences)),
            first_operation,
        )
        expected = inversions_on_cpu.insert_inversions(
            mappings, stretches, alignments, sequences, first_operation
        )
        self._assert_equal(found, expected)
        self._assert_equal(on_device, mappings)
        return expected

    def _uploaded(self, batch: Any) -> Any:
        return uploaded(batch, self.upload)

    def _assert_equal(self, found: Any, expected: Any) -> None:
        if isinstance(expected, tuple):
            for each, of_cpu in zip(found, expected, strict=True):
                self._assert_equal(each, of_cpu)
            return
        rows = records(found, MAPPING) if expected.dtype == MAPPING else downloaded(found)
        assert rows.dtype == expected.dtype
        np.testing.assert_array_equal(rows, expected)
