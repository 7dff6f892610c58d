"""Optional fields, against samtools calmd, htslib's encoding and the rules in plain Python."""

from __future__ import annotations

import gzip
import shutil
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import parse_cigar
from hapgpu.cigar.mismatches import mismatch_tags
from hapgpu.realign.records.build import NewTags, rewrite_tags

HEADER = pysam.AlignmentHeader.from_dict(
    {"SQ": [{"SN": "chr20", "LN": 64000000}, {"SN": "a,b", "LN": 2**31 - 1}]}
)
NAMES = Ragged.from_sequences(HEADER.references)
IN_TEMPORARY_DIRECTORY = settings(max_examples=40)


def aux_of_bam(path: Path) -> Iterator[bytes]:
    """Yield the optional fields of the records of a BAM file, as stored."""
    data = gzip.decompress(path.read_bytes())
    (text_length,) = struct.unpack_from("<4xi", data)
    (references,) = struct.unpack_from("<i", data, 8 + text_length)
    at = 12 + text_length
    for _ in range(references):
        at += 8 + struct.unpack_from("<i", data, at)[0]
    while at < len(data):
        size, name, elements, bases = struct.unpack_from("<i8xB3xH2xi", data, at)
        yield data[at + 36 + name + 4 * elements + (bases + 1) // 2 + bases : at + 4 + size]
        at += 4 + size


def encoded(lines: Sequence[str], directory: Path) -> list[bytes]:
    """Return the optional fields of SAM lines in htslib's encoding."""
    path = directory / "fields.bam"
    with pysam.AlignmentFile(path, "wb", header=HEADER) as bam:
        for line in lines:
            bam.write(pysam.AlignedSegment.fromstring(line, HEADER))
    return list(aux_of_bam(path))


def batch_of(lines: Sequence[str], tags: Sequence[bytes]) -> ReadBatch:
    rows = [line.split("\t") for line in lines]
    count = len(rows)
    bases = Ragged.from_sequences(row[9] for row in rows)
    cigars = [parse_cigar(row[5]) for row in rows]
    return ReadBatch(
        names=Ragged.from_sequences(row[0] for row in rows),
        flags=np.array([int(row[1]) for row in rows], dtype=np.uint16),
        reference_ids=np.array([HEADER.get_tid(row[2]) for row in rows], dtype=np.int32),
        positions=np.array([int(row[3]) - 1 for row in rows], dtype=np.int32),
        mapping_qualities=np.array([int(row[4]) for row in rows], dtype=np.uint8),
        cigars=Ragged.from_lengths(np.concatenate(cigars), [cigar.size for cigar in cigars]),
        mate_reference_ids=np.full(count, -1, dtype=np.int32),
        mate_positions=np.full(count, -1, dtype=np.int32),
        template_lengths=np.zeros(count, dtype=np.int32),
        bases=bases,
        qualities=Ragged(np.full_like(bases.data, 255), bases.offsets),
        tags=Ragged.from_sequences(tags),
    )


def nothing_new(count: int) -> dict[str, Any]:
    """Return the columns of NewTags that change records without new fields."""
    no, zeros = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.int32)
    return {
        "changed": np.ones(count, dtype=np.bool_),
        "has_score": no,
        "scores": zeros,
        "has_second_score": no,
        "second_scores": zeros,
        "has_mismatches": no,
        "edit_distances": zeros,
        "mismatches": Ragged.from_sequences([""] * count),
        "has_original": no,
    }


def rewritten(
    lines: Sequence[str], tags: Sequence[bytes], dropped: set[str], **columns: Any
) -> list[bytes]:
    new = NewTags(**(nothing_new(len(lines)) | columns))
    rows, malformed = rewrite_tags(batch_of(lines, tags), dropped, (), new, NAMES)
    assert not malformed.any()
    return [row.tobytes() for row in rows]


