"""Diagonals and bands of pairs with known end cells, on NumPy's or CuPy's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hapgpu.arrays.ragged import Ragged
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.devices import CudaDevice
from tests.realign.align.ended_pairs import Ended, Row, found_rows

GPU = CudaDevice(0, memory_limit=1 << 30)
Arrays = Callable[[Any], Any]


class Runner:
    """Runs on the arrays that `upload` makes."""

    def __init__(self, upload: Arrays, download: Arrays) -> None:
        self._upload, self._download = upload, download

    def diagonals(self, case: Ended, scoring: Scoring, overhang: Overhang) -> list[Row | None]:
        """Return the alignments without a gap; None for other pairs."""
        from hapgpu.realign.align.cuda import diagonals  # noqa: PLC0415  (imports CuPy)

        pairs, ends, outputs = self._inputs(case, 0)
        diagonals.diagonal_alignments(pairs, ends, scoring, overhang, outputs)
        return self._rows(outputs)

    def bands(
        self,
        case: Ended,
        rows: Any,
        scoring: Scoring,
        overhang: Overhang,
        other_runs: int | None = None,
    ) -> tuple[list[Row | None], list[int], int]:
        """Return the alignments in bands, the pairs that are left, and the runs in use."""
        from hapgpu.realign.align.cuda import bands  # noqa: PLC0415  (imports CuPy)
        from hapgpu.realign.align.cuda.tasks import AlignTask  # noqa: PLC0415  (imports CuPy)

        count = len(case.pairs)
        pairs, ends, outputs = self._inputs(case, 200 * count if other_runs is None else other_runs)
        outputs.cigar_counts.fill(0)
        numbers = self._upload(np.asarray(rows, dtype=np.int64))
        task = AlignTask(scoring, overhang, GPU, with_trace=True)
        left = bands.banded_alignments(pairs, numbers, ends, task, outputs)
        used = int(self._download(outputs.pool_used)[0])
        found = self._rows(outputs) if used <= outputs.pool.size else []
        return found, self._download(left).tolist(), used

    def _inputs(self, case: Ended, other_runs: int) -> tuple[Any, Any, Any]:
        from hapgpu.arrays.cuda import DeviceRagged  # noqa: PLC0415  (imports CuPy)
        from hapgpu.realign.align.cuda.batches import DevicePairs  # noqa: PLC0415  (imports CuPy)
        from hapgpu.realign.align.cuda.end_cells import EndCells  # noqa: PLC0415  (imports CuPy)
        from hapgpu.realign.align.cuda.outputs import Outputs  # noqa: PLC0415  (imports CuPy)

        def uploaded(rows: Ragged) -> DeviceRagged:
            return DeviceRagged(self._upload(rows.data), self._upload(rows.offsets))

        pairs = DevicePairs(
            uploaded(case.pairs.references),
            uploaded(case.pairs.queries),
            self._upload(case.pairs.reference_index),
            self._upload(case.pairs.query_index),
        )
        ends = EndCells(*map(self._upload, case.ends))
        return pairs, ends, Outputs.for_pairs(len(case.pairs), other_runs)

    def _rows(self, outputs: Any) -> list[Row | None]:
        names = ("scores", "offsets", "cigar_starts", "cigar_counts", "pool")
        return found_rows(tuple(self._download(getattr(outputs, name)) for name in names))
