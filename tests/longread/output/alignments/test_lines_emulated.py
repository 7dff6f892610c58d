"""Lines written by the kernels, run on the CPU, against those of the CPU."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hapgpu.longread.options import Difference, LineOptions, MappingOptions
from tests.emulation.emulator import emulate
from tests.longread.output.alignments.test_lines import LETTERS, MadeLines, made_lines

FORMS = (
    LineOptions(has_cigar=True),
    LineOptions(),
    LineOptions(secondary_bases=True, read_group="run1", copies_comments=True),
    LineOptions(soft_clips_all=True, has_cigar=True, mapped_only=True, moves_long_cigars=True),
    LineOptions(difference=Difference.MD),
    LineOptions(difference=Difference.CS, has_cigar=True),
    LineOptions(difference=Difference.LONG_CS),
    LineOptions(difference=Difference.DS),
    LineOptions(difference=Difference.MD, splits_matches=True, has_cigar=True),
)


def check(
    made: MadeLines,
    options: MappingOptions,
    line_options: LineOptions,
    patch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("cupy")
    from hapgpu.arrays import cuda as ragged  # noqa: PLC0415  (imports CuPy)
    from hapgpu.longread.cuda.lines import batches, writer  # noqa: PLC0415
    from tests.longread.output.alignments.device_lines import check_lines  # noqa: PLC0415

    emulate(patch, ragged, batches, writer)
    check_lines(made.block(), made.targets, options, line_options, np)


@pytest.mark.parametrize("is_sam", [False, True], ids=["paf", "sam"])
@pytest.mark.parametrize("form", FORMS)
def test_made_lines(form: LineOptions, *, is_sam: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(12):
        letters = "ACGTacgtN" if seed % 2 else LETTERS
        made = made_lines(seed, (4, 40, 3000)[seed % 3], letters, is_fasta=seed % 4 == 0)
        options = MappingOptions(prints_secondary=seed % 5 != 0, prints_unmapped=seed % 2 == 0)
        check(made, options, replace(form, is_sam=is_sam), monkeypatch)