FIELDS = st.one_of(
    st.tuples(st.just("A"), st.sampled_from("!Az~")),
    st.tuples(st.just("i"), st.integers(-(2**31), 2**32 - 1).map(str)),
    st.tuples(st.just("f"), st.sampled_from(["0.5", "-3", "1e+10"])),
    st.tuples(st.just("Z"), st.text("aZ ,;:", max_size=6)),
    st.tuples(st.just("H"), st.sampled_from(["", "1AE3"])),
    st.tuples(st.just("B"), st.sampled_from(["c,-1,2", "C,255", "s,-300", "S,1,2,3", "I,7"])),
    st.tuples(st.just("B"), st.sampled_from(["i,-70000", "f,0.25,1"])),
)
NAMES_OF_FIELDS = ["AS", "XS", "MD", "OC", "OP", "RG", "BC", "X0", "zz", "SA"]
INT32 = st.integers(-(2**31), 2**31 - 1) | st.integers(-(2**15) - 1, 2**16) | st.integers(-129, 256)


@st.composite
def record(draw: st.DrawFn) -> tuple[str, dict[str, tuple[str, str]]]:
    """Draw the eleven columns of a record, and its optional fields."""
    is_mapped = draw(st.booleans())
    flag = draw(st.sampled_from([0, 16, 1040] if is_mapped else [4, 20]))
    position = f"{draw(st.sampled_from(HEADER.references))}\t{draw(st.integers(1, 60000000))}"
    cigar = draw(st.sampled_from(["4M", "1S3M", "2M100D2M", "1M1I1M1X"])) if is_mapped else "*"
    quality = draw(st.integers(0, 255))
    fields = draw(st.dictionaries(st.sampled_from(NAMES_OF_FIELDS), FIELDS, max_size=6))
    if draw(st.booleans()):
        fields["NM"] = ("i", str(draw(st.integers(0, 70000))))
    if draw(st.booleans()):
        fields["OA"] = ("Z", "chr1,5,+,4M,60,;")
    return f"r\t{flag}\t{position}\t{quality}\t{cigar}\t*\t0\t0\tACGT\t*", fields


def line_of(columns: str, fields: dict[str, tuple[str, str]]) -> str:
    return "\t".join([columns, *(f"{name}:{kind}:{v}" for name, (kind, v) in fields.items())])


@IN_TEMPORARY_DIRECTORY
@given(
    records=st.lists(record(), min_size=1, max_size=5),
    dropped=st.sets(st.sampled_from([*NAMES_OF_FIELDS, "NM"])),
    data=st.data(),
)
def test_fields_as_htslib_encodes_them(
    records: list[tuple[str, dict[str, tuple[str, str]]]],
    dropped: set[str],
    data: st.DataObject,
    tmp_path: Path,
) -> None:
    """The fields before and after are both written as SAM text and encoded by htslib."""
    count = len(records)

    def mask() -> list[bool]:
        return data.draw(st.lists(st.booleans(), min_size=count, max_size=count))

    def numbers() -> list[int]:
        return data.draw(st.lists(INT32, min_size=count, max_size=count))

    changed, has_score, has_second, has_mismatches, has_original = (mask() for _ in range(5))
    scores, seconds, distances = (numbers() for _ in range(3))
    mismatches = ["0A2", "4", "12^ACG0T5", "", "1"][:count]
    expected = []
    for row, (columns, fields) in enumerate(records):
        after = {
            name: field for name, field in fields.items() if not changed[row] or name not in dropped
        }
        new: dict[str, tuple[str, str]] = {}
        if has_score[row]:
            new["AS"] = ("i", str(scores[row]))
        if has_second[row]:
            new["XS"] = ("i", str(seconds[row]))
        if has_mismatches[row]:
            new |= {"NM": ("i", str(distances[row])), "MD": ("Z", mismatches[row])}
        _, flag, name, position, quality, cigar, *_ = columns.split("\t")
        if has_original[row] and not int(flag) & 4:
            strand = "-" if int(flag) & 16 else "+"
            distance = fields.get("NM", ("i", ""))[1]
            entry = f"{name},{position},{strand},{cigar},{quality},{distance};"
            before = fields.get("OA", ("Z", ""))[1]
            new |= {"OC": ("Z", cigar), "OP": ("i", position), "OA": ("Z", before + entry)}
        if changed[row]:
            after = {name: field for name, field in after.items() if name not in new} | new
        expected.append(line_of(columns, after))
    lines = [line_of(*one) for one in records]
    found = rewritten(
        lines,
        encoded(lines, tmp_path),
        dropped,
        changed=np.array(changed),
        has_score=np.array(has_score),
        scores=np.array(scores, dtype=np.int32),
        has_second_score=np.array(has_second),
        second_scores=np.array(seconds, dtype=np.int32),
        has_mismatches=np.array(has_mismatches),
        edit_distances=np.array(distances, dtype=np.int32),
        mismatches=Ragged.from_sequences(mismatches),
        has_original=np.array(has_original),
    )
    assert found == encoded(expected, tmp_path)


