"""Constants of GATK 4.6 and SAM by their names there, and rules of docs/methods/realign.md."""

from __future__ import annotations

import pytest

from tests.constants import Rows, constant, names, not_as_named

FLAGS = {"PROPER_PAIR": 0x2, "UNMAPPED": 0x4, "MATE_UNMAPPED": 0x8, "REVERSE": 0x10}
FLAGS |= {"MATE_REVERSE": 0x20, "SEGMENT": 0xC0, "SECONDARY": 0x100, "SUPPLEMENTARY": 0x800}
FLAGS |= {"NOT_PRIMARY": 0x900, "PAIRED": 0x1}
USES = {
    "projection.move_table": ["NOT_PRIMARY"],
    "records.build": ["PROPER_PAIR", "UNMAPPED", "MATE_UNMAPPED", "REVERSE", "MATE_REVERSE"],
    "records.rewriter": ["PAIRED", "UNMAPPED", "REVERSE", "SEGMENT"],
    "records.changed_records": ["UNMAPPED", "REVERSE"],
    "records.mates": ["PROPER_PAIR", "UNMAPPED", "MATE_UNMAPPED", "REVERSE", "MATE_REVERSE"],
}
OTHER_USES = {
    "records.build": ["SECONDARY", "SUPPLEMENTARY"],
    "records.mates": ["NOT_PRIMARY"],
}
ROWS: Rows = [
    ("realign.scoring.LOWEST_SCORE", -100_000_000, "SmithWatermanJavaAligner"),
    ("realign.scoring.UNREACHABLE", -(2**30), "SmithWatermanJavaAligner: MIN_VALUE / 2"),
    ("realign.projection.haplotype_cigars._PAD", 10, "CigarUtils.SW_PAD: ten N"),
    ("realign.selection.choice.INFORMATIVE", 0.2, "LOG_10_INFORMATIVE_THRESHOLD"),
    ("realign.records.build._UNKNOWN_MAPPING_QUALITY", 255, "SAM"),
    ("realign.mover.MISMATCHES_PER_DIFFERENCE", 2, "Rules"),
    ("realign.mover.MAX_ADDED_DIFFERENCES", 5, "Rules"),
    ("realign.projection.alignment_costs._LONGEST_GAP", 12, "Rules"),
    ("realign.records.rewriter.WrittenReads.require_flags", 0, "samtools view -f"),
    ("realign.records.rewriter.WrittenReads.exclude_flags", 0, "samtools view -F"),
    *(
        (f"realign.{module}._{name}", FLAGS[name], "SAM")
        for uses in (USES, OTHER_USES)
        for module, flags in uses.items()
        for name in flags
    ),
]


@pytest.mark.parametrize(("name", "value", "source"), ROWS, ids=names(ROWS))
def test_constants(name: str, value: object, source: str) -> None:
    assert constant(name) == value, source


def test_numbers_are_named_by_their_values() -> None:
    assert not not_as_named("realign")
