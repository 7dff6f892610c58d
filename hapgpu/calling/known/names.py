"""Names of known variants: IDs of dbSNP, and flags of INFO, as GATK's VariantOverlapAnnotator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import VariantCalls
from hapgpu.calling.known.indexed_vcf import IndexedVcf, warn_of_old_index
from hapgpu.calling.record_columns import RecordMarks
from hapgpu.errors import InputError
from hapgpu.io.text.values import excerpt

DBSNP: Final = "DB"
"""Flag of the records that dbSNP has."""

_ID, _REF, _ALT, _FILTER = 2, 3, 4, 6
_PASSED: Final = frozenset({"PASS", "."})
_Event = tuple[int, str, str]


@dataclass(frozen=True, slots=True)
class KnownFile:
    """Known variants.

    Attributes
    ----------
    flag
        Flag of INFO for records that the file has; `DBSNP`: they get its IDs, too.
    path
        VCF: text, or compressed by bgzip and indexed.
    copy
        Indexed copy of a text; None: the file itself is indexed.
    """

    flag: str
    path: Path
    copy: Path | None = None

    @property
    def indexed(self) -> Path:
        """The file that is read by positions."""
        return self.copy or self.path


def flags_of(files: Sequence[KnownFile]) -> tuple[str, ...]:
    """Return the flags of files, each once, ascending."""
    return tuple(sorted({file.flag for file in files}))


def check_known(file: KnownFile, contigs: Mapping[str, int]) -> None:
    """Refuse known variants of another reference; warn of an index older than its file.

    Parameters
    ----------
    file
        The variants.
    contigs
        Lengths of the contigs of the reference.

    Raises
    ------
    InputError
        Htslib cannot read the file, it has no contig of the reference, or the header has another
        length of one.
    """
    with IndexedVcf(file.indexed) as source:
        if file.copy is None:
            warn_of_old_index(file.path)
        if source.contigs and not any(name in contigs for name in source.contigs):
            found = excerpt(min(source.contigs))
            raise InputError(
                f"{file.path}: no contig of the reference (found '{found}', expected"
                f" '{excerpt(next(iter(contigs), ''))}'); rename them: bcftools annotate"
                " --rename-chrs"
            )
        for name, length in source.contig_lengths().items():
            if contigs.get(name, length) != length:
                raise InputError(
                    f"{file.path}: contig '{excerpt(name)}' has {length} bases, but {contigs[name]}"
                    " in the reference; give known variants of this reference"
                )


class KnownVariants:
    """Finder of the names of records, for one thread.

    Files are opened at the first use: after the fork of its process.

    Parameters
    ----------
    files
        The known variants.
    """

    def __init__(self, files: Sequence[KnownFile]) -> None:
        self._files = tuple(files)
        self._flags = flags_of(files)
        self._sources: list[IndexedVcf] = []

    def names_of(self, contig: str, calls: VariantCalls, rows: NDArray[np.bool_]) -> RecordMarks:
        """Find the IDs and flags of some records.

        A record has the name of a known one with the same start that shares an ALT with it, after
        each ALT and its REF are trimmed. Known records with a FILTER are not compared.

        Parameters
        ----------
        contig
            Name of the contig.
        calls
            v records.
        rows
            bool[v]: the records.

        Raises
        ------
        InputError
            A file is damaged, or a record has too few columns.
        """
        if not self._files:
            return RecordMarks.none(len(calls))
        if not self._sources:
            self._sources = [IndexedVcf(file.indexed) for file in self._files]
        chosen = np.flatnonzero(rows)
        flags = np.zeros((len(calls), len(self._flags)), dtype=np.uint8)
        ids: dict[int, dict[str, None]] = {}
        for file, source in zip(self._files, self._sources, strict=True):
            column = self._flags.index(file.flag)
            for number, line in source.lines_at(contig, calls.starts[chosen]):
                fields = _fields_of(line, file.path)
                record = int(chosen[number])
                if fields[_FILTER] in _PASSED and _has_event_of(calls, record, fields):
                    flags[record, column] = 1
                    if file.flag == DBSNP:
                        ids.setdefault(record, {}).update(dict.fromkeys(fields[_ID].split(";")))
        texts = [b""] * len(calls)
        for record, names in ids.items():
            texts[record] = ";".join(name for name in names if name.strip(".")).encode("latin-1")
        filters = np.zeros(len(calls), dtype=np.uint32)
        return RecordMarks(Ragged.from_sequences(texts), flags, filters)


def _fields_of(line: str, path: Path) -> list[str]:
    fields = line.split("\t", _FILTER + 1)
    if len(fields) <= _FILTER:
        where = ":".join(fields[:2])
        raise InputError(
            f"{path}, record at {excerpt(where)}: {len(fields)} columns, expected at least"
            f" {_FILTER + 1}; correct the line"
        )
    return fields


def _has_event_of(calls: VariantCalls, record: int, fields: Sequence[str]) -> bool:
    """Tell whether a record has one of the ALTs of a known record."""
    first, end = calls.allele_offsets[record], calls.allele_offsets[record + 1]
    own = [calls.alleles[row].tobytes().decode("ascii") for row in range(first, end)]
    known = {event_of(fields[_REF], allele) for allele in fields[_ALT].split(",")}
    return any(event_of(own[0], allele) in known for allele in own[1:])


def event_of(reference: str, alternate: str) -> _Event:
    """Return the change of an ALT: its offset from POS, REF and ALT, both trimmed.

    Common bases are removed from the end, then from the start, but one base of each stays. A
    symbolic ALT and `*` are compared as they are.
    """
    if not alternate.isalpha():
        return 0, "", alternate
    reference, alternate = reference.upper(), alternate.upper()
    end = 0
    most = min(len(reference), len(alternate)) - 1
    while end < most and reference[-1 - end] == alternate[-1 - end]:
        end += 1
    start = 0
    while start < most - end and reference[start] == alternate[start]:
        start += 1
    return (
        start,
        reference[start : len(reference) - end],
        alternate[start : len(alternate) - end],
    )
