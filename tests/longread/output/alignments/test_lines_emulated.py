"""Lines written by the kernels, run on the CPU, against those of the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from hapgpu.longread.align.batches import MAPPING, AlignedMappings
from tests.emulation.emulator import emulate
from tests.longread.output.alignments.device_cases import (
    ALL,
    FORMS,
    LINE_FORMS,
    Case,
    comment_cases,
    extreme_cases,
    made_cases,
)
from tests.longread.output.alignments.test_lines import MadeLines


def check(cases: Iterator[Case], patch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    from hapgpu.arrays import cuda as ragged  # noqa: PLC0415  (imports CuPy)
    from hapgpu.longread.cuda.lines import batches, writer  # noqa: PLC0415  (imports CuPy)
    from tests.longread.output.alignments.device_lines import check_lines  # noqa: PLC0415

    emulate(patch, ragged, batches, writer)
    for made, options, line_options in cases:
        check_lines(made.block(), made.targets, options, line_options, np)


@pytest.mark.parametrize("is_sam", [False, True], ids=["paf", "sam"])
@pytest.mark.parametrize("form", LINE_FORMS)
def test_made_lines(form: str, *, is_sam: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    check(made_cases(form, is_sam=is_sam, seeds=5), monkeypatch)


@pytest.mark.parametrize("is_sam", [False, True], ids=["paf", "sam"])
def test_comments(*, is_sam: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    check(comment_cases(is_sam=is_sam), monkeypatch)


@pytest.mark.parametrize("form", FORMS)
def test_extreme_lines(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # One form has more operations than BAM has room for: that takes seconds.
    pairs = 16_400 if form == "ds" else 300
    check(extreme_cases(form, is_sam=True, pairs=pairs), monkeypatch)


def test_no_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    aligned = AlignedMappings(
        np.empty(0, dtype=MAPPING), np.empty(0, dtype=np.uint32), np.zeros(1, dtype=np.int64)
    )
    made = MadeLines([], [], aligned, np.empty(0, dtype=np.int32))
    check(iter([(made, ALL, replace(LINE_FORMS["md"], is_sam=True))]), monkeypatch)


def test_lines_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.lines import writer  # noqa: PLC0415  (imports CuPy)

    monkeypatch.setattr(writer, "_MOST_BYTES", 100)
    cases = made_cases("plain", is_sam=True, seeds=3)
    with pytest.raises(MemoryError, match="halve"):
        check(cases, monkeypatch)
