"""IDs and flags of known variants, compared with GATK's cases and with haplotypes."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.calling.known.indexed_vcf import IndexedVcf
from hapgpu.calling.known.names import (
    DBSNP,
    KnownFile,
    KnownVariants,
    check_known,
    event_of,
    flags_of,
)
from hapgpu.errors import InputError
from tests.calling.known.made_known import HEADER, calls_at, compress, known_file

AC, AT, AG = "rsID1 A C", "rsID2 A T", "rsID3 A G"
AC_AT, AC_AG = "rsID1;rsID2 A C,T", "rsID1;rsID3 A C,G"
COMPLEX = ("TTCCTCCTCCTCCTCCTCC", "T", "TTCCTCCTCCTCCTCCTCCTCC")
DELETION, BOTH = "rsID1 TTTTTT T", "rsID2 TTTTTT T,TTTTTTTTTTT"
CASES = [
    (["A", "C"], [AC], "rsID1"),
    (["A", "C"], [AT], None),
    (["A", "C", "T"], [AC], "rsID1"),
    (["A", "C", "T"], [AT], "rsID2"),
    (["A", "C", "T"], [AG], None),
    (["A", "C", "T"], [AC_AT], "rsID1;rsID2"),
    (["A", "C", "T"], [AC_AG], "rsID1;rsID3"),
    (["A", "C"], [AC, AT], "rsID1"),
    (["A", "C"], [AT, AC], "rsID1"),
    (["A", "C"], [AC_AT], "rsID1;rsID2"),
    (["A", "T"], [AC_AT], "rsID1;rsID2"),
    (["A", "C"], [AC_AG], "rsID1;rsID3"),
    (["A", "T"], [AC_AG], None),
    (["T", "C", "TAC"], ["rsID1 T TAC,TATAC", "rsID2 T C"], "rsID1;rsID2"),
    (["T", "C", "TAC"], ["rsID2 T C", "rsID1 T TAC,TATAC"], "rsID2;rsID1"),
    (["T", "TTCC"], [f"rsID1 {COMPLEX[0]} {COMPLEX[1]},{COMPLEX[2]}"], "rsID1"),
    (list(COMPLEX), ["rsID1 T TTCC"], "rsID1"),
    (["TTTT", "T"], [DELETION, BOTH], None),
    (["T", "TTTT"], ["rsID1 T TTTTTT", BOTH], None),
    (["A", "C"], [f"{AC} . FAIL"], None),
]
"""VariantOverlapAnnotatorUnitTest: alleles, known records, and the IDs."""


def lines_of(records: list[str]) -> list[str]:
    """Return records of position 10: FILTER is missing unless it is given."""
    return [
        f"20 10 {record if len(record.split()) > 3 else f'{record} . .'} ." for record in records
    ]


def names_of(
    path: Path, records: list[str], alleles: list[str], flag: str = DBSNP
) -> tuple[str, bool]:
    """Return ID and flag of a record at position 10."""
    file = KnownFile(flag, known_file(path / "known.vcf.gz", lines_of(records)))
    calls = calls_at([(10, alleles)])
    names = KnownVariants([file]).names_of("20", calls, np.ones(1, dtype=np.bool_))
    assert names.flags.shape == (1, 1)
    return names.ids[0].tobytes().decode(), bool(names.flags[0, 0])


@pytest.mark.parametrize(("alleles", "records", "expected"), CASES)
def test_unit_cases_of_gatk(
    tmp_path: Path, alleles: list[str], records: list[str], expected: str | None
) -> None:
    found = names_of(tmp_path, records, alleles)
    assert found == (expected or "", expected is not None)
    assert names_of(tmp_path, records, alleles, "OTHER") == ("", expected is not None)
    with_non_ref = [*alleles, "<NON_REF>"]
    assert names_of(tmp_path, records, with_non_ref) == found


@pytest.mark.parametrize(
    ("alleles", "records", "expected"),
    [
        (["A", "C"], [". A C"], ("", True)),
        (["A", "C"], [". A C", "rs5 A C"], ("rs5", True)),
        (["A", "C"], ["rs5 A C", "rs5 A C,T"], ("rs5", True)),
        (["A", "C"], ["rs5 a c"], ("rs5", True)),
        (["A", "C"], ["rs5 A C . PASS"], ("rs5", True)),
        (["A", "C"], ["rs5 A C . q10;s50"], ("", False)),
        (["A", "C"], ["rs5 A ."], ("", False)),
        (["A", "C"], ["rs5 A <DEL>", "rs6 A A[20:5["], ("", False)),
        (["A", "C", "*"], ["rs5 AC *"], ("rs5", True)),
        (["AT", "A", "GT"], ["rs5 A G"], ("rs5", True)),
        (["AT", "AG"], ["rs5 ATT AGT,A"], ("rs5", True)),
    ],
)
def test_further_cases(
    tmp_path: Path, alleles: list[str], records: list[str], expected: tuple[str, bool]
) -> None:
    assert names_of(tmp_path, records, alleles) == expected


BASES = st.text("AC", min_size=1, max_size=5)


@given(BASES, st.integers(1, 6), BASES, st.integers(1, 6), BASES)
@settings(max_examples=500)
def test_events_are_equal_if_their_haplotypes_are(
    rest: str, one_length: int, one: str, other_length: int, other: str
) -> None:
    reference = f"{rest}ACCAAC"
    events = [
        event_of(reference[:length], alt)
        for length, alt in [(one_length, one), (other_length, other)]
    ]
    haplotypes = [one + reference[one_length:], other + reference[other_length:]]
    assert (events[0] == events[1]) == (haplotypes[0] == haplotypes[1])


def plain_names(
    calls: list[tuple[int, list[str]]], known: list[tuple[int, str, str, list[str], str]]
) -> list[tuple[str, bool]]:
    """Return ID and flag of each record, by the haplotypes of all pairs of alleles."""
    found = []
    for position, (ref, *alts) in calls:
        ids = []
        for at, name, known_ref, known_alts, status in known:
            longest = max(ref, known_ref, key=len)
            own = {alt + longest[len(ref) :] for alt in alts}
            others = {alt + longest[len(known_ref) :] for alt in known_alts}
            if at == position and status in {".", "PASS"} and own & others:
                ids.append(name)
        found.append((";".join(name for name in ids if name != "."), bool(ids)))
    return found


@pytest.mark.parametrize("is_csi", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_many_records_on_two_contigs(tmp_path: Path, is_csi: bool) -> None:
    """Sparse and dense positions, long deletions over other records, and other contigs."""
    random = Random(5)  # noqa: S311  (the same records on every run)
    text = "".join(random.choices("ACGT", k=200_000))

    def alleles_at(position: int) -> list[str]:
        ref = text[position - 1 : position + random.choice([0, 0, 0, 1, 3, 40])]
        alts = {"".join(random.choices("ACGT", k=random.choice([1, 1, 2]))) for _ in range(2)}
        return [ref, *sorted(alts - {ref})]

    positions = sorted({random.randrange(1, 199_000) for _ in range(3000)} | set(range(500, 900)))
    known = []
    for number, position in enumerate(positions):
        for copy in range(random.choice([1, 1, 2])):
            ref, *alts = alleles_at(position)
            status = random.choice([".", "PASS", "q10"])
            known.append((position, random.choice([f"rs{number}_{copy}", "."]), ref, alts, status))
    lines = [
        f"{contig} {at} {name} {ref} {','.join(alts)} . {status} AF=0.1"
        for contig in ("1", "2")
        for at, name, ref, alts, status in known
        if contig == "1" or at % 7
    ]
    path = known_file(tmp_path / "known.vcf.gz", lines, is_csi=is_csi)
    chosen = sorted([*random.sample(positions, 300), 199_500])
    made = [(position, alleles_at(position)) for position in chosen]
    calls = calls_at(made)
    finder = KnownVariants([KnownFile(DBSNP, path)])
    rows = np.arange(len(made)) % 5 > 0
    for contig in ("1", "2", "3"):
        of_contig = [entry for entry in known if contig == "1" or (contig == "2" and entry[0] % 7)]
        names = finder.names_of(contig, calls, rows)
        found = [
            (row.tobytes().decode(), bool(flag))
            for row, flag in zip(names.ids, names.flags[:, 0], strict=True)
        ]
        expected = plain_names(made, of_contig)
        assert found == [e if row else ("", False) for e, row in zip(expected, rows, strict=True)]
        assert any(flag for _, flag in found) == (contig != "3")


def test_several_files(tmp_path: Path) -> None:
    """Flags ascend; two files may share one."""
    first = known_file(tmp_path / "a.vcf.gz", ["1 5 x A C . . .", "1 9 y G T . . ."])
    second = known_file(tmp_path / "b.vcf.gz", ["1 7 z A C . . ."])
    files = [KnownFile(DBSNP, first), KnownFile("B", second), KnownFile("B", first)]
    calls = calls_at([(5, ["A", "C"]), (7, ["A", "C"]), (8, ["A", "C"])])
    names = KnownVariants(files).names_of("1", calls, np.ones(3, dtype=np.bool_))
    assert flags_of(files) == ("B", "DB")
    assert names.flags.tolist() == [[1, 1], [1, 0], [0, 0]]
    assert [row.tobytes() for row in names.ids] == [b"x", b"", b""]
    none = KnownVariants([]).names_of("1", calls, np.ones(3, dtype=np.bool_))
    assert (none.ids.data.size, none.flags.shape) == (0, (3, 0))


def test_ids_keep_their_bytes(tmp_path: Path) -> None:
    path = tmp_path / "known.vcf.gz"
    plain = tmp_path / "known.vcf"
    plain.write_bytes(HEADER.encode() + b"20\t10\t\xff\xe9\tA\tC\t.\t.\t.\n")
    compress(plain, path)
    calls = calls_at([(10, ["A", "C"])])
    finder = KnownVariants([KnownFile(DBSNP, path)])
    names = finder.names_of("20", calls, np.ones(1, dtype=np.bool_))
    assert names.ids[0].tobytes() == b"\xff\xe9"


def test_too_few_columns(tmp_path: Path) -> None:
    file = KnownFile(DBSNP, known_file(tmp_path / "known.vcf.gz", ["20 10 rs1 A C"]))
    calls = calls_at([(10, ["A", "C"])])
    with pytest.raises(InputError, match="record at 20:10: 5 columns, expected at least 7"):
        KnownVariants([file]).names_of("20", calls, np.ones(1, dtype=np.bool_))


CONTIGS = {"20": 1000, "21": 500}


@pytest.mark.parametrize(
    ("lines", "header", "message"),
    [
        (["chr20 10 rs1 A C . . ."], HEADER, "no contig of the reference .found 'chr20'"),
        (
            ["20 10 rs1 A C . . ."],
            HEADER.replace("#CHROM", "##contig=<ID=20,assembly=b38,length=999>\n#CHROM"),
            "contig '20' has 999 bases, but 1000 in the reference",
        ),
    ],
)
def test_variants_of_another_reference(
    tmp_path: Path, lines: list[str], header: str, message: str
) -> None:
    file = KnownFile(DBSNP, known_file(tmp_path / "known.vcf.gz", lines, header))
    with pytest.raises(InputError, match=message):
        check_known(file, CONTIGS)


@pytest.mark.parametrize("lines", [["20 10 rs1 A C . . .", "chr7 5 . A C . . ."], []])
def test_variants_of_this_reference(tmp_path: Path, lines: list[str]) -> None:
    header = HEADER.replace("#CHROM", "##contig=<ID=20,length=1000>\n##contig=<ID=7>\n#CHROM")
    path = known_file(tmp_path / "known.vcf.gz", lines, header)
    check_known(KnownFile(DBSNP, path), CONTIGS)
    with IndexedVcf(path) as source:
        assert source.contig_lengths() == {"20": 1000}
