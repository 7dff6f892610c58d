"""Headers of realigned reads, made of those of several inputs."""

from __future__ import annotations

from hapgpu.calling.output.realigned_records import RealignedHeader, realigned_header
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.read_groups import SampleTable

HAPLOTYPES = "@RG\tID:ArtificialHaplotypeRG\tSM:HC"
CONTIG = "@SQ\tSN:chr1\tLN:1000\tM5:abc"


def joined(*texts: str, contigs: tuple[str, ...] = ("chr1", "chr2")) -> RealignedHeader:
    headers = [SamHeader.from_text(text) for text in texts]
    names = [f"file{number}.bam" for number in range(len(texts))]
    return realigned_header(headers, SampleTable.of(headers, names), contigs)


def lines_of(found: RealignedHeader, kind: str) -> list[str]:
    return [line for line in found.header.text.splitlines() if line.startswith(kind)]


def test_one_input() -> None:
    """Fields of contigs are kept; contigs that are not called are left out."""
    found = joined(
        "@HD\tVN:1.4\tSO:unknown\n"
        f"{CONTIG}\n@SQ\tSN:other\tLN:5\n@RG\tID:a\tSM:s\n@CO\ttext\n@PG\tID:bwa\n"
    )
    assert found.header.text.splitlines() == [
        "@HD\tVN:1.6\tSO:coordinate",
        CONTIG,
        "@RG\tID:a\tSM:s",
        HAPLOTYPES,
        "@PG\tID:bwa",
        "@CO\ttext",
    ]
    assert found.new_groups == {}
    assert found.header.reference_names == ("chr1",)


def test_contigs_are_in_the_order_of_the_records() -> None:
    other = "@SQ\tSN:chr2\tLN:2000"
    found = joined(f"{CONTIG}\n", f"{other}\n{CONTIG}\n", contigs=("chr2", "chr1", "chr3"))
    assert lines_of(found, "@SQ") == [other, CONTIG]


def test_read_groups_of_one_name_and_several_samples() -> None:
    """The first keeps its name; a suffix that another has is not taken."""
    found = joined(
        "@RG\tID:a\tSM:s\n@RG\tID:a.1\tSM:s\n",
        "@RG\tPL:x\tID:a\tSM:t\n",
        "@RG\tID:a\tSM:s\tLB:other\n@RG\tID:b\tSM:u\n",
    )
    assert lines_of(found, "@RG") == [
        "@RG\tID:a\tSM:s",
        "@RG\tID:a.1\tSM:s",
        "@RG\tPL:x\tID:a.2\tSM:t",
        "@RG\tID:b\tSM:u",
        HAPLOTYPES,
    ]
    assert found.new_groups == {(b"a", 1): b"a.2"}


def test_read_groups_without_samples() -> None:
    """The sample is the file."""
    found = joined("@RG\tID:a\n", "@RG\tID:a\n")
    assert lines_of(found, "@RG") == ["@RG\tID:a", "@RG\tID:a.1", HAPLOTYPES]
    assert found.new_groups == {(b"a", 1): b"a.1"}


def test_an_input_that_is_such_an_output() -> None:
    found = joined(f"{HAPLOTYPES}\n@RG\tID:a\tSM:s\n")
    assert lines_of(found, "@RG") == [
        "@RG\tID:ArtificialHaplotypeRG.1\tSM:HC",
        "@RG\tID:a\tSM:s",
        HAPLOTYPES,
    ]


def test_programs_are_chained() -> None:
    """Programs of one name are one, so that each name that a record has exists."""
    found = joined(
        "@PG\tID:bwa\tCL:one\n@PG\tID:dup\tPP:bwa\n", "@PG\tID:bwa\tCL:two\n@PG\tID:sort\tPP:bwa\n"
    )
    lines = lines_of(found.with_program("hapgpu call x"), "@PG")
    assert lines[:3] == ["@PG\tID:bwa\tCL:one", "@PG\tID:dup\tPP:bwa", "@PG\tID:sort\tPP:bwa"]
    assert lines[3].startswith("@PG\tID:hapgpu\tPN:hapgpu\tPP:sort\t")
