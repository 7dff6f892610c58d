"""Lines of genomic VCF: records of every phase, blocks, and wide values."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.annotations.fields import FIELDS
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.output.block_lines import item_lines, position_lines
from hapgpu.calling.output.gvcf_lines import record_lines
from hapgpu.calling.output.phasing import UNPHASED, Phasing
from hapgpu.calling.output.reference_blocks import Items
from hapgpu.calling.output.reference_positions import ReferencePositions

WIDE = np.iinfo(np.int32).max


def ints(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def made(
    genotype: tuple[int, int], alleles: tuple[str, ...] = ("A", "C", "<NON_REF>"), number: int = 7
) -> tuple[VariantCalls, Annotations]:
    """Return two equal records at 10 and 20."""
    count = len(alleles)
    genotypes = count * (count + 1) // 2
    small = np.int32
    calls = VariantCalls(
        ints([0, 1]),
        ints([9, 19]),
        ints([0, count, 2 * count]),
        Ragged.from_sequences([*alleles, *alleles]),
        np.tile(np.arange(count), 2).astype(np.int16),
        np.array([1.25, 0.0]),
        np.array([[genotype]] * 2, dtype=np.int16),
        np.array([[30], [30]], dtype=np.int16),
        Ragged.from_lengths(np.full(2 * genotypes, number, dtype=small), [genotypes] * 2),
        np.full(2 * count, number, dtype=small),
        np.full(2, 2),
    )
    values = np.full((2, len(FIELDS)), np.nan)
    values[1] = 0.5
    annotations = Annotations(
        np.array([number] * 2, dtype=small),
        np.array([[number]] * 2, dtype=small),
        Ragged.from_lengths(np.full(2 * count, number, dtype=small), [count] * 2),
        values,
        np.full((2, 1, 4), number),
        ints([[3600, 1]] * 2),
    )
    return calls, annotations


def lines(calls: VariantCalls, annotations: Annotations, phasing: Phasing) -> list[list[str]]:
    found = record_lines("c", calls, annotations, phasing, np.arange(len(calls)))
    return [found[k].tobytes().decode().rstrip("\n").split("\t") for k in range(len(found))]


UNPHASED_RECORDS = Phasing(ints([UNPHASED] * 2), np.zeros(2, dtype=np.bool_))


def test_fields() -> None:
    first, second = lines(*made((0, 1)), UNPHASED_RECORDS)
    assert first == [
        *["c", "10", ".", "A", "C,<NON_REF>", "1.25", "."],
        "DP=7;MLEAC=7,7;MLEAF=1.00,1.00;RAW_MQandDP=3600,1",
        "GT:AD:DP:GQ:PL:SB",
        "0/1:7,7,7:7:30:7,7,7,7,7,7:7,7,7,7",
    ]
    names = [field.partition("=")[0] for field in second[7].split(";")]
    assert names == sorted(names)
    assert names == [
        *["BaseQRankSum", "DP", "ExcessHet", "MLEAC", "MLEAF", "MQRankSum"],
        *["RAW_MQandDP", "ReadPosRankSum"],
    ]


@pytest.mark.parametrize(
    ("genotype", "alleles", "is_flipped", "expected"),
    [
        ((0, 1), ("A", "C", "<NON_REF>"), False, "0|1"),
        ((0, 1), ("A", "C", "<NON_REF>"), True, "1|0"),
        ((1, 1), ("A", "C", "<NON_REF>"), True, "1|1"),
        ((1, 2), ("A", "C", "*", "<NON_REF>"), False, "2|1"),
        ((1, 2), ("A", "C", "*", "<NON_REF>"), True, "1|2"),
        ((1, 2), ("A", "*", "C", "<NON_REF>"), False, "1|2"),
        ((0, 2), ("A", "C", "<NON_REF>"), False, "2|0"),
    ],
)
def test_phases(
    genotype: tuple[int, int], alleles: tuple[str, ...], is_flipped: bool, expected: str
) -> None:
    """A heterozygous genotype is turned if the allele of the phase is not the record's own."""
    phasing = Phasing(ints([0, 0]), np.array([False, is_flipped]))
    record = lines(*made(genotype, alleles), phasing)[1]
    assert record[8] == "GT:AD:DP:GQ:PGT:PID:PL:PS:SB"
    fields = dict(zip(record[8].split(":"), record[9].split(":"), strict=True))
    assert fields["GT"] == expected
    assert fields["PGT"] == ("1|0" if is_flipped else "0|1")
    assert (fields["PID"], fields["PS"]) == (f"10_A_{alleles[1]}", "10")


