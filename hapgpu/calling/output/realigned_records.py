"""Realigned reads: their header, the BAM records of a segment, and the sorted output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import (
    PADDING,
    CallSites,
    RegionLikelihoods,
    RegionReads,
    Segment,
    SegmentReads,
    TrimmedRegions,
    VariantCalls,
)
from hapgpu.calling.output.called_haplotypes import (
    are_called,
    haplotype_records,
    hash_codes,
    mates_in_regions,
    with_mates,
)
from hapgpu.calling.reads.read_order import fragments_of
from hapgpu.cigar.clips import clips_of, with_hard_clips
from hapgpu.cigar.mismatches import mismatch_tags
from hapgpu.errors import InputError
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.alignments.formats import output_format
from hapgpu.io.alignments.record_order import OldOrder, OrderKeeper, RecordRun
from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bam.constants import MAX_OPERATION_BASES
from hapgpu.io.bam.encode import EncodedRecords
from hapgpu.io.bam.header import SAM_VERSION, SamHeader, fields_of
from hapgpu.io.bam.read_groups import HAPLOTYPE_GROUP, ReadGroups, SampleTable
from hapgpu.io.text.columns import repeated, side_by_side
from hapgpu.realign.records.build import (
    NewTags,
    integer_fields,
    rewrite_tags,
    text_fields,
    text_values,
)
from hapgpu.version import __version__

_HAPLOTYPE_SAMPLE: Final = "HC"
GroupKey = tuple[bytes, int]
"""ID of a read group, and number of its sample; negative without one."""

_HAPLOTYPE: Final = "HC"
_GROUP: Final = "RG"
_POSITION_BITS: Final = 31
_OF_ALIGNMENT: Final = ("AS", "XS", "SA", "MC", "MQ", "ms", "NM", "MD", _HAPLOTYPE)
_OF_BASES: Final = ("BD", "BI", "BQ", "CQ", "CS", "E2", "ML", "MM", "MN", "OQ", "U2")
"""They have a value per base, and some bases are clipped."""


class RealignedRecords:
    """Maker of the records of segments; threads may share it.

    Parameters
    ----------
    header
        The header of the output.
    source
        Name of the reads, for errors.
    """

    def __init__(self, header: RealignedHeader, source: str) -> None:
        self.header = header.header
        self._new_groups = header.new_groups
        self._source = source
        names = self.header.reference_names
        self._rows = {name: row for row, name in enumerate(names)}
        self._contig_names = Ragged.from_names(names)

    def key_at(self, contig: str, position: int) -> int:
        """Return the sort key (`RecordRun.keys`) of records that start at a position."""
        return self._rows[contig] << _POSITION_BITS | (position + 1)

    def of_segment(
        self,
        calls: VariantCalls,
        rows: NDArray[np.bool_],
        sites: CallSites,
        likelihoods: RegionLikelihoods,
        trimmed: TrimmedRegions,
        segment: SegmentReads,
    ) -> RecordRun:
        """Return the sorted records of the active regions with a record of the VCF.

        These are the called haplotypes, then all reads with likelihoods, clipped as they were
        compared with the haplotypes; a read of two active regions has a record for each. At one
        position the records of an active region precede those of the next.

        Parameters
        ----------
        calls, rows
            Records of the VCF, and bool[v]: which of them are of the segment.
        sites, likelihoods, trimmed, segment
            What they were made of.

        Raises
        ------
        InputError
            The optional fields of a read are malformed.
        OutputError
            A name is longer than 254 characters.
        """
        contig = self._rows[segment.segment.contig]
        called = are_called(calls, rows, sites, trimmed)
        haplotypes = np.flatnonzero(called)
        owners = trimmed.haplotypes.regions[haplotypes]
        is_written = np.zeros(len(trimmed.regions), dtype=np.bool_)
        is_written[owners] = True
        codes = hash_codes(trimmed.haplotypes.bases)
        of_reads = likelihoods.reads.regions
        chosen = is_written[of_reads]
        batch = ReadBatch.concatenate(
            [
                self._haplotypes(trimmed, haplotypes, codes, contig, segment.reference),
                self._reads(likelihoods, chosen, trimmed, codes, contig, segment),
            ]
        )
        regions = np.concatenate((owners, of_reads[chosen]))
        order = np.lexsort((regions, batch.positions))
        return self._encoded(batch.take(order))

    def _encoded(self, batch: ReadBatch) -> RecordRun:
        records = EncodedRecords(batch, self.header)
        keys = batch.reference_ids.astype(np.int64) << _POSITION_BITS | (batch.positions + 1)
        return RecordRun(records.made(0, records.size), records.offsets, keys)

    def _haplotypes(
        self,
        trimmed: TrimmedRegions,
        rows: NDArray[np.int64],
        codes: NDArray[np.int64],
        contig: int,
        reference: ReferenceSlice,
    ) -> ReadBatch:
        """Return the records of haplotypes."""
        records = haplotype_records(trimmed, rows, contig)
        distances, mismatches = _mismatches(records, reference)
        everywhere = np.ones(rows.size, dtype=np.bool_)
        fields = [
            integer_fields("NM", distances, everywhere),
            text_fields("MD", mismatches, everywhere),
            integer_fields(_HAPLOTYPE, codes[rows], everywhere),
            text_fields(_GROUP, repeated(HAPLOTYPE_GROUP, rows.size), everywhere),
        ]
        return replace(records, tags=side_by_side(fields))

    def _reads(
        self,
        likelihoods: RegionLikelihoods,
        chosen: NDArray[np.bool_],
        trimmed: TrimmedRegions,
        codes: NDArray[np.int64],
        contig: int,
        segment: SegmentReads,
    ) -> ReadBatch:
        """Return the records of the chosen reads, bool[m]."""
        reads = likelihoods.reads.take(chosen)
        best = trimmed.haplotypes.offsets[reads.regions] + likelihoods.best_haplotypes[chosen]
        originals = segment.reads.take(reads.rows)
        originals = replace(originals, reference_ids=np.full(len(reads), contig, dtype=np.int32))
        fragments = fragments_of(segment.reads, segment.samples, reads.rows)
        mates = mates_in_regions(reads, originals.flags, fragments[reads.rows])
        moved = replace(
            originals,
            positions=reads.starts.astype(np.int32),
            cigars=self._cigars(reads, originals),
            bases=reads.bases(segment.reads),
            qualities=reads.qualities,
        )
        moved = with_mates(moved, reads, mates)
        tags = self._tags(originals, moved, reads.samples, segment.reference)
        informative = likelihoods.is_informative[chosen]
        haplotype = integer_fields(_HAPLOTYPE, codes[best], informative)
        return replace(moved, tags=side_by_side([tags, haplotype]))

    def _cigars(self, reads: RegionReads, originals: ReadBatch) -> Ragged:
        """Return CIGARs with hard clips: those of the record, and all bases that were clipped."""
        clips = clips_of(originals, self._source)
        leading = clips.leading_hard + reads.base_starts
        trailing = clips.trailing_hard + originals.bases.lengths - reads.base_ends
        both = (
            np.minimum(clip, MAX_OPERATION_BASES).astype(np.int32) for clip in (leading, trailing)
        )
        return with_hard_clips(reads.cigars, *both)

    def _tags(
        self,
        originals: ReadBatch,
        moved: ReadBatch,
        samples: NDArray[np.int32],
        reference: ReferenceSlice,
    ) -> Ragged:
        """Return the fields of the records with those of the new alignment."""
        distances, mismatches = _mismatches(moved, reference)
        everywhere = np.ones(len(moved), dtype=np.bool_)
        numbers = np.zeros(len(moved), dtype=np.int32)
        renamed = (_GROUP,) if self._new_groups else ()
        tags, malformed = rewrite_tags(
            originals,
            (*_OF_ALIGNMENT, *_OF_BASES, *renamed),
            (),
            NewTags(
                changed=everywhere,
                has_score=~everywhere,
                scores=numbers,
                has_second_score=~everywhere,
                second_scores=numbers,
                has_mismatches=everywhere,
                edit_distances=distances,
                mismatches=mismatches,
                has_original=_differ(originals, moved),
            ),
            self._contig_names,
        )
        if malformed.any():
            name = originals.names[int(np.argmax(malformed))].tobytes().decode(errors="replace")
            raise InputError(
                f"{self._source}, read '{name}': malformed optional fields; copy the file again"
            )
        if not renamed:
            return tags
        return side_by_side([tags, self._groups(originals.tags, samples)])

    def _groups(self, tags: Ragged, samples: NDArray[np.int32]) -> Ragged:
        """Return the field RG of reads, with the new IDs of groups."""
        groups = text_values(tags, _GROUP)
        has_group = groups.lengths > 0
        rows = np.arange(len(groups))
        texts = [groups]
        for number, ((name, sample), new) in enumerate(self._new_groups.items()):
            found = np.flatnonzero((samples == sample) & (groups.lengths == len(name)))
            letters = groups.take(found).data.reshape(found.size, len(name))
            is_equal = (letters == np.frombuffer(name, dtype=np.uint8)).all(axis=1)
            rows[found[is_equal]] = len(groups) + number
            texts.append(Ragged.from_sequences([new]))
        renamed = Ragged.concatenate(texts).take(rows)
        return text_fields(_GROUP, renamed.take(has_group), has_group)


def _mismatches(records: ReadBatch, reference: ReferenceSlice) -> tuple[NDArray[np.int32], Ragged]:
    """Return NM and MD."""
    text = Ragged.from_lengths(reference.bases, [reference.bases.size])
    positions = records.positions - np.int32(reference.start)
    rows = np.zeros(len(records), dtype=np.int32)
    return mismatch_tags(records.bases, records.cigars, positions, text, rows)


def _differ(originals: ReadBatch, moved: ReadBatch) -> NDArray[np.bool_]:
    """Return bool[n]: which alignments differ from those of the input."""
    one, other = originals.cigars, moved.cigars
    differ: NDArray[np.bool_] = originals.positions != moved.positions
    differ |= one.lengths != other.lengths
    rows = np.flatnonzero(~differ)
    is_other = one.take(rows).data != other.take(rows).data
    owners = np.repeat(rows, one.lengths_of(rows))
    differ[owners[is_other]] = True
    return differ


@dataclass(frozen=True, slots=True)
class RealignedHeader:
    """Header of the realigned reads.

    Attributes
    ----------
    header
        Sorted by coordinate.
    new_groups
        The new IDs of read groups whose ID another input has for another sample.
    """

    header: SamHeader
    new_groups: Mapping[GroupKey, bytes]

    def with_program(self, command_line: str) -> RealignedHeader:
        """Add the @PG line of this run."""
        header = self.header.with_program("hapgpu", __version__, command_line)
        return RealignedHeader(header, self.new_groups)


def realigned_header(
    headers: Sequence[SamHeader], table: SampleTable, contigs: Iterable[str]
) -> RealignedHeader:
    """Join the headers of all inputs.

    Contigs have their first @SQ line. Read groups of one ID and sample are one, with its first
    line; if inputs have one ID for several samples, all but the first get a suffix. Of programs of
    one ID the first line is kept, so each ID that a record or another program names exists.

    Parameters
    ----------
    headers
        Of the inputs.
    table
        The samples of the inputs.
    contigs
        Names of contigs, in the order of the records; those that no input has are left out.
    """
    squares = _first_lines(headers, "SN", "@SQ\t")
    groups, new_groups = _groups(headers, table.files)
    lines = [
        f"@HD\tVN:{SAM_VERSION}\tSO:coordinate",
        *(squares[name] for name in contigs if name in squares),
        *groups,
        f"@RG\tID:{HAPLOTYPE_GROUP}\tSM:{_HAPLOTYPE_SAMPLE}",
        *_first_lines(headers, "ID", "@PG\t").values(),
        *dict.fromkeys(line for header in headers for line in _lines(header, "@CO\t")),
    ]
    text = "".join(f"{line}\n" for line in lines)
    return RealignedHeader(SamHeader.from_text(text), new_groups)


def _lines(header: SamHeader, kind: str) -> Iterator[str]:
    """Yield the lines of a kind, such as `@RG` and a tab."""
    for line in header.text.split("\n"):
        if line.startswith(kind):
            yield line.rstrip("\r")


def _first_lines(headers: Sequence[SamHeader], key: str, kind: str) -> dict[str, str]:
    """Return the first line of a kind for each value of a field, in order."""
    found: dict[str, str] = {}
    for header in headers:
        for line in _lines(header, kind):
            found.setdefault(fields_of(line).get(key, ""), line)
    return found


def _groups(
    headers: Sequence[SamHeader], files: Sequence[ReadGroups]
) -> tuple[list[str], dict[GroupKey, bytes]]:
    """Return the @RG lines, and the new IDs of the groups whose ID was taken."""
    lines: dict[GroupKey, str] = {}
    new_groups: dict[GroupKey, bytes] = {}
    taken = {HAPLOTYPE_GROUP}
    for header, file in zip(headers, files, strict=True):
        samples = _samples_by_group(file)
        for line in _lines(header, "@RG\t"):
            name = fields_of(line)["ID"]
            text = name.encode("utf-8", "surrogateescape")
            key = text, samples.get(text, file.only_sample)
            if key in lines:
                continue
            new = _not_taken(name, taken)
            taken.add(new)
            lines[key] = _with_id(line, new)
            if new != name:
                new_groups[key] = new.encode("utf-8", "surrogateescape")
    return list(lines.values()), new_groups


def _samples_by_group(file: ReadGroups) -> dict[bytes, int]:
    """Return the number of the sample of each read group that has one."""
    names = (name.tobytes() for name in file.identifiers)
    return dict(zip(names, file.samples.tolist(), strict=True))


def _not_taken(name: str, taken: set[str]) -> str:
    """Return a name, with the first suffix that makes it different from those taken."""
    new, count = name, 0
    while new in taken:
        count += 1
        new = f"{name}.{count}"
    return new


def _with_id(line: str, name: str) -> str:
    fields = line.split("\t")
    return "\t".join(f"ID:{name}" if field.startswith("ID:") else field for field in fields)


class RealignedOutput:
    """Output of realigned reads, in the order of segments; a context manager.

    Parameters
    ----------
    path
        A file; its extension sets the format. Regular files of BAM and CRAM get an index.
    records
        The maker of the records.
    reference
        FASTA with which CRAM is compressed.
    threads
        CPU threads, the calling thread included.

    Raises
    ------
    UsageError
        htslib cannot index a file of this name.
    OutputError
        The output cannot be created or written.
    """

    def __init__(self, path: str, records: RealignedRecords, reference: Path, threads: int) -> None:
        is_regular = Path(path).is_file() or not Path(path).exists()
        self._records = records
        self._writer = open_writer(
            path,
            records.header,
            threads=threads,
            reference=reference,
            write_index=is_regular and output_format(path) != "sam",
        )
        self._order = OrderKeeper(PADDING, path)

    def write(self, segment: Segment, run: RecordRun) -> None:
        """Append the records of a segment.

        Raises
        ------
        OutputError
            The output cannot be written.
        """
        # Records of later segments start at most `PADDING` bases before the end of this one.
        end = self._records.key_at(segment.contig, segment.end)
        for part in self._order.put(OldOrder(end, end, is_sorted=True), run):
            self._writer.write_records(part)

    def finish(self) -> None:
        """Write everything, so that the end of the context only gives the file its name.

        Raises
        ------
        OutputError
            The output cannot be written.
        """
        for part in self._order.rest():
            self._writer.write_records(part)
        self._writer.finish()

    def __enter__(self) -> Self:
        self._writer.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.__exit__(kind, error, trace)
