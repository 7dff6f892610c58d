"""FASTA, against the written records and against pysam."""

from __future__ import annotations

import gzip
import re
import tracemalloc
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pysam
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.haplotypes.pairing.haplotype_set import parse_locus
from hapgpu.io.genome.fai import read_fai
from hapgpu.io.genome.fasta import read_fasta
from hapgpu.io.genome.fasta_text import plain_records
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import Region
from tests.example_counts import many

TEXT = ">one  a description \nACGT\nacgtN\n\n>two\r\nRYKM\r\n>three|x\nA"


def write(path: Path, text: str, packing: str = "plain") -> Path:
    if packing == "bgzf":
        with pysam.BGZFile(str(path), "w") as stream:
            stream.write(text.encode())
    else:
        path.write_bytes(gzip.compress(text.encode()) if packing == "gzip" else text.encode())
    return path


@pytest.mark.parametrize("packing", ["plain", "gzip", "bgzf"])
def test_records_are_kept_as_they_are(tmp_path: Path, packing: str) -> None:
    records = read_fasta(write(tmp_path / "h.fa", TEXT, packing))
    assert records.names == ("one", "two", "three|x")
    assert records.descriptions == ("a description", "", "")
    assert [bytes(row) for row in records.sequences] == [b"ACGTacgtN", b"RYKM", b"A"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "h.fa: no FASTA record"),
        ("\n\n", "h.fa: no FASTA record"),
        ("@read\nACGT\n+\nIIII\n", "h.fa, line 1: not FASTA"),
        (">a\n>b\nACGT\n", "h.fa, record 'a': no sequence"),
        (">a\nACGT\n>b\n\n", "h.fa, record 'b': no sequence"),
        (">a\nACGT\n>a\nACGT\n", "h.fa: two records are named 'a'"),
        (">a\nACGT\n> b\nACGT\n", "h.fa, line 3: header line has no name"),
        (">\nACGT\n", "h.fa, line 1: header line has no name"),
        (">a\nAC GT\n", "h.fa, line 2: ' ' in the sequence of 'a' is not a base"),
        (">a\nACGT\nAC*T\n", "h.fa, line 3: '*' in the sequence of 'a' is not a base"),
        ("\n\nACGT\n>a\nAC\n", "h.fa, line 3: not FASTA"),
        (">a\r\nAC\r\n\r\n>b\r\nA\r\nA>C\r\n", "h.fa, line 6: '>' in the sequence of 'b'"),
        (">a\rAC\r>b\rAé\r", "h.fa, line 4: 'Ã' in the sequence of 'b' is not a base"),
    ],
)
def test_bad_fasta_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read_fasta(write(tmp_path / "h.fa", text))


def test_white_space_around_lines(tmp_path: Path) -> None:
    records = read_fasta(write(tmp_path / "h.fa", "\n \n>a\t x>y \n ACGT\t\n\n NN \n>b\rAC\rGT\r"))
    assert records.names == ("a", "b")
    assert records.descriptions == ("x>y", "")
    assert [bytes(row) for row in records.sequences] == [b"ACGTNN", b"ACGT"]


@given(
    st.lists(st.tuples(st.text("acgtN>", max_size=5), st.text("ACGTn", min_size=1, max_size=40))),
    st.integers(1, 15),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_round_trip(tmp_path: Path, rows: list[tuple[str, str]], width: int, newline: str) -> None:
    lines = [">first", "A"]
    for number, (description, bases) in enumerate(rows):
        lines.append(f">{number} {description}")
        lines += [bases[at : at + width] for at in range(0, len(bases), width)]
    records = read_fasta(write(tmp_path / "h.fa", newline.join(lines)))
    assert records.names == ("first", *map(str, range(len(rows))))
    assert records.descriptions == ("", *(description for description, _ in rows))
    assert [bytes(row).decode() for row in records.sequences] == ["A", *(row[1] for row in rows)]


@given(
    st.text(st.sampled_from("\n\r> aACG*\t"), max_size=40),
    st.sampled_from(["", ">", ">a\n"]),
    st.integers(1, 9),
)
@settings(max_examples=many(300))
def test_pieces_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, start: str, size: int
) -> None:
    path = write(tmp_path / "h.fa", start + text)
    found = []
    for piece in (1 << 20, size):
        monkeypatch.setattr("hapgpu.io.genome.fasta_text._PIECE_BYTES", piece)
        try:
            records = read_fasta(path, allow_empty=True)
            found.append((records.names, records.descriptions, list(map(bytes, records.sequences))))
        except InputError as error:
            found.append(str(error))
    assert found[0] == found[1]