LINE = "r\t0\tchr20\t5\t60\t4M\t*\t0\t0\tACGT\t*"


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (-(2**15), b"ASs\x00\x80"),
        (-(2**15) - 1, b"ASi\xff\x7f\xff\xff"),
        (-(2**7), b"ASc\x80"),
        (2**8 - 1, b"ASC\xff"),
        (2**8, b"ASS\x00\x01"),
        (2**16 - 1, b"ASS\xff\xff"),
        (2**16, b"ASI\x00\x00\x01\x00"),
    ],
)
def test_the_smallest_type_of_numbers(value: int, field: bytes) -> None:
    score = {"has_score": np.array([True]), "scores": np.array([value], dtype=np.int32)}
    assert rewritten([LINE], [b""], set(), **score) == [field]


WELL_FORMED = (
    b"NMC\x03" + b"XZZab\x00" + b"XBBs\x02\x00\x00\x00\x01\x00\x02\x00" + b"XFf" + bytes(4)
)


@pytest.mark.parametrize("length", range(1, len(WELL_FORMED)))
def test_truncated_fields_are_reported(length: int) -> None:
    whole_fields = {4, 10, 22}
    new = NewTags(**nothing_new(2))
    batch = batch_of([LINE] * 2, [WELL_FORMED[:length], WELL_FORMED])
    tags, malformed = rewrite_tags(batch, set(), (), new, NAMES)
    assert malformed.tolist() == [length not in whole_fields, False]
    assert tags[1].tobytes() == WELL_FORMED
    assert tags[0].size == (length if length in whole_fields else 0)


@pytest.mark.parametrize(
    "fields",
    [
        b"XX?a",
        b"XXBZ\x01\x00\x00\x00a",
        b"XXBc\xff\xff\xff\xff\x00",
        b"XXBi\xff\xff\xff\x7f\x00\x00\x00\x00",
        b"XXZabc",
        b"XX",
    ],
)
def test_malformed_fields_are_reported(fields: bytes) -> None:
    new = NewTags(**nothing_new(1))
    _, malformed = rewrite_tags(batch_of([LINE], [fields]), {"NM"}, (), new, NAMES)
    assert malformed.tolist() == [True]


def test_unchanged_records_keep_all_fields() -> None:
    columns = nothing_new(1) | {"changed": np.zeros(1, dtype=np.bool_)}
    new = NewTags(**columns)
    tags, malformed = rewrite_tags(batch_of([LINE], [b"XX?"]), {"XX"}, (), new, NAMES)
    assert (tags[0].tobytes(), malformed[0]) == (b"XX?", False)


def test_fields_removed_everywhere() -> None:
    columns = nothing_new(2) | {"changed": np.array([True, False])}
    fields = b"XXC\1YYC\2ZZC\3"
    tags, malformed = rewrite_tags(
        batch_of([LINE, LINE], [fields, fields]), {"XX"}, {"YY"}, NewTags(**columns), NAMES
    )
    assert [row.tobytes() for row in tags] == [b"ZZC\3", b"XXC\1ZZC\3"]
    assert not malformed.any()


def test_original_alignment_of_any_integer_type() -> None:
    for kind, value in ((b"c", b"\x07"), (b"S", b"\x07\x00"), (b"i", b"\x07\x00\x00\x00")):
        (found,) = rewritten(
            [LINE], [b"NM" + kind + value], {"NM"}, has_original=np.ones(1, dtype=np.bool_)
        )
        assert found.endswith(b"OAZchr20,5,+,4M,60,7;\x00")


def test_number_of_mismatches_of_another_type_is_excluded() -> None:
    (found,) = rewritten([LINE], [b"NMZ7\x00"], {"NM"}, has_original=np.ones(1, dtype=np.bool_))
    assert found.endswith(b"OAZchr20,5,+,4M,60,;\x00")


def calmd(bam: Path, fasta: Path, directory: Path) -> list[tuple[int, str]]:
    """Return the NM and MD that `samtools calmd` gives the mapped records of a BAM file."""
    after = directory / "after.bam"
    pysam.samtools.calmd("-bQ", str(bam), str(fasta), save_stdout=str(after))
    with pysam.AlignmentFile(after, check_sq=False) as reads:
        return [
            (int(read.get_tag("NM")), str(read.get_tag("MD")))
            for read in reads
            if not read.is_unmapped
        ]


