"""Comparison of alleles by their haplotypes: known cases, and all choices of small ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from tests.calling.accuracy.variant_matching import (
    Matched,
    Placed,
    agreeing,
    matched,
    placed_alleles,
    trimmed,
)

#            0         1         2         3
#            0123456789012345678901234567890123456789
REFERENCE = "GATTACAGGCATCACACACAGTTTTTTCGGATCCATGGA"
CHOICES = {1: ((0,), (1,)), 2: ((0, 1),)}


def true(start: int, reference: str, alternative: str, *copies: int) -> Placed:
    assert REFERENCE.startswith(reference, start)
    return Placed(*trimmed(start, reference, alternative), (copies,), is_true=True)


def called(start: int, reference: str, alternative: str, copies: int) -> Placed:
    assert REFERENCE.startswith(reference, start)
    return Placed(*trimmed(start, reference, alternative), CHOICES[copies])


def counts(result: Matched) -> tuple[int, int, int, int]:
    return len(result.right), len(result.found), len(result.missed), len(result.false)


@pytest.mark.parametrize(
    ("truth", "calls", "expected"),
    [
        ([true(2, "T", "C", 1)], [called(2, "T", "C", 1)], (1, 0, 0, 0)),
        ([true(2, "T", "C", 1)], [called(2, "T", "C", 2)], (0, 1, 0, 0)),
        ([true(2, "T", "C", 1)], [called(2, "T", "G", 1)], (0, 0, 1, 1)),
        ([true(2, "T", "C", 1)], [], (0, 0, 1, 0)),
        ([], [called(2, "T", "C", 1)], (0, 0, 0, 1)),
        # an MNV as an insertion and a deletion; the same apart, each on another haplotype
        ([true(7, "GGCA", "CATT", 0)],
         [called(7, "", "CAT", 1), called(7, "G", "T", 1), called(8, "GCA", "", 1)], (1, 0, 0, 0)),
        # two SNVs in cis as one MNV; in trans
        ([true(7, "G", "T", 0), true(8, "G", "T", 0)], [called(7, "GG", "TT", 1)], (2, 0, 0, 0)),
        ([true(7, "G", "T", 0), true(8, "G", "T", 1)], [called(7, "GG", "TT", 1)], (0, 2, 0, 0)),
        # an indel of a repeat at another of its units
        ([true(11, "TCA", "T", 0, 1)], [called(17, "ACA", "A", 2)], (1, 0, 0, 0)),
        # two insertions of one position are never one haplotype
        ([true(20, "G", "GT", 0), true(20, "G", "GTT", 1)],
         [called(20, "G", "GT", 1), called(20, "G", "GTT", 1)], (2, 0, 0, 0)),
        ([true(20, "G", "GTTT", 0)],
         [called(20, "G", "GT", 1), called(20, "G", "GTT", 1)], (0, 0, 1, 2)),
        # far apart: each by itself
        ([true(2, "T", "C", 0), true(38, "A", "C", 0)], [called(38, "A", "C", 1)], (1, 0, 1, 0)),
    ],
)  # fmt: skip
def test_known_cases(
    truth: list[Placed], calls: list[Placed], expected: tuple[int, int, int, int]
) -> None:
    assert counts(matched(truth, calls, REFERENCE)) == expected


def all_haplotypes(alleles: Sequence[Placed], haplotypes: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of alleles and the haplotypes of every choice of alleles and copies."""
    for chosen in product(*([(), *allele.choices] for allele in alleles)):
        texts = []
        for copy in range(haplotypes):
            on_copy = [a for a, copies in zip(alleles, chosen, strict=True) if copy in copies]
            pairs = pairwise(on_copy)
            if any(a.end > b.start or a[:2] == b[:2] for a, b in pairs):
                break
            text, at = "", 0
            for allele in on_copy:
                text += REFERENCE[at : allele.start] + allele.text
                at = allele.end
            texts.append(text + REFERENCE[at:])
        else:
            yield sum(map(bool, chosen)), texts


def random_alleles(rng: np.random.Generator, *, is_true: bool) -> list[Placed]:
    found = {}
    for _ in range(rng.integers(1, 5)):
        start = int(rng.integers(12, 24))
        end = start + int(rng.integers(0, 3))
        text = "".join(rng.choice(list("ACT"), rng.integers(0, 3)))
        key = trimmed(start, REFERENCE[start:end], text)
        if key[0] < key[1] or key[2]:
            choices = CHOICES[int(rng.integers(1, 3))]
            found[key] = choices[: 1 if is_true else None]
    return sorted(Placed(*key, choices, is_true=is_true) for key, choices in found.items())


def test_as_many_alleles_as_by_all_choices() -> None:
    rng = np.random.default_rng(1)
    agreed = 0
    for _ in range(400):
        truth, calls = (random_alleles(rng, is_true=is_true) for is_true in (True, False))
        best = max(
            count + count_of_calls
            for count, expected in all_haplotypes(truth, 2)
            for count_of_calls, texts in all_haplotypes(calls, 2)
            if texts == expected
        )
        found = agreeing(sorted([*truth, *calls]), REFERENCE, 2)
        assert len(found) == best
        agreed += best > 0
    assert agreed > 10


def test_alleles_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "calls.vcf"
    path.write_text(
        "##fileformat=VCFv4.2\n##contig=<ID=c,length=39>\n##contig=<ID=d,length=39>\n"
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="x">\n'
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts\n"
        "c\t3\t.\tT\tC,G\t.\t.\t.\tGT\t1|2\n"
        "c\t12\t.\tTCA\tT,*\t.\t.\t.\tGT\t2|1\n"
        "c\t30\t.\tA\tAT\t.\t.\t.\tGT\t1|1\n"
        "c\t33\t.\tC\tT\t.\t.\t.\tGT\t.|.\n"
        "d\t3\t.\tT\tC\t.\t.\t.\tGT\t0|1\n"
    )
    assert placed_alleles(path, "c", is_true=True) == [
        Placed(2, 3, "C", ((0,),), is_true=True),
        Placed(2, 3, "G", ((1,),), is_true=True),
        Placed(12, 14, "", ((1,),), is_true=True),
        Placed(30, 30, "T", ((0, 1),), is_true=True),
    ]
    assert [a.choices for a in placed_alleles(path, "c", is_true=False)] == [
        ((0,), (1,)),
        ((0,), (1,)),
        ((0,), (1,)),
        ((0, 1),),
    ]
