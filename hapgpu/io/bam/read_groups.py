"""Samples of reads, by the read groups of several files.

Called haplotypes are recognised by theirs: GATK's bamout and `call --bam-out` write them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import PurePath
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, part_of, read_u8
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_memory import RaggedMemory, ragged_memory_of, row_memory
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.errors import InputError
from hapgpu.io.bam.header import SamHeader, fields_of
from hapgpu.io.bam.tags import (
    HEAD_BYTES,
    field_bytes,
    field_bytes_in,
    find_field,
    find_field_in,
    name_number,
)
from hapgpu.runtime.jit import njit, njit_inlined

HAPLOTYPE_GROUP: Final = "ArtificialHaplotypeRG"
"""Read group of the called haplotypes, as in GATK. Its sample is no sample."""

_READ_GROUP: Final = name_number("RG")
_VALUE: Final = np.frombuffer(HAPLOTYPE_GROUP.encode() + b"\0", dtype=np.uint8)

_TEXT: Final = ord("Z")
_NO_GROUP, _UNKNOWN_GROUP, _NO_SAMPLE = -1, -2, -3
UNKNOWN: Final = -1
NO_GROUP: Final = -2
"""Of `group_numbers`."""


def has_haplotypes(header: SamHeader) -> bool:
    """Tell whether a header has the read group of called haplotypes."""
    lines = (line for line in header.text.split("\n") if line.startswith("@RG\t"))
    return any(fields_of(line).get("ID") == HAPLOTYPE_GROUP for line in lines)


def are_haplotypes(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Tell which records are called haplotypes, by their tag RG; return bool[n].

    Parameters
    ----------
    data
        uint8: bytes that hold the tags of n records.
    starts, ends
        int64[n], offsets of the tags of each record.
    """
    found = np.zeros(starts.size, dtype=np.bool_)
    _mark(read_only(data), read_only(starts), read_only(ends), _VALUE, found)
    return found


@njit
def _mark(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    value: NDArray[np.uint8],
    found: NDArray[np.bool_],
) -> None:
    for row in range(found.size):
        at = find_field(data, starts[row], ends[row], _READ_GROUP)
        if at < 0 or field_bytes(data, at, ends[row]) != HEAD_BYTES + value.size:
            continue
        same = np.int64(0)
        while same < value.size and data[at + HEAD_BYTES + same] == value[same]:
            same += 1
        found[row] = same == value.size