@given(
    st.lists(
        st.tuples(
            st.text(st.sampled_from("ab \t>é:-1\x1c\x85\u2028"), max_size=8),
            st.text(st.sampled_from("ACgtzN"), max_size=20),
            st.sampled_from([*["\n"] * 20, "\n\n", " \n", "\r\n", "*\n", "\n>\n"]),
            st.integers(1, 9),
        ),
        max_size=9,
    ),
    st.sampled_from([4, 1 << 20]),
    st.booleans(),
)
@settings(max_examples=many(400))
def test_records_in_bulk_as_one_by_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows: list[tuple[str, str, str, int]],
    max_record: int,
    is_reference: bool,
) -> None:
    """The same records and messages as without the search for plain records."""
    parts = []
    for number, (header, bases, end, width) in enumerate(rows):
        parts.append(f">{number % 7}{header}\n" if number % 4 else f">{header}\n")
        parts += [bases[at : at + width] + end for at in range(0, len(bases), width)]
    path = tmp_path / "h.fa"
    path.write_bytes("".join(parts).encode())
    outcomes = []
    for search in (plain_records, lambda text, at: plain_records(text[:at], at)):
        monkeypatch.setattr("hapgpu.io.genome.fasta_text.plain_records", search)
        max_bases = 12 if is_reference else None
        try:
            found = read_fasta(path, allow_empty=True, max_record=max_record, max_bases=max_bases)
            sequences = list(map(bytes, found.sequences))
            outcomes.append((found.names, found.descriptions, sequences))
        except InputError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


