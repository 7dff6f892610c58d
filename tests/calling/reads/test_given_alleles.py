"""Given alleles of a VCF: normalised, each once, and errors of files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.calling.batches import GivenAlleles
from hapgpu.calling.reads.given_alleles import GivenSites, read_given_alleles
from hapgpu.calling.reads.segments import CallingIntervals
from hapgpu.errors import InputError
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import Region

Allele = tuple[int, str, str]
"""0-based position, REF, ALT."""

REFERENCE = "GATTACACACACAGGGGTTCAATTTTTTTTTTTTTTTTTTTTGACCA"
HEAD = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"


def vcf_of(rows: Sequence[tuple[int, str, str, str]], contig: str = "c") -> str:
    """Return records of POS, REF, ALT, FILTER."""
    return HEAD + "".join(
        f"{contig}\t{position}\t.\t{ref}\t{alt}\t.\t{filter_}\t.\n"
        for position, ref, alt, filter_ in rows
    )


def sites_of(
    directory: Path, text: str, reference: str = REFERENCE, *, keeps_filtered: bool = False
) -> GivenSites:
    fasta, vcf = directory / "r.fa", directory / "a.vcf"
    fasta.write_text(f">c\n{reference}\n>d\nACGT\n")
    pysam.faidx(str(fasta))
    vcf.write_text(text)
    with ReferenceFasta(fasta) as opened:
        return read_given_alleles(vcf, opened, MAX_RECORD, keeps_filtered=keeps_filtered)


def shown(alleles: GivenAlleles, reference: str = REFERENCE) -> list[Allele]:
    return [
        (int(start), reference[start:end], bytes(alleles.alternates[k]).decode())
        for k, (start, end) in enumerate(zip(alleles.starts, alleles.ends, strict=True))
    ]


def found_in(
    directory: Path, rows: Sequence[tuple[int, str, str, str]], *, keeps_filtered: bool = False
) -> list[Allele]:
    sites = sites_of(directory, vcf_of(rows), keeps_filtered=keeps_filtered)
    return shown(sites.within("c", 0, 10**6))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((3, "T", "C"), [(2, "T", "C")]),
        ((3, "TTA", "TCA"), [(3, "T", "C")]),
        ((3, "TTA", "CTC"), [(2, "TTA", "CTC")]),
        ((6, "CAC", "C"), [(3, "TAC", "T")]),
        ((12, "CA", "CACA"), [(3, "T", "TAC")]),
        ((13, "A", "ACA"), [(3, "T", "TAC")]),
        ((13, "A", "AGG"), [(12, "A", "AGG")]),
        ((17, "GT", "GGT"), [(12, "A", "AG")]),
        ((4, "TA", "GCC"), [(3, "TA", "GCC")]),
        ((1, "GA", "A"), []),  # no event deletes the first base of a contig
        ((1, "G", "TG"), []),
        ((1, "G", "T"), [(0, "G", "T")]),
        ((2, "A", "<DEL>"), []),
        ((2, "A", "*"), []),
        ((2, "A", "*,G"), [(1, "A", "G")]),
        ((2, "A", "."), []),
        ((2, "A", "A"), []),
        ((2, "A", "N"), []),
        ((2, "a", "g"), [(1, "A", "G")]),
        ((2, "A", "T,G,T,C"), [(1, "A", "T"), (1, "A", "G"), (1, "A", "C")]),
    ],
)
def test_alleles(tmp_path: Path, row: tuple[int, str, str], expected: list[Allele]) -> None:
    assert found_in(tmp_path, [(*row, ".")]) == expected


@pytest.mark.parametrize(
    ("filter_", "is_kept"), [(".", True), ("PASS", True), ("q10", False), ("PASSx", False)]
)
def test_filtered_records(tmp_path: Path, filter_: str, *, is_kept: bool) -> None:
    rows = [(2, "A", "G", filter_)]
    assert bool(found_in(tmp_path, rows)) == is_kept
    assert found_in(tmp_path, rows, keeps_filtered=True) == [(1, "A", "G")]


def test_equal_alleles_of_different_records_are_one(tmp_path: Path) -> None:
    rows = [(5, "ACA", "A", "."), (6, "CAC", "C", "."), (6, "C", "G", "."), (8, "CAC", "C", ".")]
    assert found_in(tmp_path, rows) == [(3, "TAC", "T"), (5, "C", "G")]


def test_compressed_and_without_records(tmp_path: Path) -> None:
    assert found_in(tmp_path, []) == []
    sites_of(tmp_path, vcf_of([(2, "A", "G", ".")]))
    pysam.tabix_compress(str(tmp_path / "a.vcf"), str(tmp_path / "a.vcf.gz"))
    with ReferenceFasta(tmp_path / "r.fa") as fasta:
        sites = read_given_alleles(tmp_path / "a.vcf.gz", fasta, MAX_RECORD, keeps_filtered=False)
    assert shown(sites.within("c", 0, 100)) == [(1, "A", "G")]


def test_windows_and_counts(tmp_path: Path) -> None:
    rows = [(3, "T", "C", "."), (20, "CAATT", "C", "."), (24, "T", "A", ".")]
    sites = sites_of(tmp_path, vcf_of(rows))
    everything = [(2, "T", "C"), (19, "CAATT", "C"), (23, "T", "A")]
    for start in range(30):
        for end in range(start, 30):
            inside = [row for row in everything if row[0] < end and row[0] + len(row[1]) > start]
            assert shown(sites.within("c", start, end)) == inside
            intervals = CallingIntervals.of([Region("c", start, end), Region("d", 0, 4)])
            assert sites.count_in(intervals) == sum(start <= row[0] < end for row in everything)
    assert len(sites.within("d", 0, 4)) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (vcf_of([(2, "C", "G", ".")]), "REF has C at c:2, where .* has A"),
        (vcf_of([(46, "CAA", "C", ".")]), "ends after the 47 bases"),
        (vcf_of([(2, "A", "G", ".")], "x"), "contig 'x' is not in"),
        (vcf_of([(5, "A", "G", "."), (3, "T", "C", ".")]), "not sorted"),
        (vcf_of([(2, "A", "G;", ".")]), "ALT"),
        (vcf_of([(-2, "A", "G", ".")]), "POS"),
        (HEAD + "c\tx\n", "line 3"),
        ("", "empty"),
        ("\x00\x01\x02", "fileformat|VCF"),
        ("##fileformat=VCFv4.2\n", "truncated"),
    ],
)
def test_errors(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sites_of(tmp_path, text)


def changed(reference: str, allele: Allele) -> str:
    position, ref, alt = allele
    assert reference[position:].startswith(ref)
    return reference[:position] + alt + reference[position + len(ref) :]


def is_normal(reference: str, allele: Allele) -> bool:
    """Tell whether no other event with fewer bases, or further left, makes the same haplotype."""
    position, ref, alt = allele
    if len(ref) == len(alt) or not (ref[0] == alt[0] and 1 in {len(ref), len(alt)}):
        return ref[0] != alt[0] and ref[-1] != alt[-1]
    haplotype = changed(reference, allele)
    change = len(alt) - len(ref)
    for start in range(1, position + 1):
        before = reference[start - 1]
        if change < 0:
            other = (start - 1, reference[start - 1 : start - change], before)
        else:
            other = (start - 1, before, before + haplotype[start : start + change])
        if changed(reference, other) == haplotype:
            return False
    return True


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_alleles_are_normal(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The haplotype is that of the record; nothing shorter or further left has it."""
    reference = data.draw(st.text("AC", min_size=8, max_size=30))
    start = data.draw(st.integers(0, len(reference) - 2))
    ref = reference[start : data.draw(st.integers(start + 1, min(len(reference), start + 6)))]
    alt = data.draw(st.text("ACG", min_size=1, max_size=6))
    text = vcf_of([(start + 1, ref, alt, ".")])
    sites = sites_of(tmp_path_factory.mktemp("x"), text, reference)
    rows = shown(sites.within("c", 0, 100), reference)
    haplotype = changed(reference, (start, ref, alt))
    if not rows:
        same_start = haplotype.endswith(reference) or reference.endswith(haplotype)
        assert same_start, (reference, start, ref, alt)
        return
    assert [changed(reference, row) for row in rows] == [haplotype]
    assert is_normal(reference, rows[0]), rows


def test_long_shift_is_limited(tmp_path: Path) -> None:
    """A run of 3000 A: an insertion moves by at most 1000 bases."""
    reference = "C" + "A" * 3000 + "C"
    text = vcf_of([(3001, "A", "AA", ".")])
    rows = shown(sites_of(tmp_path, text, reference).within("c", 0, 4000), reference)
    assert [row[0] for row in rows] == [1999]
    assert np.all([row[1:] == ("A", "AA") for row in rows])