@dataclass(frozen=True, slots=True)
class SampleTable:
    """The samples of several files of reads.

    Attributes
    ----------
    names
        Names of the samples, in the order of the files and of their @RG lines.
    files
        The read groups of each file.
    """

    names: tuple[str, ...]
    files: tuple[ReadGroups, ...]

    @classmethod
    def of(
        cls,
        headers: Sequence[SamHeader],
        names: Sequence[str],
        *,
        without_haplotypes: bool = False,
    ) -> SampleTable:
        """Collect the samples (SM) of the @RG lines of files.

        A file without any is one sample, named after the file without directory and extension;
        standard input is `sample`.

        Parameters
        ----------
        headers, names
            Headers and names of the files; `-` is standard input.
        without_haplotypes
            Whether the sample of called haplotypes is none.

        Raises
        ------
        InputError
            An @RG line has no ID, or one ID has two samples; or a file without samples has the
            name of a sample of another file.
        """
        groups = [_groups_of(header, name) for header, name in zip(headers, names, strict=True)]
        for found in groups if without_haplotypes else ():
            found.pop(HAPLOTYPE_GROUP, None)
        samples = [
            list(dict.fromkeys(filter(None, found.values()))) or [_sample_named_after(name)]
            for found, name in zip(groups, names, strict=True)
        ]
        files_with = Counter(chain.from_iterable(samples))
        numbers = {sample: number for number, sample in enumerate(files_with)}
        files = []
        for name, found, own in zip(names, groups, samples, strict=True):
            if not any(found.values()) and files_with[own[0]] > 1:
                raise InputError(
                    f"{name}: no sample in its header, and another file has sample '{own[0]}' too;"
                    " give it a read group with a sample (run: samtools addreplacerg)"
                )
            files.append(ReadGroups.of(name, found, own, numbers))
        return cls(tuple(numbers), tuple(files))

    def only(self, sample: str) -> SampleTable:
        """Return the table of one of the samples; read groups of others have no sample."""
        number = self.names.index(sample)
        return SampleTable((sample,), tuple(file.only(number) for file in self.files))

    def samples_of(self, file: int, reads: ReadBatch, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the samples of reads, int32[r], by their tag RG.

        Reads without the tag belong to the sample of their file, if it has only one.

        Parameters
        ----------
        file
            Number of the file of the reads.
        reads
            Reads with well-formed tags.
        rows
            int64[r], rows of these reads.

        Raises
        ------
        InputError
            The file has several samples and a read has no read group; or the header lacks the read
            group of a read; or that group has no sample, but others have.
        """
        return self.files[file].samples_of(reads, rows)


@dataclass(frozen=True, slots=True)
class ReadGroups:
    """The read groups of one file.

    Attributes
    ----------
    name
        Name of the file, for errors.
    identifiers
        uint8 text, g rows, ascending; none if the header has no sample: tags are then ignored.
    samples
        int32[g], numbers of samples; negative for a group without a sample.
    only_sample
        The sample of the file; negative if it has several.
    """

    name: str
    identifiers: Ragged
    samples: NDArray[np.int32]
    only_sample: int

    @classmethod
    def of(
        cls, name: str, groups: Mapping[str, str], own: Sequence[str], numbers: Mapping[str, int]
    ) -> ReadGroups:
        """Look up the sample numbers of read groups; `own` are the samples of the file."""
        known = groups if any(groups.values()) else {}
        by_bytes = sorted((group.encode("utf-8", "surrogateescape"), group) for group in known)
        samples = [numbers.get(known[group], _NO_SAMPLE) for _, group in by_bytes]
        only_sample = numbers[own[0]] if len(own) == 1 else _NO_GROUP
        table = np.array(samples, dtype=np.int32)
        return cls(name, Ragged.from_sequences(text for text, _ in by_bytes), table, only_sample)

    def only(self, sample: int) -> ReadGroups:
        """Return the same groups, where one sample has number 0, and others are none."""
        samples = np.where(self.samples == sample, 0, _NO_SAMPLE).astype(np.int32)
        own = 0 if self.only_sample == sample else _NO_GROUP
        return replace(self, samples=samples, only_sample=own)

    def samples_of(self, reads: ReadBatch, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return int32[r]: the samples of `rows`, int64[r], by number in `SampleTable.names`.

        Raises
        ------
        InputError
            A read has no read group, or one without a sample, or one that is not in the header.
        """
        samples = np.full(rows.size, self.only_sample, dtype=np.int32)
        if len(self.identifiers):
            identifiers, groups = view_of(self.identifiers), read_only(self.samples)
            tags, only_sample = view_of(reads.tags), self.only_sample
            k = _look_up(tags, rows, identifiers, groups, only_sample, samples)
            if k >= 0:
                raise self._error(reads, int(rows[k]), samples[k])
        return samples

    def _error(self, reads: ReadBatch, row: int, number: int) -> InputError:
        read = f"{self.name}, read '{_shown(reads.names[row])}'"
        if number == _NO_GROUP:
            return InputError(
                f"{read}: no read group (RG), and the header has several samples; give it one"
                " (run: samtools addreplacerg -m orphan_only)"
            )
        start, end = reads.tags.offsets[row : row + 2]
        tags = read_only(reads.tags.data)
        at = find_field(tags, start, end, _READ_GROUP)
        group = _shown(tags[at + HEAD_BYTES : at + field_bytes(tags, at, end) - 1])
        problem = "has no sample (SM)" if number == _NO_SAMPLE else "is not in the header"
        return InputError(
            f"{read}: its read group '{group}' {problem}; correct it (run: samtools reheader)"
        )


def group_numbers(reads: ReadBatch, identifiers: Ragged) -> NDArray[np.int32]:
    """Look up the read group (tag RG) of each read.

    Parameters
    ----------
    reads
        n reads.
    identifiers
        uint8 text, ascending.

    Returns
    -------
    NDArray
        int32[n]: its row among the identifiers; `UNKNOWN` for others, `NO_GROUP` without the tag.
    """
    numbers = np.empty(len(reads), dtype=np.int32)
    _find_groups(view_of(reads.tags), view_of(identifiers), numbers)
    return numbers


def _groups_of(header: SamHeader, name: str) -> dict[str, str]:
    """Return the sample of each read group of a header; empty for a group without a sample."""
    groups: dict[str, str] = {}
    for fields in map(fields_of, header.lines_of("@RG")):
        identifier, sample = fields.get("ID", ""), fields.get("SM", "")
        if not identifier:
            raise InputError(f"{name}: an @RG line has no ID; correct it (run: samtools reheader)")
        if sample.isspace():
            raise InputError(
                f"{name}: the sample (SM) of read group '{identifier}' is blank, which VCF does not"
                " allow; name it (run: samtools reheader)"
            )
        if groups.setdefault(identifier, sample) != sample:
            raise InputError(
                f"{name}: read group '{identifier}' has two @RG lines with different samples (SM);"
                " remove one (run: samtools reheader)"
            )
    return groups


def _sample_named_after(name: str) -> str:
    """Return the name of a file without directory and extension; `sample` if that is empty."""
    stem = "" if name == "-" else PurePath(PurePath(name).name.removesuffix(".gz")).stem
    return " ".join(stem.split()) or "sample"  # a tab would end a column of VCF


def _shown(text: NDArray[np.uint8]) -> str:
    return text.tobytes().decode("utf-8", errors="replace")


@njit
def _look_up(
    tags: RaggedView,
    rows: NDArray[np.int64],
    identifiers: RaggedView,
    group_samples: NDArray[np.int32],
    only_sample: int,
    samples: NDArray[np.int32],
) -> int:
    """Set the samples of rows; stop at a read without one and return its number, else -1."""
    memory, offsets = memory_of(tags.data), tags.offsets
    texts = ragged_memory_of(identifiers)
    for k in range(samples.size):
        end = offsets[rows[k] + 1]
        at = find_field_in(memory, offsets[rows[k]], end, _READ_GROUP)
        if at < 0:
            samples[k] = only_sample
        else:
            group = _group_at(memory, at, end, texts)
            samples[k] = group_samples[group] if group >= 0 else _UNKNOWN_GROUP
        if samples[k] < 0:
            return k
    return -1


@njit
def _find_groups(tags: RaggedView, identifiers: RaggedView, numbers: NDArray[np.int32]) -> None:
    memory, texts = memory_of(tags.data), ragged_memory_of(identifiers)
    for row in range(numbers.size):
        end = tags.offsets[row + 1]
        at = find_field_in(memory, tags.offsets[row], end, _READ_GROUP)
        numbers[row] = NO_GROUP if at < 0 else _group_at(memory, at, end, texts)


@njit_inlined
def _group_at(memory: Memory, at: Integer, end: Integer, texts: RaggedMemory) -> Integer:
    """Return the row of the read group of a tag among ascending texts; -1 for none."""
    group: Integer = -1
    if read_u8(memory, at + 2) == _TEXT:
        length = field_bytes_in(memory, at, end) - HEAD_BYTES - 1
        group = _find_text(part_of(memory, at + HEAD_BYTES, length), texts)
    return group


@njit_inlined
def _find_text(text: Memory, texts: RaggedMemory) -> Integer:
    """Return the row of ascending texts that equals a text; -1 for none."""
    low, high = np.int64(0), texts.offsets.size // 8 - 1
    while low < high:
        middle = (low + high) >> 1
        other = row_memory(texts, middle, 1)
        same, shared = np.int64(0), min(text.size, other.size)
        while same < shared and read_u8(text, same) == read_u8(other, same):
            same += 1
        if same == text.size == other.size:
            return middle
        if same < text.size and (same == other.size or read_u8(text, same) > read_u8(other, same)):
            low = middle + 1
        else:
            high = middle
    return -1
