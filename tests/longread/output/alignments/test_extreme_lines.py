"""Lines of extreme sizes against the reference implementation, each alone in memory for no line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest

from hapgpu.longread.align.batches import MAPPING, AlignedMappings
from hapgpu.longread.options import Difference, LineOptions, MappingOptions
from tests.longread.output.alignments.test_lines import MadeLines, made_lines
from tests.longread.output.alignments.written_lines import Record

NAME: Final = 65_000
MOST: Final = 2**31 - 1
FORMS: Final = {
    "md": LineOptions(has_cigar=True, difference=Difference.MD, soft_clips_all=True),
    "cs": LineOptions(has_cigar=True, difference=Difference.CS, secondary_bases=True),
    "long": LineOptions(
        difference=Difference.LONG_CS, splits_matches=True, moves_long_cigars=True, has_cigar=True
    ),
    "ds": LineOptions(difference=Difference.DS, moves_long_cigars=True, mapped_only=True),
}
GROUPED: Final[dict[str, Any]] = {"read_group": "g" * NAME, "copies_comments": True}
ALL: Final = MappingOptions(prints_secondary=True, prints_unmapped=True)


def assert_as_expected(made: MadeLines, line_options: LineOptions, *, is_sam: bool) -> None:
    """No part has room for a line: each line is written again to memory of its size."""
    for most in (0, 1 << 20):
        lines = made.written(ALL, line_options, is_sam=is_sam, most=most)
        expected = made.expected(ALL, line_options, is_sam=is_sam)
        assert lines.text.tobytes().decode() == "".join(f"{line}\n" for line in expected)
        primary = made.aligned.mappings["number"] == made.aligned.mappings["parent"]
        unmapped = int((np.diff(made.aligned.offsets) == 0).sum())
        assert lines.counts["secondary"] == int((~primary).sum())
        assert lines.counts["mapped"] == len(made.records) - unmapped


def with_long_names(made: MadeLines) -> MadeLines:
    """Give reads and reference sequences names, and reads comments, of the longest size."""
    records = [
        Record(b"%d" % k + b"r" * NAME + b" CO:Z:" + b"c" * NAME, each.bases, each.qualities)
        for k, each in enumerate(made.records)
    ]
    targets = [Record(b"%d" % k + b"t" * NAME, each.bases) for k, each in enumerate(made.targets)]
    return replace(made, records=records, targets=targets)


@pytest.mark.parametrize("is_sam", [False, True], ids=["paf", "sam"])
@pytest.mark.parametrize("form", FORMS)
def test_long_names_comments_and_read_groups(form: str, *, is_sam: bool) -> None:
    line_options = replace(FORMS[form], **GROUPED)
    for seed in range(4):
        made = made_lines(seed, 40, "ACGTN", is_fasta=seed == 0)
        assert_as_expected(with_long_names(made), line_options, is_sam=is_sam)


@pytest.mark.parametrize("is_sam", [False, True], ids=["paf", "sam"])
@pytest.mark.parametrize("value", [MOST, -MOST - 1], ids=["largest", "smallest"])
def test_numbers_of_32_bits(value: int, *, is_sam: bool) -> None:
    """Tags have any number of 32 bits; columns have the largest."""
    made = made_lines(3, 40, "ACGT", is_fasta=False)
    mappings = made.aligned.mappings
    for name in ("first_dp_max", "dp_score", "anchors", "score", "second_score"):
        mappings[name] = value
    mappings["length"], mappings["matches"], mappings["quality"] = MOST, MOST - 7, 255
    mappings["ambiguous"] = mappings["gaps"] = mappings["gap_bases"] = MOST
    mappings["split"] = value
    made.repeats[:] = value
    assert_as_expected(made, FORMS["cs"], is_sam=is_sam)


def repeated(read: bytes, target: bytes, operations: list[int], count: int) -> MadeLines:
    """Return a read that is aligned as often, each time as a whole, by the same CIGAR words."""
    words = np.array(operations, dtype=np.uint32)
    mappings = np.zeros(count, dtype=MAPPING)
    mappings["read"] = 1
    mappings["operations"] = words.size
    mappings["query_end"], mappings["target_end"] = len(read), len(target)
    mappings["length"] = mappings["matches"] = len(read)
    mappings["number"] = mappings["parent"] = np.arange(count)
    mappings["parent"][::5] -= 1
    mappings["is_reverse"] = np.arange(count) % 2
    mappings["is_first_primary"] = np.arange(count) == 1
    aligned = AlignedMappings(mappings, words, np.array([0, 0, count, count]))
    qualities = b"I" * len(read)
    records = [
        Record(b"before", b"", b""),
        Record(b"read", read, qualities),
        Record(b"e", b"", b""),
    ]
    return MadeLines(records, [Record(b"t", target)], aligned, np.zeros(3, np.int32))


@pytest.mark.parametrize("is_sam", [False, True], ids=["paf", "sam"])
@pytest.mark.parametrize("form", FORMS)
def test_many_operations(form: str, *, is_sam: bool) -> None:
    """More operations than BAM has room for, and every aligned base differs."""
    operations = [1 << 4, 3 << 4 | 1, 1 << 4, 2 << 4 | 2] * 20_000 + [1 << 4]
    read, target = b"CAAAC" * 20_000 + b"C", b"GTGG" * 20_000 + b"G"
    assert_as_expected(repeated(read, target, operations, 2), FORMS[form], is_sam=is_sam)


@pytest.mark.parametrize("is_sam", [False, True], ids=["paf", "sam"])
def test_many_primaries_of_a_read(*, is_sam: bool) -> None:
    """Each has a tag SA with all others."""
    made = repeated(b"ACGTTTGA", b"ACGTTGA", [3 << 4, 1 << 4 | 1, 4 << 4], 300)
    assert_as_expected(made, FORMS["ds"], is_sam=is_sam)
