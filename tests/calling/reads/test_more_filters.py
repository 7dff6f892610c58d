"""Read filters that are off by default, against GATK's rules on plain rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.calling.options import CallOptions
from hapgpu.calling.read_options import MoreFilter, ReadOptions
from hapgpu.calling.reads.file_filters import FileFilters
from hapgpu.calling.reads.filters import CallFilter
from hapgpu.calling.reads.more_filters import mask_of
from hapgpu.errors import UsageError
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.read_groups import SampleTable
from tests.calling.reads.made_segments import made_row
from tests.example_counts import many
from tests.io.sam_oracle import Row, batch_of

GROUPS = {
    "a": {"SM": "one", "PU": "lane1", "LB": "x"},
    "b": {"SM": "two", "PU": "lane2", "LB": "x"},
    "c": {"SM": "two", "PU": "lane1"},
}
HEADER = SamHeader.from_text(
    "@SQ\tSN:c\tLN:1000\n@SQ\tSN:d\tLN:1000\n"
    + "".join(
        "\t".join(["@RG", f"ID:{name}", *(f"{key}:{text}" for key, text in fields.items())]) + "\n"
        for name, fields in GROUPS.items()
    )
)
OPTIONS = ReadOptions(
    min_length=5,
    max_length=9,
    min_aligned_bases=6,
    soft_clips=2,
    samples=frozenset({"two"}),
    read_group="b",
    black_list=(("PU", "lane1"), ("ID", "b"), ("ZZ", "x")),
)


def group_of(row: Row) -> str | None:
    return next((str(text) for name, _, text in row.tags if name == "RG"), None)


def has_mapped_mate(row: Row) -> bool:
    return (
        bool(row.flag & 1 and not row.flag & 8) and min(row.mate_reference, row.mate_position) > -1
    )


def is_overclipped(row: Row) -> bool:
    letters = "".join("MIDNSHP=X"[operation] for operation, _ in row.cigar)
    blocks = [part for part in letters.replace("S", " S ").split(" ") if part]
    clips = sum(part == "S" and (k == 0 or blocks[k - 1] != "S") for k, part in enumerate(blocks))
    return sum(n for op, n in row.cigar if op in {0, 1, 7, 8}) < 6 and clips >= 2


def is_listed(row: Row) -> bool:
    fields = GROUPS.get(group_of(row) or "")
    return fields is not None and (fields["PU"] == "lane1" or group_of(row) == "b")


RULES: Mapping[MoreFilter, Callable[[Row], bool]] = {
    MoreFilter.NOT_SUPPLEMENTARY: lambda row: not row.flag & 0x800,
    MoreFilter.PROPERLY_PAIRED: lambda row: row.flag & 3 == 3,
    MoreFilter.PRIMARY_LINE: lambda row: not row.flag & 0x900,
    MoreFilter.NOT_ZERO: lambda row: row.mapping_quality != 0,
    MoreFilter.SAME_CONTIG: lambda row: (
        not has_mapped_mate(row) or row.mate_reference == row.reference
    ),
    MoreFilter.LENGTH: lambda row: 5 <= len(row.bases) <= 9,
    MoreFilter.OVERCLIPPED: lambda row: not is_overclipped(row),
    MoreFilter.SAMPLE: lambda row: group_of(row) in {"b", "c"},
    MoreFilter.READ_GROUP: lambda row: group_of(row) == "b",
    MoreFilter.BLACK_LIST: lambda row: not is_listed(row),
}
ROWS = st.builds(
    lambda flag, cigar, quality, reference, mate, group: replace(
        made_row("r", 7, cigar, mapping_quality=quality, flag=flag, reference=reference),
        mate_reference=mate[0],
        mate_position=mate[1],
        tags=(("NM", "C", 3), ("RG", "Z", group)),
    ),
    st.sampled_from([0, 1, 2, 3, 9, 0x100, 0x800, 0x801, 0x903]),
    st.sampled_from(["8M", "2S6M", "2S3M2S", "1H2S2M1D1M1S2H", "2S2I4M2S", "12M", "3M"]),
    st.sampled_from([0, 1, 60]),
    st.integers(0, 1),
    st.sampled_from([(-1, -1), (0, 3), (1, 3), (1, -1)]),
    st.sampled_from(list(GROUPS)),
)


def kept_by(rows: list[Row], options: ReadOptions) -> tuple[list[bool], dict[str, int]]:
    """Return which reads are kept, with all default filters by quality and flags off."""
    files = FileFilters(options, [HEADER], SampleTable.of([HEADER], ["x.bam"]))
    found = CallFilter(CallOptions(min_mapping_quality=0, reads=options))
    kept = files.of(found, 0).keeps(batch_of(rows), np.ones(len(rows), dtype=np.bool_))
    return kept.tolist(), dict(found.counts)


@settings(max_examples=many(300))
@given(st.lists(ROWS, max_size=12), st.permutations(list(MoreFilter)), st.integers(0, 10))
def test_any_filters_in_any_order(rows: list[Row], names: list[MoreFilter], number: int) -> None:
    chosen = tuple(names[:number])
    options = replace(OPTIONS, exclude_flags=0, filters=chosen)
    kept, counts = kept_by(rows, options)
    first = [next((name for name in chosen if not RULES[name](row)), None) for row in rows]
    assert kept == [name is None for name in first]
    assert {name: counts[name.excluded] for name in chosen} == {
        name: first.count(name) for name in chosen
    }
    assert set(counts) - {name.excluded for name in chosen} == set(CallFilter(CallOptions()).counts)


@pytest.mark.parametrize(
    ("cigar", "ends", "is_kept"),
    [
        ("4S29M4S", 2, False),
        ("4S30M4S", 2, True),
        ("4S29M", 2, True),
        ("4S29M", 1, False),
        ("29M", 1, True),
        ("2H4S20M9I20D4S", 2, False),
        ("4S20M10I4S", 2, True),
        ("2S2S29M", 2, True),
    ],
)
def test_overclipped(cigar: str, ends: int, is_kept: bool) -> None:
    """Cases of GATK's rule: at least 30 aligned bases, or fewer soft clips than ends."""
    options = ReadOptions(soft_clips=ends)
    read = batch_of([made_row("r", 7, cigar)])
    assert mask_of(MoreFilter.OVERCLIPPED, read, options, {}).tolist() == [is_kept]


