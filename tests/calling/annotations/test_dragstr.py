"""Repeats of indels by the DRAGstr model, against GATK's records."""

from pathlib import Path

import numpy as np
import pysam
import pytest

from hapgpu.calling.annotations.dragstr import dragstr_texts
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.pairhmm.dragstr.parameters import DragstrParameters
from tests.calling.known.made_known import calls_at

RECORDED = [
    "10001436 A AAGGCT 1,3",
    "10002458 G GT,GTTT 1,11",
    "10004769 TAAAACTATGC T 1,4",
    "10006819 AAAAC A 4,7",
    "10008921 C CA 1,13",
    "10009842 G GAA 2,22",
    "10012572 GT G 1,1",
    "10014990 C CAT 2,5",
    "10024300 CT C,CTTT 1,23",
    "10037110 T TGATA 4,3",
    "10037144 T TGATAGATA 4,10",
    "10041701 A ATATG 2,13",
    "10067049 TAAAAAAA T 1,25",
    "10095432 GTGATGATGA G 3,15",
]
"""expected.testVCFMode.gatk4.DRAGEN.vcf: POS, REF, ALT, DRAGstrInfo."""
START = 10_000_000


def parameters() -> DragstrParameters:
    """Return values that name the unit and the copies."""
    periods, copies = np.meshgrid(np.arange(1.0, 9.0), np.arange(1.0, 21.0), indexing="ij")
    return DragstrParameters(20.0 + copies, periods, periods + copies / 100.0)


def texts_of(
    records: list[tuple[int, list[str]]], reference: ReferenceSlice
) -> list[tuple[str, str]]:
    texts = dragstr_texts(calls_at(records), reference, parameters())
    return [
        (texts.repeats[k].tobytes().decode(), texts.values[k].tobytes().decode())
        for k in range(len(records))
    ]


@pytest.mark.parametrize("end", ["", ",<NON_REF>"])
def test_records_of_gatk(data_dir: Path, end: str) -> None:
    with pysam.FastaFile(str(data_dir / "illumina_na12878" / "chr20.hg19.fa.gz")) as fasta:
        bases = fasta.fetch("chr20", START, START + 100_000).upper()
    reference = ReferenceSlice(START, np.frombuffer(bases.encode(), dtype=np.uint8))
    rows = [record.split() for record in RECORDED]
    records = [(int(row[0]), [row[1], *f"{row[2]}{end}".split(",")]) for row in rows]
    found = texts_of(records, reference)
    assert [info for info, _ in found] == [row[3] for row in rows]
    for info, values in found:
        period, copies = (int(number) for number in info.split(","))
        last = period + int(min(copies, 20) / 10 + 0.5) / 10
        assert values == f"{20 + min(copies, 20)}.0,{period}.0,{last:.1f}"


def test_records_without_an_indel() -> None:
    reference = ReferenceSlice(0, np.frombuffer(b"ACGTACGT" * 4, dtype=np.uint8))
    records = [(5, ["A", "C"]), (5, ["A", "*", "<NON_REF>"]), (5, ["AC", "GT"]), (5, ["A", "AC"])]
    assert texts_of(records, reference)[:3] == [("", "")] * 3
    # CGTA repeats six times from base 6 on; one more copy is before it.
    assert texts_of(records, reference)[3] == ("4,7", "27.0,4.0,4.1")
    assert texts_of(records[:2], reference) == [("", "")] * 2


def test_no_records() -> None:
    reference = ReferenceSlice(0, np.frombuffer(b"ACGT", dtype=np.uint8))
    assert texts_of([], reference) == []
