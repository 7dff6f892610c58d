"""Lines of minimap2 parsed to aligned mappings, from which they can be written again."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import parse_cigar
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.longread.align.batches import MAPPING, AlignedMappings, ReadCodes, TargetCodes
from hapgpu.longread.output.rows import AlignedBlock

CODES: Final = np.full(256, 4, dtype=np.uint8)
for _code, _letters in enumerate((b"Aa", b"Cc", b"Gg", b"TtUu")):
    CODES[list(_letters)] = _code
_COMPLEMENT: Final = np.array([3, 2, 1, 0, 4], dtype=np.uint8)
_CLIPS: Final = (4, 5)
_INSERTION, _DELETION = 1, 2


class Record(NamedTuple):
    """A record of FASTA or FASTQ."""

    header: bytes
    bases: bytes
    qualities: bytes | None = None

    @property
    def name(self) -> str:
        """The header up to the first blank."""
        return self.header.split()[0].decode()


def read_records(path: Path) -> list[Record]:
    """Read plain or compressed FASTA or FASTQ of four lines."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        lines = file.read().splitlines()
    if lines[0].startswith(b"@"):
        return [Record(lines[k][1:], lines[k + 1], lines[k + 3]) for k in range(0, len(lines), 4)]
    records: list[tuple[bytes, list[bytes]]] = []
    for line in lines:
        if line.startswith(b">"):
            records.append((line[1:], []))
        else:
            records[-1][1].append(line)
    return [Record(header, b"".join(bases)) for header, bases in records]


def block_of(records: Sequence[Record]) -> ReadBlock:
    """Return records as the text of a block."""
    is_fasta = not records or records[0].qualities is None
    if is_fasta:
        parts = [b">%s\n%s\n" % (record.header, record.bases) for record in records]
    else:
        parts = [b"@%s\n%s\n+\n%s\n" % record for record in records]  # type: ignore[str-bytes-safe]
    return ReadBlock(np.frombuffer(b"".join(parts), dtype=np.uint8), is_fasta, 1, "reads")


def target_codes(records: Sequence[Record]) -> TargetCodes:
    """Return the bases of reference sequences as codes."""
    codes = Ragged.from_sequences(
        CODES[np.frombuffer(record.bases, np.uint8)] for record in records
    )
    return TargetCodes(codes.data, codes.offsets[:-1], codes.lengths.astype(np.int64))


class StandInIndex(NamedTuple):
    """The part of an index that `AlignmentWriter` uses."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, records: Sequence[Record]) -> StandInIndex:
        """Return the names of reference sequences."""
        return cls(tuple(record.name for record in records))


def read_codes(records: Sequence[Record]) -> ReadCodes:
    """Return both strands of reads as codes."""
    parts, starts, at = [np.full(8, 4, dtype=np.uint8)], [], 8
    for record in records:
        codes = CODES[np.frombuffer(record.bases, np.uint8)]
        parts += [codes, _COMPLEMENT[codes][::-1]]
        starts.append(at)
        at += 2 * codes.size
    lengths = np.array([len(record.bases) for record in records], dtype=np.int32)
    return ReadCodes(np.concatenate(parts), np.array(starts, dtype=np.int64), lengths)


def parsed(
    lines: Iterable[str], records: Sequence[Record], targets: Sequence[Record], *, is_sam: bool
) -> AlignedBlock:
    """Parse lines of PAF with the tag cg, or records of SAM, of these reads."""
    sequences = {record.name: k for k, record in enumerate(targets)}
    rows_of: dict[str, list[str]] = {record.name: [] for record in records}
    for line in lines:
        rows_of[line.partition("\t")[0]].append(line)
    mappings: list[dict[str, int]] = []
    operations: list[NDArray[np.uint32]] = []
    offsets, repeats, first = [0], [], 0
    for read, record in enumerate(records):
        repeat = 0
        has_primary = False
        for number, line in enumerate(rows_of[record.name]):
            fields = line.split("\t")
            tags = {field[:2]: field[5:] for field in fields[11 if is_sam else 12 :]}
            repeat = int(tags["rl"])
            if "tp" not in tags:
                continue
            columns, cigar = _sam_columns(fields, tags) if is_sam else _paf_columns(fields, tags)
            is_primary = tags["tp"] in "PI"
            gaps = cigar[(cigar & 15 == _INSERTION) | (cigar & 15 == _DELETION)]
            mappings.append(
                {
                    **columns,
                    "first_operation": first,
                    "operations": cigar.size,
                    "read": read,
                    "sequence": sequences[fields[2 if is_sam else 5]],
                    "anchors": int(tags["cm"]),
                    "score": int(tags["s1"]),
                    "second_score": int(tags.get("s2", 0)),
                    "number": number,
                    "parent": number if is_primary else -1,
                    "split": int(tags.get("zd", 0)),
                    "is_inversion": tags["tp"] in "Ii",
                    "ambiguous": int(tags["nn"]),
                    "gaps": gaps.size,
                    "gap_bases": int((gaps >> 4).sum()),
                    "dp_score": int(tags["AS"]),
                    "first_dp_max": int(tags["ms"]),
                    "is_first_primary": is_primary and not has_primary,
                }
            )
            has_primary |= is_primary
            operations.append(cigar)
            first += cigar.size
        offsets.append(len(mappings))
        repeats.append(repeat)
    table = np.zeros(len(mappings), dtype=MAPPING)
    for row, values in zip(table, mappings, strict=True):
        for name, value in values.items():
            row[name] = value
    aligned = AlignedMappings(
        table,
        np.concatenate([np.empty(0, dtype=np.uint32), *operations]),
        np.array(offsets, dtype=np.int64),
    )
    block = block_of(records)
    return AlignedBlock(
        block.text,
        parse_block(block, LONG_READS),
        read_codes(records),
        aligned,
        np.array(repeats, dtype=np.int32),
    )


def _paf_columns(
    fields: list[str], tags: dict[str, str]
) -> tuple[dict[str, int], NDArray[np.uint32]]:
    names = ("target_start", "target_end", "matches", "length", "quality")
    columns = {name: int(text) for name, text in zip(names, fields[7:12], strict=True)}
    columns |= {"query_start": int(fields[2]), "query_end": int(fields[3])}
    return columns | {"is_reverse": fields[4] == "-"}, parse_cigar(tags["cg"])


def _sam_columns(
    fields: list[str], tags: dict[str, str]
) -> tuple[dict[str, int], NDArray[np.uint32]]:
    cigar = parse_cigar(fields[5])
    clips = [int(word >> 4) if word & 15 in _CLIPS else 0 for word in cigar[[0, -1]].tolist()]
    inner = cigar[int(clips[0] > 0) : cigar.size - int(clips[1] > 0)]
    lengths = (inner >> 4).astype(np.int64)
    read_bases = int(lengths[inner & 15 != _DELETION].sum())
    target_bases = int(lengths[inner & 15 != _INSERTION].sum())
    is_reverse = bool(int(fields[1]) & 16)
    length = int(lengths.sum()) - int(tags["nn"])
    start, query_start = int(fields[3]) - 1, clips[is_reverse]
    columns = {
        "query_start": query_start,
        "query_end": query_start + read_bases,
        "target_start": start,
        "target_end": start + target_bases,
        "matches": length + int(tags["nn"]) - int(tags["NM"]),
        "length": length,
        "quality": int(fields[4]),
        "is_reverse": is_reverse,
    }
    return columns, inner
