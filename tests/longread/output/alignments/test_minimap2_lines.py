"""Lines of minimap2 2.30, parsed and written again in other forms, byte for byte."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pysam
import pytest

from hapgpu.io.alignments.unsorted_header import unsorted_header
from hapgpu.longread.align.batches import NO_PARENT
from hapgpu.longread.options import Difference, LineOptions, MappingOptions
from hapgpu.longread.output.aligned_parts import AlignmentWriter
from hapgpu.longread.output.parts import all_lines
from hapgpu.longread.output.rows import AlignedBlock
from tests.longread.output.alignments.written_lines import (
    Record,
    StandInIndex,
    parsed,
    read_records,
    target_codes,
)

SAM: Final = LineOptions(is_sam=True)
PAF: Final = LineOptions(has_cigar=True, difference=Difference.CS)
ALL: Final = MappingOptions()


class Literals(NamedTuple):
    """Files with lines of the same mappings, and what was mapped."""

    name: str
    reference: str
    reads: str


SETS: Final = (
    *(
        Literals(f"chain.{preset}", "chain/ref.fa.gz", "chain/reads.fa.gz")
        for preset in ("map-ont", "map-pb", "map-hifi", "lr-hq")
    ),
    Literals("lambda_ont.map-ont", "../genomes/lambda.NC_001416.fa.gz", "lambda_ont.fq.gz"),
    Literals("ecoli_clr.map-pb", "../genomes/ecoli.NC_000913.2.fa.gz", "ecoli_clr.fa.gz"),
    Literals("hg003_hifi.map-hifi", "grch38_chr20_8900001_9200000.fa.gz", "hg003_hifi.fa.gz"),
)
DIGESTS: Final = (
    ("sam_MD_Y", "map-ont", ALL, replace(SAM, difference=Difference.MD, soft_clips_all=True)),
    ("paf_eqx_MD", "map-ont", ALL, replace(PAF, difference=Difference.MD, splits_matches=True)),
    (
        "sam_cslong_L_hq",
        "lr-hq",
        ALL,
        replace(SAM, difference=Difference.LONG_CS, moves_long_cigars=True),
    ),
    (
        "paf_no2nd_nohit",
        "map-hifi",
        MappingOptions(prints_secondary=False, prints_unmapped=True),
        LineOptions(has_cigar=True),
    ),
    ("sam_hitonly", "map-pb", ALL, replace(SAM, difference=Difference.MD, mapped_only=True)),
)


class MadeBlock(NamedTuple):
    """The parsed lines of a file, the lines, and the reference."""

    block: AlignedBlock
    lines: list[str]
    header: list[str]
    targets: list[Record]
    reads: list[Record]


@cache
def records_of(path: Path) -> list[Record]:
    return read_records(path)


@cache
def block_from(directory: Path, literals: Literals, suffix: str) -> MadeBlock:
    with gzip.open(directory / "aligned" / f"{literals.name}.{suffix}.gz", "rt") as file:
        all_lines = file.read().splitlines()
    lines = [line for line in all_lines if not line.startswith("@")]
    named = {line.partition("\t")[0] for line in lines}
    reads = [read for read in records_of(directory / literals.reads) if read.name in named]
    targets = records_of(directory / literals.reference)
    block = parsed(lines, reads, targets, is_sam=suffix == "sam")
    return MadeBlock(block, lines, all_lines[: -len(lines)], targets, reads)


def written(made: MadeBlock, options: MappingOptions, line_options: LineOptions) -> list[str]:
    index, targets = StandInIndex.of(made.targets), target_codes(made.targets)
    write = AlignmentWriter(index, targets, options, line_options)
    lines = all_lines(write(made.block, 0))
    return lines.text.tobytes().decode().splitlines()


@pytest.fixture(params=SETS, ids=[literals.name for literals in SETS])
def literals(request: pytest.FixtureRequest) -> Literals:
    return request.param  # type: ignore[no-any-return]  (pytest does not know the type)


def test_lines_again(data_dir: Path, literals: Literals) -> None:
    directory = data_dir / "longread"
    sam, paf = (block_from(directory, literals, suffix) for suffix in ("sam", "paf"))
    assert written(sam, ALL, SAM) == sam.lines
    assert written(sam, ALL, PAF) == paf.lines
    assert written(paf, ALL, PAF) == paf.lines
    mapped_only = replace(SAM, mapped_only=True)
    mapped = [line for line in sam.lines if line.split("\t")[1] != "4"]
    assert written(sam, ALL, mapped_only) == written(paf, ALL, mapped_only) == mapped


def test_header(data_dir: Path, literals: Literals) -> None:
    made = block_from(data_dir / "longread", literals, "sam")
    names, lengths = zip(*((each.name, len(each.bases)) for each in made.targets), strict=True)
    header = unsorted_header(names, lengths, None, None).text.splitlines()
    assert header == [line for line in made.header if not line.startswith("@PG")]


@pytest.mark.parametrize(("column", "preset", "options", "line_options"), DIGESTS)
def test_digests(
    data_dir: Path,
    column: str,
    preset: str,
    options: MappingOptions,
    line_options: LineOptions,
) -> None:
    directory = data_dir / "longread"
    literals = next(each for each in SETS if each.name == f"chain.{preset}")
    with gzip.open(directory / "aligned" / "chain.digest.tsv.gz", "rt") as file:
        header, *rows = (line.rstrip("\n").split("\t") for line in file)
    expected = {row[0]: row[header.index(column)] for row in rows}
    made = block_from(directory, literals, "sam")
    found = {read.name: b"" for read in made.reads}
    for line in written(made, options, line_options):
        found[line.partition("\t")[0]] += line.encode() + b"\n"
    for name, lines in found.items():
        digest = hashlib.md5(lines, usedforsecurity=False).hexdigest()[:12]
        assert (digest if lines else "-") == expected[name], name


def test_records_tell_the_reference(data_dir: Path, literals: Literals, tmp_path: Path) -> None:
    """The bases of the reference, rebuilt by pysam from the records and MD, are the reference."""
    made = block_from(data_dir / "longread", literals, "sam")
    names, lengths = zip(*((each.name, len(each.bases)) for each in made.targets), strict=True)
    options = replace(SAM, difference=Difference.MD, splits_matches=True, secondary_bases=True)
    records = "\n".join(written(made, ALL, options)) + "\n"
    path = tmp_path / "records.sam"
    path.write_text(unsorted_header(names, lengths, None, None).text + records)
    bases = {each.name: each.bases.decode().upper() for each in made.targets}
    with pysam.AlignmentFile(str(path)) as file:
        checked = 0
        for record in file:
            if record.is_unmapped:
                continue
            assert record.reference_name is not None
            start, end = record.reference_start, record.reference_end
            target = np.array(list(bases[record.reference_name][start:end]))
            found = np.array(list(record.get_reference_sequence().upper()))
            is_known = np.isin(target, list("ACGT"))
            assert (found[is_known] == target[is_known]).all()
            assert (found[~is_known] == "N").all()
            counts = dict(zip("MIDNSHP=XB", record.get_cigar_stats()[0], strict=False))
            if not record.get_tag("nn"):
                assert record.get_tag("NM") == counts["I"] + counts["D"] + counts["X"]
            checked += 1
        assert checked


def test_without_alignment(data_dir: Path) -> None:
    """A mapping without an alignment has no tag about one."""
    made = block_from(data_dir / "longread", SETS[0], "sam")
    mappings = made.block.aligned.mappings.copy()
    mappings["operations"] = 0
    aligned = made.block.aligned._replace(mappings=mappings)
    changed = made._replace(block=replace(made.block, aligned=aligned))
    options = replace(SAM, difference=Difference.CS)
    for line in written(changed, ALL, options):
        fields = line.split("\t")
        assert fields[5] == "*"
        assert not {"NM", "ms", "AS", "nn", "de", "SA", "cs"} & {tag[:2] for tag in fields[11:]}


def test_parts_without_numbers(data_dir: Path) -> None:
    """With -P, later parts of a split mapping have neither number nor parent: they are primary."""
    made = block_from(data_dir / "longread", SETS[0], "sam")
    mappings = made.block.aligned.mappings.copy()
    mappings["number"] = mappings["parent"] = NO_PARENT
    mappings["is_first_primary"] = 0
    aligned = made.block.aligned._replace(mappings=mappings)
    changed = made._replace(block=replace(made.block, aligned=aligned))
    for line in written(changed, ALL, replace(SAM, mapped_only=True)):
        assert int(line.split("\t")[1]) & ~16 == 2048


def test_writer(data_dir: Path) -> None:
    made = block_from(data_dir / "longread", SETS[0], "sam")
    index, targets = StandInIndex.of(made.targets), target_codes(made.targets)
    for form, prefix in ((SAM, "sam"), (PAF, "paf")):
        write = AlignmentWriter(index, targets, ALL, replace(form, copies_comments=True))
        lines = all_lines(write(made.block, 17))
        plain = block_from(data_dir / "longread", SETS[0], prefix).lines
        comments = {read.name: read.header.decode().partition(" ")[2] for read in made.reads}
        assert any(comments.values())
        expected = [
            "\t".join([line, *filter(None, [comments[line.partition("\t")[0]]])]) for line in plain
        ]
        assert lines.text.tobytes().decode().splitlines() == expected
        assert lines.counts["reads"] == len(made.reads)
        assert lines.counts["bases"] == sum(len(read.bases) for read in made.reads)
        assert lines.counts["anchors"] == 17
        assert lines.counts["records"] == len(plain)