def test_unreadable_fasta(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.fa: no such file"):
        read_fasta(tmp_path / "absent.fa")
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory"):
        read_fasta(tmp_path)
    whole = gzip.compress(TEXT.encode())
    for name, data in {"cut": whole[:-9], "damaged": whole[:12] + b"\0" * 9 + whole[21:]}.items():
        path = tmp_path / f"{name}.fa.gz"
        path.write_bytes(data)
        with pytest.raises(InputError, match=name):
            read_fasta(path)


def test_same_records_as_pysam(data_dir: Path) -> None:
    for path in sorted(data_dir.glob("amplicon/**/*.fa")):
        records = read_fasta(path)
        with pysam.FastxFile(str(path)) as expected:
            entries = list(expected)
        assert list(records.names) == [entry.name for entry in entries]
        assert list(records.descriptions) == [entry.comment or "" for entry in entries]
        sequences = [bytes(row).decode() for row in records.sequences]
        assert sequences == [entry.sequence for entry in entries]


@pytest.mark.parametrize("packing", ["plain", "bgzf"])
def test_reference_by_region(tmp_path: Path, packing: str) -> None:
    path = write(tmp_path / "r.fa", ">chr1\nACGTACGT\nnnACGTAC\nGT\n>2\nTTTTT\n", packing)
    pysam.faidx(str(path))
    with ReferenceFasta(path) as reference:
        assert reference.lengths == {"chr1": 18, "2": 5}
        assert reference.fetch(Region("chr1", 6, 12)) == b"GTnnAC"
        assert reference.fetch(Region("2", 0, 5)) == b"TTTTT"
        with pytest.raises(InputError, match=r"no contig 'chr2'; found '2' instead"):
            reference.fetch(Region("chr2", 0, 5))
        with pytest.raises(InputError, match=r"no contig '1'; found 'chr1' instead"):
            reference.fetch(Region("1", 0, 5))
        with pytest.raises(InputError, match=r"chr1:10-19 ends after the 18 bases"):
            reference.fetch(Region("chr1", 9, 19))


def test_reference_without_index(tmp_path: Path) -> None:
    path = write(tmp_path / "r.fa", ">chr1\nACGT\n")
    with pytest.raises(InputError, match=f"run: samtools faidx {re.escape(str(path))}"):
        ReferenceFasta(path)
    with pytest.raises(InputError, match="no such file"):
        ReferenceFasta(tmp_path / "absent.fa")


LINES = {"plain": "\n", "returns": "\r\n", "blanks": " \n", "bgzf": "\n"}


@pytest.mark.parametrize("form", LINES)
def test_no_bit_of_an_index_changes_bases(tmp_path: Path, form: str) -> None:
    """Lines of any length; the .gzi locates compressed lines."""
    end = LINES[form]
    sequences = {f"c{k}": ("ACGTTGCAAC" * 20)[k : k + 40 * k] for k in range(1, 5)}
    lines = [
        line
        for name, bases in sequences.items()
        for line in (f">{name} x", *(bases[at : at + 15] for at in range(0, len(bases), 15)))
    ]
    packing = "bgzf" if form == "bgzf" else "plain"
    path = write(tmp_path / "r.fa", "".join(line + end for line in lines), packing)
    pysam.faidx(str(path))
    index = Path(f"{path}.fai")
    content = index.read_bytes()
    expected = {name: bases.encode() for name, bases in sequences.items()}
    assert bases_of(path, expected) == expected
    for bit in range(0, 8 * len(content), 3):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        index.write_bytes(flipped)
        with suppress(InputError):
            assert bases_of(path, expected) == expected


@pytest.mark.parametrize("form", LINES)
def test_regions_as_of_htslib(tmp_path: Path, form: str) -> None:
    """Regions that start and end anywhere in lines, in all blocks of a compressed file."""
    generator = np.random.default_rng(1)
    lines = generator.choice([*b"ACGTNacgtn*."], (4000, 50)).astype(np.uint8)
    text = LINES[form].join([">a", *(line.tobytes().decode() for line in lines), ">b", "AC", ""])
    path = write(tmp_path / "r.fa", text, "bgzf" if form == "bgzf" else "plain")
    pysam.faidx(str(path))
    with ReferenceFasta(path) as reference, pysam.FastaFile(str(path)) as expected:
        for size in (1, 49, 50, 51, 3000, 200_000):
            for start in generator.integers(0, 200_001 - size, 20).tolist():
                region = Region("a", start, start + size)
                assert reference.fetch(region).decode() == expected.fetch("a", start, region.end)


def test_a_line_of_another_length_is_found_where_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "r.fa", ">a\n" + "ACGT\n" * 9)
    pysam.faidx(str(path))
    path.write_text(">a\n" + "ACGT\n" * 4 + "ACG\n\n" + "ACGT\n" * 4)
    with ReferenceFasta(path) as reference:
        assert reference.fetch(Region("a", 2, 12)) == b"GTACGTACGT"
        with pytest.raises(InputError, match=r"a:15-24 cannot be read .* run: samtools faidx"):
            reference.fetch(Region("a", 14, 24))


def test_compressed_references(tmp_path: Path) -> None:
    """A missing .gzi is made; gzip has none."""
    path = write(tmp_path / "r.fa", ">a\nACGT\n", "bgzf")
    pysam.faidx(str(path))
    blocks = Path(f"{path}.gzi")
    blocks.unlink()
    assert bases_of(path, {"a": b""}) == {"a": b"ACGT"}
    assert blocks.exists()
    path.write_bytes(gzip.compress(b">a\nACGT\n"))
    with pytest.raises(
        InputError, match=r"not an indexed FASTA, plain or compressed by bgzip \(compressed by gzip"
    ):
        ReferenceFasta(path)


def bases_of(path: Path, sequences: Mapping[str, bytes]) -> dict[str, bytes]:
    with ReferenceFasta(path) as reference:
        ends = {name: max(reference.lengths.get(name, 1), 1) for name in sequences}
        return {name: reference.fetch(Region(name, 0, end)) for name, end in ends.items()}


@pytest.mark.parametrize("name", ["a##idx##b.fa", "data:,x.fa", "http:x.fa"])
def test_references_under_names_that_htslib_would_treat_as_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(">c\nACGT\n")
    Path(f"{name}.fai").write_text("c\t4\t3\t4\t5\n")
    assert bases_of(Path(name), {"c": b""}) == {"c": b"ACGT"}


