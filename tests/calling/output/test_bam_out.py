"""Realigned reads of real data, compared with the records that they were and with the VCF."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pysam
import pytest

from tests.calling.output.bam_out import (
    HAPLOTYPES,
    is_haplotype,
    reads_of,
    records_in,
    reference_of,
    run,
    tags_of,
    variants_in,
)

NEW_TAGS = ("NM", "MD", "OC", "OP", "OA", "HC")
OLD_TAGS = ("NM", "MD", "AS", "XS", "SA", "MC", "MQ", "ms", "BD", "BI", "BQ", "OQ")
HARD_CLIP, DELETION = 5, 2


@pytest.fixture(scope="module")
def output(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of an output, `out.bam`, of one thread and one segment per region."""
    directory = tmp_path_factory.mktemp("output")
    run([reads_of(data_dir)], reference_of(data_dir), directory / "out.bam")
    return directory


@pytest.fixture(scope="module")
def records(output: Path) -> list[pysam.AlignedSegment]:
    return records_in(output / "out.bam")


@pytest.fixture(scope="module")
def haplotypes(records: list[pysam.AlignedSegment]) -> list[pysam.AlignedSegment]:
    return [record for record in records if is_haplotype(record)]


@pytest.fixture(scope="module")
def reads(records: list[pysam.AlignedSegment]) -> list[pysam.AlignedSegment]:
    return [record for record in records if not is_haplotype(record)]


@pytest.fixture(scope="module")
def inputs(data_dir: Path) -> dict[tuple[str, int], pysam.AlignedSegment]:
    """Return the records of the input by name and segment."""
    found = (r for r in records_in(reads_of(data_dir)) if not r.flag & 0x904)
    return {(record.query_name or "", record.flag & 0xC0): record for record in found}


def clips_of(record: pysam.AlignedSegment) -> tuple[int, int]:
    elements = record.cigartuples or []
    ends = (elements[0], elements[-1])
    return tuple(n if operation == HARD_CLIP else 0 for operation, n in ends)  # type: ignore[return-value]


def test_reads_are_parts_of_the_records(
    reads: list[pysam.AlignedSegment], inputs: dict[tuple[str, int], pysam.AlignedSegment]
) -> None:
    """Bases and other fields are those of the input; qualities are lowered where mates overlap."""
    assert len(reads) > 500
    for read in reads:
        old = inputs[read.query_name or "", read.flag & 0xC0]
        first, last = clips_of(read)
        last = old.query_length - last
        assert read.query_sequence == (old.query_sequence or "")[first:last]
        qualities = zip(read.query_qualities or (), old.query_qualities[first:last], strict=True)
        assert all(new in {quality, 0, min(quality, 20)} for new, quality in qualities)
        assert read.mapping_quality == old.mapping_quality
        assert read.flag & ~0x2A == old.flag & ~0x2A
        assert tags_of(read, *NEW_TAGS) == tags_of(old, *OLD_TAGS)
        has_moved = (read.pos, read.cigarstring) != (old.pos, old.cigarstring)
        assert read.has_tag("OC") == has_moved
        if has_moved:
            assert (read.get_tag("OC"), read.get_tag("OP")) == (old.cigarstring, old.pos + 1)


def test_sorted_and_indexed(output: Path, records: list[pysam.AlignedSegment]) -> None:
    positions = [record.pos for record in records]
    assert positions == sorted(positions)
    pysam.quickcheck(str(output / "out.bam"))
    with pysam.AlignmentFile(str(output / "out.bam")) as file:
        found = list(file.fetch("chr20", 10_003_000, 10_004_000))
        expected = [r for r in records if r.pos < 10_004_000 and r.reference_end > 10_003_000]
        assert [r.to_string() for r in found] == [r.to_string() for r in expected]
        header = file.header.to_dict()
    assert [group["ID"] for group in header["RG"]] == ["NA12878", HAPLOTYPES]
    assert header["HD"]["SO"] == "coordinate"
    assert header["PG"][-1]["PN"] == "hapgpu"


def test_mismatches_are_those_of_calmd(data_dir: Path, output: Path) -> None:
    """Of reads and of haplotypes."""
    path = str(output / "out.bam")
    text = pysam.calmd("--no-PG", path, str(reference_of(data_dir)))
    found = pysam.view("-h", "--no-PG", path)

    def plain(line: str) -> tuple[list[str], list[str]]:
        fields = line.split("\t")
        return fields[:11], sorted(fields[11:])

    lines = [map(plain, each.splitlines()) for each in (text, found)]
    assert list(lines[0]) == list(lines[1])


def test_haplotypes_have_the_variants(output: Path, haplotypes: list[pysam.AlignedSegment]) -> None:
    """Each ALT is in a haplotype, and each haplotype spans a record."""
    variants = variants_in(output)
    assert len(variants) > 20
    for variant in variants:
        spanning = [h for h in haplotypes if h.pos < variant.pos and h.reference_end > variant.pos]
        found = {allele_of(haplotype, variant) for haplotype in spanning}
        assert {alt for alt in variant.alts or () if alt != "*"} <= found
    for haplotype in haplotypes:
        assert haplotype.flag == 16
        assert haplotype.mapping_quality == 60
        starts = [variant.start for variant in variants]
        assert any(haplotype.pos <= start < haplotype.reference_end for start in starts)


def allele_of(haplotype: pysam.AlignedSegment, variant: pysam.VariantRecord) -> str:
    """Return the bases of a haplotype that are aligned to REF, or inserted after its bases."""
    bases, position = "", haplotype.pos
    at, text = 0, haplotype.query_sequence or ""
    for operation, length in haplotype.cigartuples or []:
        for _ in range(length):
            # An insertion belongs to the base before it.
            here = position - (operation == 1)
            if operation != DELETION:
                bases += text[at] if variant.start <= here < variant.stop else ""
                at += 1
            position += operation != 1
    return bases


