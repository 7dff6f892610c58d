"""Lines of calls of extreme sizes, against Python's formatting."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.annotations.fields import FIELDS
from hapgpu.calling.batches import Annotations, VariantCalls
from hapgpu.calling.output import block_lines, call_lines, gvcf_lines
from hapgpu.calling.output.phasing import Phasing
from hapgpu.calling.output.reference_blocks import Items
from hapgpu.calling.output.reference_positions import ReferencePositions
from hapgpu.io.text.builder import TextBuilder
from tests.calling.output.test_lines import expected_line

CONTIG = "c" * 100_000
LEAST, LARGEST = -(2**31), 2**31 - 1
RECORDS = 3
ALLELES = ("A" * 100_000, "C" * 100_000, "*", *("G" * k for k in range(1, 60)), "<NON_REF>")
GENOTYPES = 2000
"""Likelihoods per sample; the lines do not depend on how many genotypes there are."""
WIDE = ",".join([str(LARGEST)] * GENOTYPES)
DEPTHS = ",".join([str(LARGEST)] * len(ALLELES))


@pytest.fixture(autouse=True)
def no_expectation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expect so short lines that all are written twice."""
    monkeypatch.setattr(call_lines, "_LINES", TextBuilder(1))
    monkeypatch.setattr(gvcf_lines, "_RECORDS", TextBuilder(1))
    monkeypatch.setattr(block_lines, "_ITEMS", TextBuilder(1))


def ints(values: object) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def rows_of(count: int, size: int) -> Ragged:
    return Ragged.from_lengths(np.full(count * size, LARGEST, dtype=np.int32), [size] * count)


def extreme(genotype: list[int], samples: int) -> tuple[VariantCalls, Annotations]:
    """Return equal records with the largest numbers of each type."""
    count = len(ALLELES)
    calls = VariantCalls(
        np.arange(RECORDS),
        np.full(RECORDS, LARGEST - 1, dtype=np.int64),
        count * np.arange(RECORDS + 1),
        Ragged.from_sequences(ALLELES * RECORDS),
        np.tile(np.arange(count), RECORDS).astype(np.int16),
        np.array([9e15, 12.345, np.inf]),
        np.array([[genotype] * samples] * RECORDS, dtype=np.int16),
        np.full((RECORDS, samples), np.iinfo(np.int16).min, dtype=np.int16),
        rows_of(RECORDS * samples, GENOTYPES),
        np.full(RECORDS * count, LARGEST, dtype=np.int32),
        np.full(RECORDS, len(genotype)),
    )
    annotations = Annotations(
        np.array([LEAST, LARGEST, 0], dtype=np.int32),
        np.full((RECORDS, samples), LEAST, dtype=np.int32),
        rows_of(RECORDS * samples, count),
        np.full((RECORDS, len(FIELDS)), -9e14),
        np.full((RECORDS, samples, 4), 2**63 - 1),
        np.full((RECORDS, 2), -(2**63) + 1),
    )
    return calls, annotations


@pytest.mark.parametrize(
    ("genotype", "samples"), [([0, 1, 2, len(ALLELES) - 1], 30), ([-1, -1], 1), ([32767] * 2, 2)]
)
def test_lines_of_calls(genotype: list[int], samples: int) -> None:
    calls, annotations = extreme(genotype, samples)
    text = call_lines.call_lines(CONTIG, calls, annotations, np.array([True, True, False]))
    assert text.decode() == "".join(expected_line(calls, annotations, k, CONTIG) for k in range(2))
    infinite = call_lines.call_lines(CONTIG, calls, annotations, np.array([False, False, True]))
    assert infinite.split(b"\t")[5] == b"Infinity"


def test_records_of_a_genomic_vcf() -> None:
    calls, annotations = extreme([0, 1], 1)
    phasing = Phasing(ints([0] * RECORDS), np.ones(RECORDS, dtype=np.bool_))
    lines = gvcf_lines.record_lines(CONTIG, calls, annotations, phasing, ints([0, 1, 2]))
    fields = lines[0].tobytes().decode().rstrip("\n").split("\t")
    ends = ["9000000000000000", "."]
    statistic = {field.name: f"{-9e14:.{field.decimals}f}" for field in FIELDS if field.decimals}
    info = [
        f"BaseQRankSum={statistic['BaseQRankSum']}",
        f"DP={LEAST}",
        f"ExcessHet={statistic['ExcessHet']}",
        "MLEAC=" + ",".join([str(LARGEST)] * (len(ALLELES) - 1)),
        "MLEAF=" + ",".join(["1.00"] * (len(ALLELES) - 1)),
        f"MQRankSum={statistic['MQRankSum']}",
        f"RAW_MQandDP={-(2**63) + 1},{-(2**63) + 1}",
        f"ReadPosRankSum={statistic['ReadPosRankSum']}",
    ]
    phase = f"{LARGEST}_{ALLELES[0]}_{ALLELES[1]}"
    strands = ",".join([str(2**63 - 1)] * 4)
    sample = ["1|0", DEPTHS, str(LEAST), "-32768", "1|0", phase, WIDE, str(LARGEST), strands]
    head = [CONTIG, str(LARGEST), ".", ALLELES[0], ",".join(ALLELES[1:]), *ends]
    assert fields == [*head, ";".join(info), "GT:AD:DP:GQ:PGT:PID:PL:PS:SB", ":".join(sample)]
    assert len(lines) == RECORDS


def test_blocks_of_a_genomic_vcf() -> None:
    least, largest = -(2**63) + 1, 2**63 - 1
    columns = [largest - 1, largest, ord("N"), *[least] * 3, 2, least, least]
    blocks = ints([columns] * 2)
    records = Ragged.from_sequences(["r" * 100_000 + "\n"])
    text = block_lines.item_lines(CONTIG, Items(blocks, ints([0, -1, 1])), records).decode()
    values = f"0/0:{least}:{least}:{least}:0,{least},{least}"
    block = (
        f"{CONTIG}\t{largest}\t.\tN\t<NON_REF>\t.\t.\tEND={largest}\tGT:DP:GQ:MIN_DP:PL\t{values}"
    )
    assert text.splitlines() == [block, "r" * 100_000, block]


def test_positions_of_a_genomic_vcf() -> None:
    """Values of any size, and many copies."""
    copies, size = 300, 3
    least, largest = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    positions = ReferencePositions(
        2**40,
        np.full(size, ord("N"), dtype=np.uint8),
        np.full(size, largest, dtype=np.int32),
        np.full(size, least, dtype=np.int32),
        np.full(size, copies, dtype=np.int32),
        np.full((size, copies), least, dtype=np.int32),
    )
    record = Ragged.from_sequences(["r" * 100_000 + "\n"])
    text = block_lines.position_lines(CONTIG, positions, ints([2**40 + 1]), record).decode()
    genotype, phreds = "/".join("0" * copies), ",".join(["0", *[str(least)] * copies])
    values = f"{genotype}:{largest - least},{least}:{largest}:{least}:{phreds}"
    end = f"N\t<NON_REF>\t.\t.\t.\tGT:AD:DP:GQ:PL\t{values}"
    first, last = (f"{CONTIG}\t{at}\t.\t{end}" for at in (2**40 + 1, 2**40 + 3))
    assert text.splitlines() == [first, "r" * 100_000, last]