@pytest.mark.parametrize("length", ["99999999999999999999", "2147483648", "-5", "x", ""])
def test_an_index_with_a_length_that_is_none(tmp_path: Path, length: str) -> None:
    path = write(tmp_path / "r.fa", ">chr1\nACGT\n")
    (tmp_path / "r.fa.fai").write_text(f"chr1\t{length}\t6\t4\t5\n")
    with pytest.raises(InputError, match=r"r\.fa\.fai, line 1: .*; run: samtools faidx .*r\.fa$"):
        ReferenceFasta(path)


def test_reference_with_the_index_of_another(tmp_path: Path) -> None:
    path = write(tmp_path / "r.fa", ">chr1\nACGT\n")
    (tmp_path / "r.fa.fai").write_text("chr1\t400\t6\t60\t61\n")
    with ReferenceFasta(path) as reference, pytest.raises(InputError, match="does not match"):
        reference.fetch(Region("chr1", 100, 200))


VALID = {
    "blank lines": ">a\nA\n\n\n\n>b\nAC\nG\n\n\n\n\n\n\n",
    "many blank lines": ">a\nA\n" + "\n" * 200_000 + ">b\nACG\n" + "\r\n" * 40_000,
    "long header": f">a\nA\n>b {'x' * 200_000}\nACG\n",
    "long header first": f">a {'x' * 200_000}\nA\n>b\nACG\n",
    "long lines": f">a\nA\n>b\nACG{'T' * 200_000}\n>c\n{'N' * 200_000}\n",
    "long blanks": f">a\nA\n>b\nAC{' ' * 70_000}\nG\n",
    "no bases": ">a\nA\n>none\n\n\n>b\nACG",
}


@pytest.mark.parametrize("packing", ["plain", "bgzf"])
@pytest.mark.parametrize("text", VALID.values(), ids=VALID)
def test_references_that_samtools_accepts(tmp_path: Path, text: str, packing: str) -> None:
    path = write(tmp_path / "r.fa", text, packing)
    pysam.faidx(str(path))
    with ReferenceFasta(path) as reference:
        assert reference.fetch(Region("b", 0, 3)) == b"ACG"
        assert reference.fetch(Region("a", 0, 1)) == b"A"


def test_a_few_bases_are_not_a_contig_read(tmp_path: Path) -> None:
    """Sequences on one line."""
    path = write(tmp_path / "r.fa", "".join(f">{name}\n{'ACGT' * 10**6}\n" for name in "abc"))
    pysam.faidx(str(path))
    with ReferenceFasta(path) as reference:
        tracemalloc.start()
        assert reference.fetch(Region("b", 5, 15)) == b"CGTACGTACG"
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 1 << 19


@pytest.mark.parametrize("packing", ["plain", "bgzf"])
@pytest.mark.parametrize("offset", [0, 1, 2, 9, 70_000, 10**12, 2**62 - 1])
@pytest.mark.parametrize("width", [5, 2**31 - 1])
def test_an_offset_beyond_the_file(tmp_path: Path, packing: str, offset: int, width: int) -> None:
    path = write(tmp_path / "r.fa", ">c\n" + "ACGT\n" * 40_000, packing)
    pysam.faidx(str(path))
    Path(f"{path}.fai").write_text(f"c\t160000\t{offset}\t4\t{width}\n")
    with ReferenceFasta(path) as reference, pytest.raises(InputError, match="does not match"):
        reference.fetch(Region("c", 5, 15))


@pytest.mark.parametrize(
    ("name", "description", "expected"),
    [
        ("alt", "", ("alt", None)),
        ("alt", "chr20:101-500", ("alt", Region("chr20", 100, 500))),
        ("alt", "ref allele chr20:1,001-1,500 x:1-2", ("alt", Region("chr20", 1000, 1500))),
        ("alt", "HLA:A*01:101-500", ("alt", Region("HLA:A*01", 100, 500))),
        ("alt", "len=400 12:30 chr20 chr20:5", ("alt", None)),
        ("alt", "chr20:0-5", ("alt", None)),
        ("alt", "chr20:9-5", ("alt", None)),
        ("alt::chr20:100-500", "", ("alt", Region("chr20", 100, 500))),
        ("alt::chr20:100-500(+)", "", ("alt", Region("chr20", 100, 500))),
        ("alt::chr20:100-500", "chr1:1-5", ("alt", Region("chr20", 100, 500))),
        ("alt::two", "chr1:1-5", ("alt::two", Region("chr1", 0, 5))),
        ("alt::chr20:5-5", "", ("alt::chr20:5-5", None)),
        ("::chr20:100-500", "", ("::chr20:100-500", None)),
    ],
)
def test_locus(name: str, description: str, expected: tuple[str, Region | None]) -> None:
    assert parse_locus(name, description) == expected


