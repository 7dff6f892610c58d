"""Constants of bwa aln, Bowtie 2 and SAM, by their names there; of the FM index, its limits."""

from __future__ import annotations

import pytest

from tests.constants import Rows, constant, names, not_as_named

ROWS: Rows = [
    ("shortread.sam.tables.MAX_COUNTED", 255, "bwa aln: at most 255 second-best hits"),
    ("shortread.sam.tables.TWO_BEST", 3, "bwa aln: two best hits"),
    ("shortread.sam.tables.UNIQUE", 60, "the highest mapping quality of bwa"),
    ("shortread.sam.tables._FEW", 23, "bwa aln: 23 - 4.343 * ln(n)"),
    ("shortread.sam.tables._PHRED", 4.343, "bwa aln: 23 - 4.343 * ln(n)"),
    ("shortread.sam.cpu._REVERSE", 0x10, "SAM"),
    ("shortread.sam.cpu._SECONDARY", 0x100, "SAM"),
    ("shortread.search.hits.MIN_READ_BASES", 10, "docs/methods/map.md"),
    ("shortread.search.hits.SearchOptions.errors", 1, "docs/methods/map.md"),
    ("shortread.api._MAX_ERRORS", 1, "docs/methods/map.md"),
    ("shortread.index.files.VERSION", 2, "of hgx files that exist"),
    ("shortread.index.fm_index.MAX_BASES", 2**32 - 2**20, "rows of 32 bits"),
]


@pytest.mark.parametrize(("name", "value", "source"), ROWS, ids=names(ROWS))
def test_constants(name: str, value: object, source: str) -> None:
    assert constant(name) == value, source


def test_numbers_are_named_by_their_values() -> None:
    assert not not_as_named("shortread")
