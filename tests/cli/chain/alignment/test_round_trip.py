"""SAM, BAM and CRAM of `hapgpu chain -a`, read by pysam and samtools."""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import pysam
import pytest

from tests.cli.chain.alignment.oracle import differences
from tests.cli.chain.command import complement, fasta_text, letters
from tests.cli.in_process import status_of_command

READS: Final = 90
SECONDARY, SUPPLEMENTARY, UNMAPPED = 256, 2048, 4
LONGEST_CIGAR: Final = 65_535
LONG_CIGAR_BASES: Final = 520_000
CHANGE_EVERY: Final = 15


@dataclass(frozen=True)
class Inputs:
    """Files of a reference and reads, and their sequences by name, in upper case."""

    fasta: Path
    reads_path: Path
    contigs: dict[str, str]
    reads: dict[str, str]


@pytest.fixture(scope="module")
def inputs(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """Write a reference, compressed by bgzip, and some of the reads with troubles."""
    directory, source = tmp_path_factory.mktemp("inputs"), data_dir / "longread"
    with gzip.open(source / "aligned" / "chain.subset.names.gz", "rt") as lines:
        names = set(sorted(lines.read().split())[:READS])
    with pysam.FastxFile(str(source / "chain" / "reads.fa.gz")) as records:
        reads = {record.name: record.sequence for record in records if record.name in names}
    with pysam.FastxFile(str(source / "chain" / "ref.fa.gz")) as records:
        contigs = {record.name: record.sequence for record in records}
    fasta, reads_path = directory / "reference.fa.gz", directory / "reads.fa"
    with pysam.BGZFile(str(fasta), "w") as file:
        file.write(fasta_text(contigs).encode())
    reads_path.write_text(fasta_text(reads))
    upper = {name: bases.upper().replace("U", "T") for name, bases in reads.items()}
    return Inputs(
        fasta, reads_path, {name: bases.upper() for name, bases in contigs.items()}, upper
    )


@pytest.fixture(scope="module")
def outputs(inputs: Inputs) -> dict[str, Path]:
    """Align the reads to SAM with MD, BAM with cs, and CRAM."""
    directory = inputs.fasta.parent
    options = {"sam": ("--MD",), "bam": ("--cs", "-N", "50", "-p", "0.1"), "cram": ("--MD",)}
    paths = {}
    for suffix, given in options.items():
        paths[suffix] = directory / f"out.{suffix}"
        arguments = ("-a", *given, inputs.fasta, inputs.reads_path, "-o", paths[suffix])
        assert status_of_command("chain", "-q", "-t", "1", *arguments) == 0
    return paths


def records_of(path: Path, reference: Path | None = None) -> list[pysam.AlignedSegment]:
    name = None if reference is None else str(reference)
    with pysam.AlignmentFile(str(path), reference_filename=name, check_sq=False) as file:
        return list(file)


@pytest.mark.parametrize("suffix", ["sam", "bam", "cram"])
def test_tags_agree_with_bases(inputs: Inputs, outputs: dict[str, Path], suffix: str) -> None:
    compared: Counter[str] = Counter()
    for record in records_of(outputs[suffix], inputs.fasta):
        if record.is_unmapped or not record.query_sequence:
            continue
        expected = differences(record, inputs.contigs[str(record.reference_name)])
        assert record.get_tag("NM") == expected.edits
        for tag, text in (("MD", expected.md), ("cs", expected.cs)):
            if record.has_tag(tag):
                assert record.get_tag(tag) == text
                compared[tag] += 1
    assert compared["cs" if suffix == "bam" else "MD"] > READS / 2


@pytest.mark.parametrize("suffix", ["sam", "bam", "cram"])
def test_records_hold_the_reads(inputs: Inputs, outputs: dict[str, Path], suffix: str) -> None:
    primaries: Counter[str] = Counter()
    for record in records_of(outputs[suffix], inputs.fasta):
        name, flag = str(record.query_name), record.flag
        read = inputs.reads[name]
        primaries[name] += not flag & (SECONDARY | SUPPLEMENTARY)
        if flag & UNMAPPED:
            assert record.query_sequence == read
            continue
        assert record.infer_read_length() == len(read)
        if record.query_sequence:
            bases = complement(read) if record.is_reverse else read
            clips = [length if code == 5 else 0 for code, length in record.cigartuples or ()]
            kept = bases[clips[0] : len(bases) - clips[-1]]
            assert _plain(record.query_sequence) == _plain(kept)
        assert (record.query_sequence is None) == bool(flag & SECONDARY)
    assert primaries == dict.fromkeys(inputs.reads, 1)


def _plain(bases: str) -> str:
    """Return the bases as A, C, G, T and N: BAM and CRAM keep other letters, in upper case."""
    return "".join(base if base in "ACGT" else "N" for base in bases.upper())


def test_other_alignments_name_records(outputs: dict[str, Path]) -> None:
    places: dict[str, set[tuple[Any, ...]]] = {}
    records = [record for record in records_of(outputs["sam"]) if not record.flag & SECONDARY]
    for record in records:
        places.setdefault(str(record.query_name), set()).add(_place(record))
    found = 0
    for record in records:
        others = record.get_tag("SA").split(";")[:-1] if record.has_tag("SA") else []
        named = {
            (contig, int(position), strand, int(quality), int(edits))
            for contig, position, strand, _, quality, edits in (text.split(",") for text in others)
        }
        if not record.is_unmapped:
            assert named == places[str(record.query_name)] - {_place(record)}
        found += len(named)
    assert found


def _place(record: pysam.AlignedSegment) -> tuple[Any, ...]:
    strand = "-" if record.is_reverse else "+"
    edits = record.get_tag("NM") if record.has_tag("NM") else None
    position = record.reference_start + 1
    return record.reference_name, position, strand, record.mapping_quality, edits


def test_formats_have_the_same_records(inputs: Inputs, outputs: dict[str, Path]) -> None:
    cram = [_fields(record) for record in records_of(outputs["cram"], inputs.fasta)]
    assert cram == [_fields(record) for record in records_of(outputs["sam"])]


def _fields(record: pysam.AlignedSegment) -> tuple[Any, ...]:
    names = ("NM", "AS", "ms", "nn", "tp", "cm", "s1", "s2", "rl", "SA", "MD")
    tags = {name: record.get_tag(name) for name in names if record.has_tag(name)}
    return (
        record.query_name,
        record.flag,
        record.reference_name,
        record.reference_start,
        record.mapping_quality,
        record.cigarstring,
        record.query_sequence and record.query_sequence.upper(),
        tags,
    )


def test_samtools_agrees(inputs: Inputs, outputs: dict[str, Path], tmp_path: Path) -> None:
    """`calmd` counts pairs of N as different, minimap2 as equal: these records are left out."""
    path = tmp_path / "sorted.bam"
    pysam.sort("-o", str(path), str(outputs["sam"]))  # type: ignore[attr-defined]
    pysam.index(str(path))  # type: ignore[attr-defined]
    for checked in (path, outputs["bam"], outputs["cram"]):
        pysam.quickcheck(str(checked))  # type: ignore[attr-defined]
    calculated = tmp_path / "calculated.sam"
    text = pysam.calmd("-Q", str(path), str(inputs.fasta))  # type: ignore[attr-defined]
    calculated.write_text(text)
    records, recalculated = records_of(path), records_of(calculated)
    compared = 0
    for record, other in zip(records, recalculated, strict=True):
        if record.is_unmapped or not record.query_sequence or record.get_tag("nn"):
            continue
        assert record.get_tag("NM") == other.get_tag("NM")
        assert record.get_tag("MD") == _without_last_zero(other.get_tag("MD"))
        compared += 1
    assert compared > READS / 2
    record = next(r for r in records if not r.flag & (SECONDARY | SUPPLEMENTARY | UNMAPPED))
    middle = (record.reference_start + int(record.reference_end or 0)) // 2
    covering = sum(
        r.reference_name == record.reference_name
        and not r.flag & (SECONDARY | UNMAPPED)
        and r.reference_start <= middle < int(r.reference_end or 0)
        for r in records
    )
    with pysam.AlignmentFile(str(path)) as file:
        columns = file.pileup(
            record.reference_name,
            middle,
            middle + 1,
            truncate=True,
            min_base_quality=0,
            stepper="all",
        )
        assert [column.nsegments for column in columns] == [covering]


def _without_last_zero(md: str) -> str:
    """Remove a count of 0 from the end, which minimap2 does not write."""
    return md[:-1] if md.endswith("0") and not md[-2].isdigit() else md


@pytest.mark.parametrize("suffix", ["sam", "bam"])
def test_long_cigars_are_restored(tmp_path: Path, suffix: str) -> None:
    """With -L, minimap2 and htslib move CIGARs that BAM cannot hold to the tag CG."""
    random = Random(3)  # noqa: S311  (reproducible data, not secrets)
    contig = letters(random, LONG_CIGAR_BASES)
    read = _with_gaps(random, contig)
    (tmp_path / "reference.fa").write_text(fasta_text({"chr1": contig}))
    (tmp_path / "reads.fa").write_text(fasta_text({"read1": read}))
    path = tmp_path / f"out.{suffix}"
    options = ("-a", "-L", "-k", "12", "-w", "2", "--MD", "-t", "1", "-q", "-o", path)
    inputs = (tmp_path / "reference.fa", tmp_path / "reads.fa")
    assert status_of_command("chain", *options, *inputs) == 0
    if suffix == "sam":
        fields = path.read_text().splitlines()[-1].split("\t")
        assert fields[5] == f"{len(read)}S{LONG_CIGAR_BASES}N"
        operations = next(text for text in fields if text.startswith("CG:B:I,")).split(",")[1:]
        assert len(operations) > LONGEST_CIGAR
    (record,) = records_of(path)
    assert not record.has_tag("CG")
    assert len(record.cigartuples or ()) > LONGEST_CIGAR
    assert record.infer_read_length() == len(read)
    assert record.reference_length == LONG_CIGAR_BASES
    expected = differences(record, contig)
    assert (record.get_tag("NM"), record.get_tag("MD")) == (expected.edits, expected.md)


def _with_gaps(random: Random, bases: str) -> str:
    """Insert or remove a base about every `CHANGE_EVERY` bases."""
    parts, at = [], 0
    while at < len(bases) - 2 * CHANGE_EVERY:
        end = at + random.randrange(CHANGE_EVERY - 2, CHANGE_EVERY + 3)
        is_insertion = random.random() < 0.5
        parts.append(bases[at:end] + letters(random, int(is_insertion)))
        at = end + (not is_insertion)
    return "".join([*parts, bases[at:]])
