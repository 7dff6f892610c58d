"""Samples of reads, by their read groups, against a dict in plain Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.read_groups import SampleTable
from tests.genotyping.short_reads import ShortRead, batch_of

BEFORE = (b"", b"NMC\5", b"XXZRGZa\0", b"XBBC\2\0\0\0RG", b"RXZb\0")
"""Tags before RG, some of them similar to it."""


def header_of(*groups: str) -> SamHeader:
    """Return a header; groups are written `ID` or `ID:SM`."""
    lines = []
    for group in groups:
        identifier, has_sample, sample = group.partition(":")
        lines.append(f"@RG\tID:{identifier}" + (f"\tLB:x\tSM:{sample}" if has_sample else ""))
    return SamHeader.from_text("\n".join(["@HD\tVN:1.6", *lines, "@CO\t@RG\tID:no\tSM:no"]))


def read_of(group: str | None, before: bytes = b"") -> ShortRead:
    field = b"" if group is None else b"RGZ" + group.encode("utf-8", "surrogateescape") + b"\0"
    return ShortRead("r1", tags=before + field + b"ASC\7")


def samples_of(table: SampleTable, file: int, *groups: str | None) -> list[str]:
    reads = batch_of([read_of("unknown"), *(read_of(group) for group in groups)])
    numbers = table.samples_of(file, reads, np.arange(1, len(reads)))
    assert numbers.dtype == np.int32
    return [table.names[number] for number in numbers]


GROUPS = st.dictionaries(
    st.text("abRGZ\u00e9 ", min_size=1, max_size=4), st.sampled_from(["s", "t", "u v", "\u00fc"])
).filter(len)


@given(groups=st.lists(GROUPS, min_size=1, max_size=3), data=st.data())
def test_a_read_has_the_sample_of_its_group(
    groups: list[dict[str, str]], data: st.DataObject
) -> None:
    headers = [header_of(*(":".join(group) for group in file.items())) for file in groups]
    table = SampleTable.of(headers, [f"{file}.bam" for file in range(len(groups))])
    assert table.names == tuple(dict.fromkeys(s for file in groups for s in file.values()))
    for number, file in enumerate(groups):
        may_lack = [None] if len(set(file.values())) == 1 else []
        some = st.tuples(st.sampled_from([*file, *may_lack]), st.sampled_from(BEFORE))
        rows = data.draw(st.lists(some, max_size=12))
        reads = batch_of([read_of(*row) for row in rows])
        found = table.samples_of(number, reads, np.arange(len(reads)))
        only_sample = next(iter(file.values()))
        assert [table.names[k] for k in found] == [
            file.get(group, only_sample) for group, _ in rows
        ]


def test_samples_of_several_files_are_one_list() -> None:
    table = SampleTable.of(
        [header_of("1:b", "2:a"), header_of("1:c", "2:b"), header_of()],
        ["x.bam", "y.bam", "directory/z.sorted.cram"],
    )
    assert table.names == ("b", "a", "c", "z.sorted")
    assert samples_of(table, 0, "2", "1", "1") == ["a", "b", "b"]
    assert samples_of(table, 1, "2", "1", "2") == ["b", "c", "b"]
    assert samples_of(table, 2, None, "2") == ["z.sorted", "z.sorted"]


@pytest.mark.parametrize(
    ("file", "sample"),
    [
        ("a/b.c/d.bam", "d"),
        ("x.sam.gz", "x"),
        ("a b\t c.bam", "a b c"),
        ("-", "sample"),
        ("a/ .bam", "sample"),
    ],
)
@pytest.mark.parametrize("groups", [(), ("1", "2"), ("1:",)])
def test_a_file_without_samples_is_one_sample(
    file: str, sample: str, groups: tuple[str, ...]
) -> None:
    table = SampleTable.of([header_of(*groups)], [file])
    assert table.names == (sample,)
    assert samples_of(table, 0, "1", None, "elsewhere") == [sample] * 3


def test_invalid_utf8_is_found() -> None:
    strange = b"g\xff".decode("utf-8", "surrogateescape")
    table = SampleTable.of([header_of("g:a", f"{strange}:b")], ["x.bam"])
    assert samples_of(table, 0, strange, "g") == ["b", "a"]


def test_a_group_may_be_repeated() -> None:
    assert SampleTable.of([header_of("1:a", "1:a")], ["x.bam"]).names == ("a",)


@pytest.mark.parametrize(
    ("groups", "read", "message"),
    [
        (("1:a", "2:b"), read_of(None), "read 'r1': no read group .* addreplacerg"),
        (("1:a",), read_of("2"), "read 'r1': .* read group '2' is not in the header"),
        (("1:a",), read_of("11"), "read group '11'"),
        (("1:a",), read_of(""), "read group ''"),
        (("11:a",), read_of("1"), "read group '1'"),
        (("1:a", "2"), read_of("2"), "group '2' has no sample .* reheader"),
        (("1:a",), ShortRead("r1", tags=b"RGA1"), "read 'r1'"),
        (("1:a",), ShortRead("r1", tags=b"RGH1\0"), "read 'r1'"),
        (("1:a",), ShortRead("r1", tags=b"RGBC\1\0\0\0001"), "read 'r1'"),
    ],
)
def test_reads_without_a_known_sample(
    groups: tuple[str, ...], read: ShortRead, message: str
) -> None:
    table = SampleTable.of([header_of(*groups)], ["directory/x.bam"])
    reads = batch_of([read_of("1" if groups[0] != "11:a" else "11"), read])
    with pytest.raises(InputError, match=f"^directory/x.bam, .*{message}"):
        table.samples_of(0, reads, np.arange(2))
    with pytest.raises(InputError, match=message):
        table.samples_of(0, reads, np.ones(1, dtype=np.int64))
    assert table.samples_of(0, reads, np.zeros(1, dtype=np.int64)).size == 1


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ([header_of("1:a", "1:b")], "one.bam: read group '1' has two"),
        ([header_of(":a")], "one.bam: an @RG line has no ID"),
        ([header_of(), header_of("1:one")], "one.bam: no sample .* 'one'"),
        ([header_of("1:two"), header_of()], "two.bam: no sample .* 'two'"),
        ([header_of("1: ")], "the sample .SM. of read group '1' is blank"),
    ],
)
def test_headers_with_ambiguous_samples(headers: list[SamHeader], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SampleTable.of(headers, ["one.bam", "two.bam"][: len(headers)])


def test_two_files_of_one_name_without_samples() -> None:
    with pytest.raises(InputError, match=r"a/x\.bam: no sample"):
        SampleTable.of([header_of(), header_of()], ["a/x.bam", "b/x.cram"])


def test_real_files(data_dir: Path) -> None:
    names = ["NA12878", "HG002"]
    paths = [str(data_dir / "illumina_na12878" / f"{name}.chr20.dev.bam") for name in names]
    batches, headers = [], []
    for path in paths:
        with open_reads(path) as source:
            headers.append(source.header)
            batches.append(next(iter(source.batches())))
    table = SampleTable.of(headers, paths)
    assert table.names == ("NA12878", "HG002")
    for file, reads in enumerate(batches):
        assert (table.samples_of(file, reads, np.arange(len(reads))) == file).all()


@pytest.mark.parametrize(("own", "sample"), [(("1:a",), "a"), ((), "x"), (("1",), "x")])
def test_called_haplotypes_are_no_sample(own: tuple[str, ...], sample: str) -> None:
    header = header_of(*own, "ArtificialHaplotypeRG:HC")
    table = SampleTable.of([header, header_of("2:HC")], ["x.bam", "y.bam"], without_haplotypes=True)
    assert table.names == (sample, "HC")
    assert samples_of(table, 0, *(group[0] for group in own), None) == [sample] * (len(own) + 1)
    assert samples_of(table, 1, "2") == ["HC"]
