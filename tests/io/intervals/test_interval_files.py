"""Files of intervals: formats, names, compression, and what they refuse."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import InputError, UsageError
from hapgpu.io.genome.regions import read_bed
from hapgpu.io.intervals.choice import IntervalRules, read_choice
from hapgpu.io.intervals.formats import read_bed_rows, read_interval_list
from hapgpu.io.intervals.given import GivenRows, read_given
from hapgpu.io.intervals.names import names_file
from hapgpu.io.intervals.rows import IntervalRows
from hapgpu.io.intervals.sets import Line
from hapgpu.io.intervals.variant_spans import read_variant_spans

MAX_RECORD = 1 << 20
LENGTHS = {"chr2": 1000, "chr1": 500, "HLA*01:01": 90}
HEADER = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr1\tLN:500\n@SQ\tSN:chr2\tLN:1000\tM5:x\n@CO\tx\n"
VCF_HEADER = (
    "##fileformat=VCFv4.2\n##contig=<ID=chr1>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
)
LISTED = "chr1\t5\t9\t+\ta\nchr2\t100\t100\t-\tb\n"
RECORDS = "chr1\t5\t.\tACGTA\tA\t.\t.\tDP=3\nchr2\t100\trs1\tA\t<DEL>\t.\t.\tEND=120;SVTYPE=DEL\n"


def shown(rows: IntervalRows) -> list[str]:
    return [rows.text(row) for row in range(len(rows))]


def called(path: Path | str, *others: str) -> list[str]:
    """Return the intervals of a file on the contigs, as text."""
    choice = read_choice([str(path), *others], [], IntervalRules(), MAX_RECORD)
    line = Line(LENGTHS)
    found = line.placed(choice.on(line, LENGTHS, lambda: LENGTHS))
    return [
        f"{contig}:{start + 1}-{end}"
        for contig, start, end in zip(found[0], found[1].tolist(), found[2].tolist(), strict=True)
    ]


def outcome_of(read: Callable[[], Iterable[str]]) -> list[str] | str:
    """Return the intervals that are read, each once, or the message of the error."""
    try:
        return list(dict.fromkeys(read()))
    except InputError as error:
        return str(error)


def written(path: Path, text: str, kind: str = "plain") -> Path:
    if kind == "plain":
        path.write_text(text, encoding="utf-8")
    elif kind == "gzip":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        with pysam.BGZFile(str(path), "wb") as file:
            file.write(text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("x.bed", "chr1\t4\t9\nchr2\t99\t100\n", ["chr2:100-100", "chr1:5-9"]),
        ("x.BED", "chr1 4  9\n", ["chr1:5-9"]),
        ("x.bed", "#a\ntrack x\nbrowser y\nchr1\t4\t9\tn\t0\t+\n\n#b\nchr1\t9\t10", ["chr1:5-10"]),
        ("x.bed", "chr1\t4\t9\r\nchr1\t20\t30\r\n", ["chr1:5-9", "chr1:21-30"]),
        ("x.bed", "chr1\t4\t9000\n", ["chr1:5-500"]),
        ("x.interval_list", HEADER + LISTED, ["chr2:100-100", "chr1:5-9"]),
        ("x.Interval_List", f"{HEADER}\n@CO\tlate\nchr1\t005\t9\t+\ta\t\n", ["chr1:5-9"]),
        ("x.interval_list", LISTED, ["chr2:100-100", "chr1:5-9"]),
        ("x.interval_list", "@HD\tVN:1.6\n" + LISTED, ["chr2:100-100", "chr1:5-9"]),
        ("x.vcf", VCF_HEADER + RECORDS, ["chr2:100-120", "chr1:5-9"]),
        ("x.VCF", (VCF_HEADER + RECORDS).replace("\n", "\r\n"), ["chr2:100-120", "chr1:5-9"]),
        ("x.list", "chr2\n", ["chr2:1-1000"]),
        ("x.intervals", " chr1:5-9\t\r\n\nchr2:1,000+\nunmapped\n", ["chr2:1000-1000", "chr1:5-9"]),
        ("x.LIST", "HLA*01:01:5-9\nHLA*01:01", ["HLA*01:01:1-90"]),
        ("x.txt", "chr1\t4\t9\n", ["chr1:5-9"]),
        ("x", "chr1\t4\t9\tname\t0\t+\n", ["chr1:5-9"]),
        ("x.txt", "chr1 4 9\n", ["chr1:5-9"]),
    ],
)
def test_formats(tmp_path: Path, name: str, text: str, expected: list[str]) -> None:
    path = written(tmp_path / name, text)
    assert names_file(str(path))
    assert called(path) == expected


@pytest.mark.parametrize("kind", ["gzip", "bgzip"])
@pytest.mark.parametrize("suffix", ["gz", "bgz"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.bed", "chr1\t4\t9\n"),
        ("x.interval_list", f"{HEADER}chr1\t5\t9\t+\ta\n"),
        ("x.vcf", f"{VCF_HEADER}chr1\t5\t.\tACGTA\tA\t.\t.\t.\n"),
    ],
)
def test_compressed(tmp_path: Path, name: str, text: str, suffix: str, kind: str) -> None:
    assert called(written(tmp_path / f"{name}.{suffix}", text, kind)) == ["chr1:5-9"]


def test_bcf(tmp_path: Path) -> None:
    header = "##contig=<ID=chr1,length=500>\n##contig=<ID=chr2,length=1000>\n"
    header += '##INFO=<ID=END,Number=1,Type=Integer,Description="x">\n'
    header += '##INFO=<ID=DP,Number=1,Type=Integer,Description="x">\n'
    header += '##INFO=<ID=SVTYPE,Number=1,Type=String,Description="x">\n'
    header += '##ALT=<ID=DEL,Description="x">\n'
    text = VCF_HEADER.replace("##contig=<ID=chr1>\n", header) + RECORDS
    vcf = written(tmp_path / "x.vcf", text)
    with (
        pysam.VariantFile(str(vcf)) as records,
        pysam.VariantFile(str(tmp_path / "x.bcf"), "wb", header=records.header) as output,
    ):
        for record in records:
            output.write(record)
    assert called(tmp_path / "x.bcf") == called(vcf) == ["chr2:100-120", "chr1:5-9"]


NO_COLUMNS = "found 3 columns, expected 5"
MALFORMED = [
    ("x.bed", "chr1\t9\t9\n", "line 1: start 9 is not below end 9"),
    ("x.bed", "#\nchr1\t4\t9\nchr1\t5\n", "line 3: found 2 columns, expected at least 3"),
    ("x.bed", "chr1\t-4\t9\n", "line 1: start is '-4'"),
    ("x.bed", "chr1\t4\t9\nchr1\tnan\t9\n", "line 2: start is 'nan'"),
    ("x.bed", f"chr1\t4\t{2**31}\n", f"line 1: start is '4' and end is '{2**31}'"),
    ("x.bed", f"chr1\t4\t{'9' * 5000}\n", "line 1: start is '4' and end is '9999"),
    ("x.bed", HEADER + LISTED, "line 1: start is 'VN:1.6'"),
    ("x.bed", "chr1:5-9\n", "line 1: found 1 columns"),
    ("x.bed", b"\xff\xfe\n", "not BED"),
    ("x.bed", b"\x1f\x8b\x08\x00junk", "truncated compressed file"),
    ("x.bed", gzip.compress(b"chr1\t4\t9\n" * 99, mtime=0)[:-9], "truncated compressed file"),
    ("x.bed", "chr1\t4\t9\n" * 120_000, "longer than 1 MiB; raise --max-record"),
    ("x.interval_list", "", "no intervals"),
    ("x.interval_list", "chr1\t4\t9\n", f"line 1: {NO_COLUMNS}"),
    ("x.interval_list", "chr1:4-9\n", "line 1: found 1 columns, expected 5"),
    ("x.interval_list", "chr3\t4\t9\t+\ta\n", "chr3:4-9: no contig 'chr3' in the reference"),
    ("x.interval_list", HEADER, "no intervals"),
    ("x.interval_list", "@SQ\tSN:chr1\tLN:x\n" + LISTED, "line 1: @SQ without SN or LN"),
    ("x.interval_list", "@SQ\tLN:5\n" + LISTED, "line 1: @SQ without SN or LN"),
    ("x.interval_list", f"{HEADER}@SQ\tSN:chr1\tLN:9\n", "line 5: contig 'chr1' has two lengths"),
    ("x.interval_list", f"{HEADER}chr1\t4\t9\n", f"line 5: {NO_COLUMNS}"),
    ("x.interval_list", f"{HEADER}{LISTED}chr1 4 9 + a\n", "line 7: found 1 columns"),
    ("x.interval_list", f"{HEADER}chr1\t4\t9\t+\t\n", "line 5: found 4 columns"),
    ("x.interval_list", f"{HEADER}chr1\t4\t9\t.\ta\n", "line 5: strand is '.'"),
    ("x.interval_list", f"{HEADER}chr1\t0\t9\t+\ta\n", "line 5: start is '0'"),
    ("x.interval_list", f"{HEADER}chr1\t-1\t9\t+\ta\n", "line 5: start is '-1'"),
    ("x.interval_list", f"{HEADER}chr1\t9\t8\t+\ta\n", "line 5: start 9 is after end 8"),
    ("x.interval_list", f"{HEADER}chr1\t9\t501\t+\ta\n", "chr1:9-501: @SQ has only 500 bases"),
    ("x.interval_list", f"{HEADER}chr3\t9\t10\t+\ta\n", "chr3:9-10: no @SQ line"),
    ("x.interval_list", b"@SQ\tSN:\xff\tLN:5\n", "not interval_list"),
    ("x.vcf", "", "does not start with ##fileformat=VCFv4"),
    ("x.vcf", "chr1\t4\t9\n", "does not start with ##fileformat=VCFv4"),
    ("x.vcf", VCF_HEADER, "no records"),
    ("x.vcf", f"{VCF_HEADER}chr1\t5\t.\tA\n", "line 4: found 4 columns, expected at least 8"),
    ("x.vcf", f"{VCF_HEADER}chr1\t0\t.\tA\tC\t.\t.\t.\n", "line 4: POS is '0'"),
    ("x.vcf", f"{VCF_HEADER}chr1\tx\t.\tA\tC\t.\t.\t.\n", "line 4: POS is 'x'"),
    ("x.vcf", f"{VCF_HEADER}chr1\t5\t.\tA\tC\t.\t.\tEND=4\n", "line 4: END is '4', but POS is 5"),
    ("x.vcf", f"{VCF_HEADER}chr1\t5\t.\tA\tC\t.\t.\tDP=1;END=.\n", "line 4: END is '.'"),
    ("x.list", "", "no intervals"),
    ("x.list", " \n\n", "no intervals"),
    ("x.list", "@HD\tVN:1.6\n", "line 1: no contig '@HD\\tVN'"),
    ("x.list", "chr1\t4\t9\n", "line 1: no contig 'chr1\\t4\\t9'"),
    ("x.list", "# comment\nchr1\n", "line 1: no contig '# comment'"),
    ("x.list", "chr1\nchr1:5-2\n", "line 2: end 2 is before start 5"),
    ("x.list", "chr1\nchr1:-5-2\n", "line 2: malformed"),
    ("x.list", b"\x00\xff", "not a list of intervals"),
    ("x.list.gz", "chr1\n", "unknown extension, and not BED"),
    ("x.txt", "", "unknown extension, and not BED"),
    ("x.txt", "chr1:5-9\n", "unknown extension, and not BED"),
    ("x.txt", "chr1\t9\t9\n", "unknown extension, and not BED"),
    ("x.txt", HEADER + LISTED, "unknown extension, and not BED"),
    ("x.txt", "chr1\t5\t9\t+\ttarget\n", "may be BED or interval_list"),
    ("x.bed", "chr3\t4\t9\n", "chr3:5-9: no contig 'chr3' in the reference"),
    ("x.bed", "1\t4\t9\n", "1:5-9: no contig '1' in the reference; found 'chr1' instead"),
    ("x.bed", "chr1\t500\t501\n", "chr1:501-501: chr1 has only 500 bases"),
    ("x.vcf", f"{VCF_HEADER}chr1\t500\t.\tAC\tC\t.\t.\t.\n", "chr1:500-501: chr1 has only 500"),
    ("x.vcf", f"{VCF_HEADER}chr9\t500\t.\tAC\tC\t.\t.\t.\n", "chr9:500-501: no contig 'chr9'"),
]


@pytest.mark.parametrize(("name", "content", "message"), MALFORMED)
def test_malformed(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises((InputError, UsageError)) as error:
        called(path)
    where, _, what = str(error.value).partition(name)
    assert where == f"{tmp_path}{os.sep}"
    assert what.lstrip(":, ").startswith(message)
    assert "\n" not in str(error.value)


def test_the_header_of_another_assembly(tmp_path: Path) -> None:
    """Contigs of the header that the reference lacks do no harm without intervals."""
    path = tmp_path / "x.interval_list"
    path.write_text(f"{HEADER}@SQ\tSN:chrUn\tLN:7\nchr1\t5\t9\t+\ta\n")
    assert called(path) == ["chr1:5-9"]
    path.write_text("@SQ\tSN:chr1\tLN:500\n@SQ\tSN:chr2\tLN:1001\nchr1\t5\t9\t+\ta\n")
    with pytest.raises(UsageError, match="contig 'chr2' has 1,001 bases, but 1,000 in the refer"):
        called(path)
    path.write_text("@SQ\tSN:chr3\tLN:500\nchr3\t5\t9\t+\ta\n")
    with pytest.raises(UsageError, match="chr3:5-9: no contig 'chr3' in the reference"):
        called(path)


def test_a_pipe_is_bed(tmp_path: Path) -> None:
    """`-L <(zcat x.bed.gz)`, and /dev/null."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("chr1\t4\t9\t-\tname\n",))
    writer.start()
    assert called(path) == ["chr1:5-9"]
    writer.join()
    assert called("/dev/null") == []


