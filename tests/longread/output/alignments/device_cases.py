"""Made-up lines and options for the tests of kernels, with the emulator and on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from hapgpu.longread.options import Difference, LineOptions, MappingOptions
from tests.longread.output.alignments.test_extreme_lines import (
    ALL,
    FORMS,
    GROUPED,
    MOST,
    repeated,
    with_long_names,
)
from tests.longread.output.alignments.test_lines import LETTERS, MadeLines, made_lines

LINE_FORMS: Final = {
    "plain": LineOptions(has_cigar=True),
    "without-cigar": LineOptions(secondary_bases=True, read_group="run1", copies_comments=True),
    "mapped": LineOptions(has_cigar=True, mapped_only=True, moves_long_cigars=True),
    "soft": LineOptions(difference=Difference.MD, soft_clips_all=True),
    "md": LineOptions(difference=Difference.MD, splits_matches=True, has_cigar=True),
    "cs": LineOptions(difference=Difference.CS, has_cigar=True),
    "long": LineOptions(difference=Difference.LONG_CS, splits_matches=True),
    "ds": LineOptions(difference=Difference.DS),
}

HEADERS: Final = (
    *(b"r\r", b"r \r", b"r  \r", b"r x\r", b"r\tx y\r\r", b"r \xff\xc3\x00z", b"r \r\r"),
    *(b"r" * 300 + b" " + b"c" * size for size in (30, 31, 32, 33)),
)
"""Names with comments that end in carriage returns, are not text, or end around a step of 32."""

Case = tuple[MadeLines, MappingOptions, LineOptions]


def made_cases(form: str, *, is_sam: bool, seeds: int) -> Iterator[Case]:
    """Yield reads of all sizes; letters that no code has, no qualities, or hidden lines."""
    line_options = replace(LINE_FORMS[form], is_sam=is_sam)
    for seed in range(seeds):
        letters = "ACGTacgtN" if seed % 2 else LETTERS
        made = made_lines(seed, (4, 40, 3000)[seed % 3], letters, is_fasta=seed % 4 == 0)
        options = MappingOptions(prints_secondary=seed % 5 != 0, prints_unmapped=seed % 2 == 0)
        yield made, options, line_options


def comment_cases(*, is_sam: bool) -> Iterator[Case]:
    """Yield reads with the comments of `HEADERS`."""
    line_options = LineOptions(is_sam=is_sam, has_cigar=True, copies_comments=True)
    for first in range(len(HEADERS)):
        made = made_lines(first, 20, "ACGT", is_fasta=first % 2 == 0)
        headers = HEADERS[first:] + HEADERS[:first]
        records = [
            record._replace(header=header)
            for record, header in zip(made.records, headers, strict=False)
        ]
        yield replace(made, records=records), ALL, line_options


def extreme_cases(form: str, *, is_sam: bool, pairs: int) -> Iterator[Case]:
    """Yield lines of extreme sizes.

    Parameters
    ----------
    form
        Key of `FORMS`.
    is_sam
        Whether to write SAM.
    pairs
        Pairs of gaps of the CIGAR with most operations.
    """
    line_options = replace(FORMS[form], is_sam=is_sam)
    operations = [1 << 4, 3 << 4 | 1, 1 << 4, 2 << 4 | 2] * pairs + [1 << 4]
    read, target = b"CAAAC" * pairs + b"C", b"GTGG" * pairs + b"G"
    yield repeated(read, target, operations, 2), ALL, line_options
    yield (
        repeated(b"ACGTTTGA", b"ACGTTGA", [3 << 4, 1 << 4 | 1, 4 << 4], 70),
        ALL,
        line_options,
    )
    named = with_long_names(made_lines(1, 40, "ACGTN", is_fasta=False))
    yield named, ALL, replace(line_options, **GROUPED)
    for value in (MOST, -MOST - 1):
        made = made_lines(3, 40, "ACGT", is_fasta=False)
        mappings = made.aligned.mappings
        for name in ("first_dp_max", "dp_score", "anchors", "score", "second_score"):
            mappings[name] = value
        mappings["length"], mappings["matches"], mappings["quality"] = MOST, MOST - 7, 255
        mappings["ambiguous"] = mappings["gaps"] = mappings["gap_bases"] = MOST
        mappings["split"] = value
        made.repeats[:] = value
        yield made, ALL, line_options