def test_haplotypes_of_reads(
    reads: list[pysam.AlignedSegment], haplotypes: list[pysam.AlignedSegment]
) -> None:
    """Names are unique; most informative reads are at called haplotypes with their bases."""
    names = Counter(haplotype.query_name for haplotype in haplotypes)
    assert set(names.values()) == {1}
    by_code = {h.get_tag("HC"): h for h in haplotypes}
    informative = [read for read in reads if read.has_tag("HC")]
    assert 0.4 * len(reads) < len(informative) < len(reads)
    called = [read for read in informative if read.get_tag("HC") in by_code]
    assert len(called) > 0.9 * len(informative)
    equal = 0
    for read in called:
        haplotype = by_code[read.get_tag("HC")]
        assert haplotype.pos <= read.pos
        assert read.reference_end <= haplotype.reference_end
        equal += (read.query_sequence or "") in (haplotype.query_sequence or "")
    assert equal > 0.8 * len(called)


def test_depths_of_alleles(
    output: Path,
    reads: list[pysam.AlignedSegment],
    haplotypes: list[pysam.AlignedSegment],
) -> None:
    """Where an active region has one record and two haplotypes, HC tells the reads of AD."""
    regions = defaultdict(list)
    for haplotype in haplotypes:
        regions[(haplotype.query_name or "").rsplit(":", 1)[0]].append(haplotype)
    compared = 0
    for variant in variants_in(output):
        found = [
            region
            for region in regions.values()
            if region[0].pos <= variant.start < region[0].reference_end
        ]
        if len(found) != 1 or len(found[0]) != 2:
            continue
        alleles = {allele_of(haplotype, variant): haplotype for haplotype in found[0]}
        first, last = variant.start - 2, variant.stop + 2
        near = [r for r in reads if r.pos < last and r.reference_end > first and r.has_tag("HC")]
        codes = Counter(read.get_tag("HC") for read in near)
        expected = [codes[alleles[name].get_tag("HC")] for name in variant.alleles or ()]
        if len(alleles) == 2 and set(alleles) == set(variant.alleles or ()):
            assert list(variant.samples[0]["AD"]) == expected
            compared += 1
    assert compared > 4


def test_mates(reads: list[pysam.AlignedSegment]) -> None:
    """A claimed mate exists; without one nothing is claimed."""
    by_name = defaultdict(list)
    for read in reads:
        by_name[read.query_name].append(read)
    claimed = 0
    for read in reads:
        if read.next_reference_id < 0:
            assert (read.flag & 0x2A, read.next_reference_start, read.template_length) == (0, -1, 0)
            continue
        claimed += 1
        mates = [
            mate
            for mate in by_name[read.query_name]
            if mate.pos == read.next_reference_start
            and mate.next_reference_start == read.pos
            and mate.template_length == -read.template_length
            and mate.flag & 0xC0 == read.flag & 0xC0 ^ 0xC0
            and mate.is_reverse == read.mate_is_reverse
        ]
        assert mates
    assert claimed > 50


@pytest.mark.parametrize(("segment_size", "threads"), [(1000, 3), (233, 2)])
def test_segments_and_threads(
    data_dir: Path, tmp_path: Path, output: Path, segment_size: int, threads: int
) -> None:
    """Also segments that are shorter than active regions."""
    out = tmp_path / "out.bam"
    reads = [reads_of(data_dir)]
    run(reads, reference_of(data_dir), out, segment_size=segment_size, threads=threads)
    for name in ("out.bam", "out.bam.csi", "called.vcf"):
        assert (tmp_path / name).read_bytes() == (output / name).read_bytes()


def test_samples_with_one_read_group(data_dir: Path, tmp_path: Path) -> None:
    """The read group of the second input gets another name, also in its reads that have it."""
    both = []
    for sample in ("NA12878", "HG002"):
        path = tmp_path / f"{sample}.bam"
        group = f"@RG\\tID:run\\tSM:{sample}"
        source, region = str(reads_of(data_dir, sample)), "chr20:9999000-10003000"
        part = tmp_path / "part.bam"
        pysam.view("-b", "--no-PG", "-o", str(part), source, region, catch_stdout=False)
        options = ["-w", "-m", "overwrite_all", "--no-PG"]
        pysam.addreplacerg("-r", group, *options, "-o", str(path), str(part), catch_stdout=False)
        if sample == "HG002":
            without_some_groups(path)
        pysam.index(str(path))
        both.append(path)
    run(both, reference_of(data_dir), tmp_path / "out.bam")
    with pysam.AlignmentFile(str(tmp_path / "out.bam")) as file:
        groups = {group["ID"]: group["SM"] for group in file.header.to_dict()["RG"]}
    assert groups == {"run": "NA12878", "run.1": "HG002", HAPLOTYPES: "HC"}
    owners = {
        (read.query_name, read.flag & 0xC0): path.stem if read.has_tag("RG") else None
        for path in both
        for read in records_in(path)
    }
    found = {
        (record.query_name, record.flag & 0xC0): groups[tag] if tag is not None else None
        for record in records_in(tmp_path / "out.bam")
        if (tag := dict(record.get_tags()).get("RG")) != HAPLOTYPES
    }
    assert set(found.values()) == {"NA12878", "HG002", None}
    assert found == {key: owners[key] for key in found}


def without_some_groups(path: Path) -> None:
    """Remove the read group of every fifth record."""
    records = records_in(path)
    for record in records[::5]:
        record.set_tag("RG", None)
    with pysam.AlignmentFile(str(path)) as file:
        header = file.header
    with pysam.AlignmentFile(str(path), "wb", header=header) as file:
        for record in records:
            file.write(record)
