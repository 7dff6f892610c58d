"""Constants of GATK 4.6's pair-HMM, by the names of its classes and options."""

from __future__ import annotations

import pytest

from hapgpu.pairhmm.options import PcrModel
from hapgpu.pairhmm.reads.pcr_model import gap_open_limits
from tests.constants import Rows, constant, names, not_as_named

ROWS: Rows = [
    ("pairhmm.inputs._MAX_QUALITY", 254, "QualityUtils.MAX_QUAL"),
    ("pairhmm.model.ANY_BASE", 78, "PairHMM: 'N' equals any base"),
    ("pairhmm.normalize.WORST_DIFFERENCE", -4.5, "--phred-scaled-global-read-mismapping-rate 45"),
    ("pairhmm.normalize.ERRORS_PER_BASE", 0.02, "EXPECTED_ERROR_RATE_PER_BASE"),
    ("pairhmm.normalize.MAX_ERRORS", 2.0, "MAXIMUM_BEST_ALT.. maxErrorsForRead: min(2, ..)"),
    ("pairhmm.normalize.LOG10_OF_ERROR", -4.0, "log10 of the quality of an error: -4.0"),
    ("pairhmm.reads.pcr_model._QUALITY_WITHOUT_REPEAT", 40.0, "INITIAL_QSCORE"),
    ("pairhmm.reads.pcr_model._MIN_QUALITY", 10, "MIN_ADJUSTED_QSCORE"),
    ("pairhmm.reads.qualities.MIN_QUALITY", 6, "QualityUtils.MIN_USABLE_Q_SCORE"),
    ("pairhmm.forward.lanes._FLUSH", 0x8040, "MXCSR of x86: FZ and DAZ"),
    ("pairhmm.reads.qualities.QualityOptions.gap_open", 45, "DEFAULT_INSERTION_QUALITY"),
    ("pairhmm.reads.qualities.QualityOptions.gap_continuation", 10, "--gap-continuation.."),
    ("pairhmm.reads.qualities.QualityOptions.base_quality_threshold", 18, "--base-quality-.."),
    ("pairhmm.reads.quality_tags.FIRST_QUALITY", 33, "SAM: '!' is 0"),
    ("pairhmm.reads.quality_tags._LAST_QUALITY", 126, "SAM: '~' is the last"),
    ("pairhmm.reads.tandem_repeats.MAX_COPIES", 20, "MAX_REPEAT_LENGTH"),
    ("pairhmm.reads.tandem_repeats._LONGEST_UNIT", 8, "MAX_STR_UNIT_LENGTH"),
    ("pairhmm.reads.cpu.UNMAPPED", 0x4, "SAM"),
    ("pairhmm.reads.cpu._PAIRED", 0x1, "SAM"),
    ("pairhmm.reads.cpu._FIRST", 0x40, "SAM"),
    ("pairhmm.reads.cpu._SECOND", 0x80, "SAM"),
    ("pairhmm.text_batches.lines._MAX_DIGITS", 10, "digits of 2**31 - 1"),
    ("pairhmm.text_batches.lines.PHRED_OFFSET", 33, "SAM: '!' is 0"),
    ("pairhmm.text_batches.lines.READ_FIELDS", 5, "bases and four qualities"),
]


@pytest.mark.parametrize(("name", "value", "source"), ROWS, ids=names(ROWS))
def test_constants_of_gatk(name: str, value: object, source: str) -> None:
    assert constant(name) == value, source


@pytest.mark.parametrize(
    ("model", "limits"),
    [
        (PcrModel.CONSERVATIVE, [40, 40, 40, 40, 39, 39, 39, 39, 39, 38]),
        (PcrModel.AGGRESSIVE, [40, 40, 40, 39, 39, 39, 38, 38, 37, 37]),
        (PcrModel.HOSTILE, [40, 40, 39, 38, 37, 36, 34, 32, 28, 23]),
    ],
)
def test_limits_of_gap_opens(model: PcrModel, limits: list[int]) -> None:
    """GATK: round(40 - exp(n / (rate * pi)) + 1), with rates of 3, 2 and 1; at least 10."""
    found = gap_open_limits(model).tolist()
    assert found[: len(limits)] == limits
    assert min(found) >= 10
    assert len(found) == 21


def test_numbers_are_named_by_their_values() -> None:
    assert not not_as_named("pairhmm")