def calmd_of_lines(lines: Sequence[str], reference: str, directory: Path) -> list[tuple[int, str]]:
    """Return NM and MD of records of `chr20`."""
    fasta, bam = directory / "reference.fa", directory / "before.bam"
    fasta.write_text(f">chr20\n{reference}\n")
    fasta.with_suffix(".fa.fai").unlink(missing_ok=True)
    header = pysam.AlignmentHeader.from_dict({"SQ": [{"SN": "chr20", "LN": len(reference)}]})
    with pysam.AlignmentFile(bam, "wb", header=header) as out:
        for line in lines:
            out.write(pysam.AlignedSegment.fromstring(line, header))
    return calmd(bam, fasta, directory)


@st.composite
def aligned_read(draw: st.DrawFn) -> str:
    """Draw a record whose CIGAR fits its bases, but maybe not the reference."""
    element = st.tuples(st.integers(1, 12), st.sampled_from("MMMIDNSHP=X"))
    cigar = [*draw(st.lists(element, min_size=1, max_size=7)), (2, "M")]
    length = sum(length for length, op in cigar if op in "MIS=X")
    bases = draw(st.text("ACGTNRM=", min_size=length, max_size=length))
    text = "".join(f"{length}{op}" for length, op in cigar)
    return f"r\t0\tchr20\t{draw(st.integers(1, 40))}\t60\t{text}\t*\t0\t0\t{bases}\t*"


@IN_TEMPORARY_DIRECTORY
@given(
    lines=st.lists(aligned_read(), min_size=1, max_size=8),
    reference=st.text("ACGTacgtNnRrU", min_size=40, max_size=90),
)
def test_mismatches_as_samtools_calmd(lines: list[str], reference: str, tmp_path: Path) -> None:
    batch = batch_of(lines, [b""] * len(lines))
    distances, texts = mismatch_tags(
        batch.bases,
        batch.cigars,
        batch.positions,
        Ragged.from_sequences(["AAA", reference]),
        np.ones(len(lines), dtype=np.int32),
    )
    found = [(int(nm), md.tobytes().decode()) for nm, md in zip(distances, texts, strict=True)]
    assert found == calmd_of_lines(lines, reference, tmp_path)


def test_reads_without_bases_or_position_have_no_mismatches() -> None:
    lines = [LINE, LINE.replace("ACGT", "*"), LINE, LINE]
    batch = batch_of(lines, [b""] * 4)
    bases = Ragged.from_sequences(["ACGT", "", "ACGT", "ACGT"])
    positions = np.array([0, 0, -1, 0], dtype=np.int32)
    index = np.array([0, 0, 0, -1], dtype=np.int32)
    distances, texts = mismatch_tags(
        bases, batch.cigars, positions, Ragged.from_sequences(["AGGT"]), index
    )
    assert distances.tolist() == [1, 0, 0, 0]
    assert [text.tobytes() for text in texts] == [b"1G2", b"", b"", b""]


def test_mismatches_of_real_reads(data_dir: Path, tmp_path: Path) -> None:
    directory = data_dir / "illumina_tiny"
    fasta = shutil.copy(directory / "q.fa", tmp_path)
    with pysam.AlignmentFile(directory / "NA12878.chr22.tiny.bam") as bam:
        reads = [read for read in bam if not read.is_unmapped]
    with pysam.FastaFile(fasta) as sequences:
        reference = sequences.fetch("q")
    cigars = [parse_cigar(read.cigarstring) for read in reads]
    distances, texts = mismatch_tags(
        Ragged.from_sequences(read.query_sequence for read in reads),
        Ragged.from_lengths(np.concatenate(cigars), [cigar.size for cigar in cigars]),
        np.array([read.reference_start for read in reads], dtype=np.int32),
        Ragged.from_sequences([reference]),
        np.zeros(len(reads), dtype=np.int32),
    )
    found = [(int(nm), md.tobytes().decode()) for nm, md in zip(distances, texts, strict=True)]
    assert len(reads) > 3000
    assert found == calmd(directory / "NA12878.chr22.tiny.bam", fasta, tmp_path)