def test_no_call_has_no_depths() -> None:
    record = lines(*made((-1, -1)), UNPHASED_RECORDS)[0]
    assert record[9] == "./.:.:.:30:7,7,7,7,7,7:."
    assert "MLEAF" not in record[7]


def test_blocks_and_records() -> None:
    record = Ragged.from_sequences(["record\n"])
    items = Items(
        ints(
            [
                [9, 12, ord("T"), 5, 4, 30, 2, 30, 60],
                [13, 14, ord("N"), WIDE, WIDE, 99, 2, WIDE, WIDE],
            ]
        ),
        ints([0, -1, 1]),
    )
    assert item_lines("chr", items, record).decode().splitlines() == [
        "chr\t10\t.\tT\t<NON_REF>\t.\t.\tEND=12\tGT:DP:GQ:MIN_DP:PL\t0/0:5:30:4:0,30,60",
        "record",
        (
            f"chr\t14\t.\tN\t<NON_REF>\t.\t.\tEND=14\tGT:DP:GQ:MIN_DP:PL\t0/0:{WIDE}:99:{WIDE}:0,"
            f"{WIDE},{WIDE}"
        ),
    ]


@pytest.mark.parametrize(
    ("ploidy", "expected"),
    [(1, "0:5:30:4:0,30"), (2, "0/0:5:30:4:0,30,60"), (3, "0/0/0:5:30:4:0,30,60,90")],
)
def test_blocks_of_any_ploidy(ploidy: int, expected: str) -> None:
    """Columns above the ploidy have no meaning."""
    items = Items(ints([[9, 12, ord("T"), 5, 4, 30, ploidy, 30, 60, 90]]), ints([0]))
    line = item_lines("chr", items, Ragged.from_sequences([""])).decode()
    assert line.rstrip("\n").split("\t")[9] == expected


def test_blocks_with_floors() -> None:
    """GT:DP:GQ only."""
    items = Items(ints([[9, 12, ord("T"), 5, 4, 20, 2, 30, 60]]), ints([0]))
    line = item_lines("chr", items, Ragged.from_sequences([""]), has_floors=True).decode()
    assert line == "chr\t10\t.\tT\t<NON_REF>\t.\t.\tEND=12\tGT:DP:GQ\t0/0:5:20\n"


def test_positions() -> None:
    """GATK's case of BP_RESOLUTION; another ploidy; a record with a deletion that covers one."""
    small = np.int32
    positions = ReferencePositions(
        9_999_999,
        np.frombuffer(b"TACG", dtype=np.uint8),
        np.array([52, 7, 9, 0], dtype=small),
        np.array([0, 3, 0, 0], dtype=small),
        np.array([2, 1, 2, 3], dtype=small),
        np.array([[120, 1800, -1], [90, -1, -1], [1, 2, -1], [0, 0, 0]], dtype=small),
    )
    record = Ragged.from_sequences(["record\n"])
    lines = position_lines("20", positions, ints([10_000_001]), record).decode().splitlines()
    ends = ["<NON_REF>", ".", ".", ".", "GT:AD:DP:GQ:PL"]
    assert [line.split("\t") for line in lines] == [
        ["20", "10000000", ".", "T", *ends, "0/0:52,0:52:99:0,120,1800"],
        ["20", "10000001", ".", "A", *ends, "0:4,3:7:90:0,90"],
        ["record"],
        ["20", "10000003", ".", "G", *ends, "0/0/0:0,0:0:0:0,0,0,0"],
    ]
