"""Called haplotypes among the records of a BAM, by their read group."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.read_groups import HAPLOTYPE_GROUP, are_haplotypes, has_haplotypes

GROUP = b"RGZ" + HAPLOTYPE_GROUP.encode() + b"\0"


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (GROUP, True),
        (b"HCi\1\0\0\0" + GROUP + b"ASC\7", True),
        (b"", False),
        (b"ASC\7", False),
        (GROUP[:-2] + b"\0", False),
        (GROUP[:-1] + b"x\0", False),
        (b"RGZ" + b"B" + GROUP[4:], False),
        (b"LB" + GROUP[2:], False),
        (b"RGZg\0" + GROUP, False),
        (b"RGA1" + GROUP, False),
    ],
)
def test_tags(tags: bytes, expected: bool) -> None:
    texts = Ragged.from_sequences([GROUP, tags, b"", tags])
    found = are_haplotypes(texts.data, texts.offsets[:-1], texts.offsets[1:])
    assert np.array_equal(found, [True, expected, False, expected])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"@RG\tID:{HAPLOTYPE_GROUP}\tSM:HC", True),
        (f"@RG\tSM:HC\tID:{HAPLOTYPE_GROUP}", True),
        (f"@RG\tID:{HAPLOTYPE_GROUP}.1\tSM:HC", False),
        ("@RG\tID:HC\tSM:HC", False),
        (f"@CO\tID:{HAPLOTYPE_GROUP}", False),
    ],
)
def test_headers(line: str, expected: bool) -> None:
    text = f"@HD\tVN:1.6\n@SQ\tSN:c\tLN:9\n@RG\tID:a\tSM:b\n{line}\n"
    assert has_haplotypes(SamHeader.from_text(text)) == expected