@pytest.mark.parametrize("value", ["x.bed", "x.vcf.gz", "x.list", "x.interval_list", "x.bcf", "-"])
def test_names_of_files(tmp_path: Path, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert names_file(value)
    if value != "-":
        with pytest.raises(InputError, match=f"{value}: no such file"):
            read_given("-L", value, MAX_RECORD)


@pytest.mark.parametrize(
    "value", ["chr1", "chr1:5", "GL000192.1", "x.list.gz", "a/b", "", "\0", "x" * 10_000, "folder"]
)
def test_texts(tmp_path: Path, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert not names_file(value)


def test_many_lines(tmp_path: Path) -> None:
    """More than one block, the last of them malformed."""
    count = 150_000
    lines = [f"chr2\t{row % 900 + 1}\t{row % 900 + 3}\t+\tx{row}\n" for row in range(count)]
    path = tmp_path / "x.interval_list"
    path.write_text(HEADER + "".join(lines))
    rows, lengths = read_interval_list(str(path), 1 << 24)
    assert shown(rows) == [f"chr2:{row % 900 + 1}-{row % 900 + 3}" for row in range(count)]
    assert lengths == {"chr1": 500, "chr2": 1000}
    path.write_text(HEADER + "".join(lines) + "chr1\t1\n")
    with pytest.raises(InputError, match=f"line {count + 5}: found 2 columns"):
        read_interval_list(str(path), 1 << 24)


FIELD = st.text("019x#\t @-\r", max_size=4)
LINE = st.one_of(
    st.builds("{}\t{}\t{}{}".format, st.sampled_from(["a", "b c"]), FIELD, FIELD, FIELD),
    st.builds("a\t{}\t{}".format, st.integers(0, 9), st.integers(5, 20)),
    st.sampled_from(["", "#x", "track", "browser x", "a 1 2", "tracker\t1\t2"]),
)


@given(st.lists(LINE, max_size=6).map("\n".join))
def test_bed_as_other_commands_read_it(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """The same intervals, each once, or the same error."""
    path = tmp_path_factory.mktemp("bed") / "x.bed"
    path.write_bytes(text.encode())
    assert outcome_of(lambda: shown(read_bed_rows(str(path), MAX_RECORD))) == outcome_of(
        lambda: map(str, read_bed(path))
    )


def test_spans_of_variants(tmp_path: Path) -> None:
    """Not `CIEND`, and not a value of another key."""
    records = ["A\tC\t.\t.\tCIEND=1,2", "AC\t*\t.\t.\tX=END;END=77;Y", "A\t<NON_REF>\t.\t.\tEND=5"]
    text = "".join(f"chr1\t5\t.\t{record}\tGT\t0/0\n" for record in records)
    path = written(tmp_path / "x.vcf", VCF_HEADER + text)
    assert shown(read_variant_spans(str(path), MAX_RECORD)) == ["chr1:5-5", "chr1:5-77", "chr1:5-5"]


def test_what_is_given(tmp_path: Path) -> None:
    path = written(tmp_path / "x.bed", "chr1\t4\t9\n")
    found = read_given("-L", str(path), MAX_RECORD)
    assert isinstance(found, GivenRows)
    assert shown(found.rows) == ["chr1:5-9"]