def test_reads_without_or_of_unknown_groups() -> None:
    rows = [replace(made_row("r", 7, "8M"), tags=tags) for tags in [(), (("RG", "Z", "zz"),)]]
    for name, expected in [
        (MoreFilter.READ_GROUP, [False, False]),
        (MoreFilter.BLACK_LIST, [True, True]),
        (MoreFilter.SAMPLE, [True, True]),  # errors, when their samples are looked up
    ]:
        assert kept_by(rows, replace(OPTIONS, filters=(name,)))[0] == expected


def test_the_only_sample() -> None:
    """Reads of other samples are not counted."""
    rows = [
        replace(made_row(name, 7, "8M"), tags=(("RG", "Z", name),), mapping_quality=quality)
        for name in "abc"
        for quality in (60, 255)
    ]
    options = ReadOptions(only_sample="two")
    kept, counts = kept_by(rows, options)
    assert kept == [False, False, True, False, True, False]
    assert (counts["reads"], counts["without_mapping_quality"]) == (4, 2)
    table = FileFilters(options, [HEADER], SampleTable.of([HEADER], ["x.bam"])).table
    assert table.names == ("two",)
    found = table.samples_of(0, batch_of(rows), np.array([2, 4]))
    assert found.tolist() == [0, 0]


def test_files_whose_groups_have_the_same_name() -> None:
    """Each file has its own groups, and a file without samples is one sample."""
    headers = [
        SamHeader.from_text("@RG\tID:a\tSM:one\n"),
        SamHeader.from_text("@RG\tID:a\tSM:two\n"),
        SamHeader.from_text("@RG\tID:a\n"),
    ]
    table = SampleTable.of(headers, ["1.bam", "2.bam", "3.bam"])
    rows = [replace(made_row("r", 7, "8M"), tags=tags) for tags in [(), (("RG", "Z", "a"),)]]
    for number, sample in enumerate(["one", "two", "3"]):
        for options in [
            ReadOptions(only_sample=sample),
            ReadOptions(filters=(MoreFilter.SAMPLE,), samples=frozenset({sample})),
        ]:
            files = FileFilters(options, headers, table)
            for file in range(3):
                keep = files.of(CallFilter(CallOptions(reads=options)), file)
                kept = keep.keeps(batch_of(rows), np.ones(2, dtype=np.bool_))
                assert kept.tolist() == [file == number] * 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ReadOptions(only_sample="x"), "--sample-name x: no such sample in the reads; choose one"),
        (ReadOptions(samples=frozenset({"two", "x"})), "--sample x: no such sample"),
        (
            ReadOptions(read_group="x", filters=(MoreFilter.READ_GROUP,)),
            "--keep-read-group x: no such read group in the reads; choose one of a, b, c",
        ),
    ],
)
def test_names_that_are_not_there(options: ReadOptions, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        FileFilters(options, [HEADER], SampleTable.of([HEADER], ["x.bam"]))


def test_no_filter_costs_nothing() -> None:
    files = FileFilters(ReadOptions(), [HEADER], SampleTable.of([HEADER], ["x.bam"]))
    found = CallFilter(CallOptions())
    assert files.of(found, 0) is found


@pytest.mark.parametrize(
    ("options", "flag", "quality"),
    [
        (ReadOptions(exclude_flags=0x304), 0x400, 60),
        (ReadOptions(exclude_flags=0x604), 0x100, 60),
        (ReadOptions(exclude_flags=0x504), 0x200, 60),
        (ReadOptions(takes_unknown_mapping_quality=True), 0, 255),
    ],
)
def test_default_filters_that_are_off(options: ReadOptions, flag: int, quality: int) -> None:
    row = made_row("r", 7, "8M", flag=flag, mapping_quality=quality)
    for chosen, is_kept in [(options, True), (ReadOptions(), False)]:
        keep = CallFilter(CallOptions(reads=chosen))
        assert keep.keeps(batch_of([row]), np.ones(1, dtype=np.bool_)).tolist() == [is_kept]