def test_haplotype_of_the_reverse_strand_is_refused() -> None:
    with pytest.raises(InputError, match="reverse strand"):
        parse_locus("alt::chr20:100-500(-)", "")


@pytest.mark.parametrize("end", ["2147483648", "9" * 20, "9" * 5000])
@pytest.mark.parametrize(("name", "description"), [("alt", "chr20:1-{}"), ("alt::chr20:1-{}", "")])
def test_a_locus_that_no_contig_reaches(name: str, description: str, end: str) -> None:
    with pytest.raises(InputError, match=r"haplotype 'alt.*ends after 2,147,483,647"):
        parse_locus(name.format(end), description.format(end))


@given(st.integers(0, 10**8), st.integers(1, 10**5))
def test_both_notations_state_the_same_locus(start: int, length: int) -> None:
    region = Region("chr20", start, start + length)
    samtools = parse_locus("alt", str(region))
    bedtools = parse_locus(f"alt::chr20:{region.start}-{region.end}", "")
    assert samtools == bedtools == ("alt", region)


_ENTRY = st.one_of(
    st.tuples(
        st.integers(0, 2**31), st.integers(0, 2**62), st.integers(0, 200), st.integers(0, 2**31)
    ),
    st.just((100, 7, 60, 61)),
)


@given(st.lists(_ENTRY, min_size=1, max_size=12), st.sampled_from(["", "\t9", "\r", "x", "\u0663"]))
@example([(100, 7, 60, 61)] * 3, "")
def test_lines_of_an_index_parsed_together(entries: list[tuple[int, ...]], ending: str) -> None:
    """The entries, and the line of a fault, are those of the same lines after a longer line."""
    with TemporaryDirectory() as directory:
        path = Path(directory, "r.fa")
        lines = [f"c{k}\t" + "\t".join(map(str, entry)) for k, entry in enumerate(entries)]
        lines[len(lines) // 2] += ending
        results = []
        for first in ([], ["long\t1\t5\t1\t2\tmore"]):
            Path(f"{path}.fai").write_text("\n".join([*first, *lines]) + "\n")
            try:
                found = list(read_fai(path).items())[len(first) :]
                results.append((found, 0))
            except InputError as error:
                results.append(([], int(str(error).split("line ")[1].split(":")[0]) - len(first)))
    assert results[0] == results[1]


def test_an_index_with_a_name_twice(tmp_path: Path) -> None:
    (tmp_path / "r.fa.fai").write_text("c\t4\t3\t4\t5\nd\t4\t9\t4\t5\nc\t4\t15\t4\t5\n")
    with pytest.raises(InputError, match=r"r\.fa\.fai, line 3: "):
        read_fai(tmp_path / "r.fa")


@pytest.mark.parametrize("packing", ["plain", "bgzf"])
def test_threads_share_a_reference(tmp_path: Path, packing: str) -> None:
    random = np.random.default_rng(8)
    bases = "".join(random.choice(list("ACGT"), 300_000))
    path = tmp_path / "ref.fa"
    lines = "\n".join(bases[start : start + 60] for start in range(0, len(bases), 60))
    path.write_text(f">chr1\n{lines}\n", encoding="ascii")
    if packing == "bgzf":
        pysam.tabix_compress(str(path), f"{path}.gz")
        path = tmp_path / "ref.fa.gz"
    pysam.faidx(str(path))
    starts = random.integers(0, 299_000, 400).tolist()
    regions = [Region("chr1", start, start + 999) for start in starts]
    with ReferenceFasta(path) as reference, ThreadPoolExecutor(8) as threads:
        found = threads.map(reference.fetch, regions)
        for start, text in zip(starts, found, strict=True):
            assert text == bases[start : start + 999].encode()
