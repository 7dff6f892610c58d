"""Aligner of the Python API: pairs of sequences, haplotypes, and reads projected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.sequences import (
    Sequences,
    check_counts,
    checked_rows,
    listed,
    sequence_rows,
    whole_numbers,
)
from hapgpu.arrays.tables import Columns, data_frame
from hapgpu.cigar.encoding import cigar_strings, parse_cigar, query_lengths
from hapgpu.errors import InputError, UsageError
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.projection.haplotype_cigars import end_to_end_cigars, pad_pairs
from hapgpu.realign.projection.project import PlacedHaplotypes, project_alignments
from hapgpu.realign.scoring import PRESETS, Overhang, Scoring, resolve_overhang, resolve_scoring
from hapgpu.runtime.devices import first_device
from hapgpu.runtime.progress import showing

if TYPE_CHECKING:
    import pandas as pd

_PAIRS_PER_PART: Final = 1 << 16
"""Pairs between two movements of the progress bar."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Alignments(Columns):
    """Alignments of n pairs.

    Attributes
    ----------
    scores
        int32[n].
    offsets
        int32[n], 0-based start in the reference (negative only under `ignore`).
    cigars
        Ragged uint32, n rows, in BAM encoding (length << 4 | operation).
    """

    scores: NDArray[np.int32]
    offsets: NDArray[np.int32]
    cigars: Ragged

    def __len__(self) -> int:
        return self.scores.size

    def cigar_strings(self) -> list[str]:
        """Return the CIGARs as text."""
        return cigar_strings(self.cigars)

    def to_dataframe(self) -> pd.DataFrame:
        """Return a table of pandas: a row per pair; columns `score`, `offset` and `cigar` (text).

        Raises
        ------
        UsageError
            pandas is not installed.
        """
        return data_frame(
            {"score": self.scores, "offset": self.offsets, "cigar": self.cigar_strings()}
        )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class RealignedReads(Columns):
    """The n reads of `realign_to_reference` on the reference.

    Attributes
    ----------
    positions
        int64[n], counted as the starts of the loci; -1 where GATK does not change the read.
    cigars
        Ragged uint32, n rows, in BAM encoding (length << 4 | operation), with indels left-aligned;
        no elements where GATK does not change the read.
    """

    positions: NDArray[np.int64]
    cigars: Ragged

    def __len__(self) -> int:
        return self.positions.size

    def cigar_strings(self) -> list[str]:
        """Return the CIGARs as text; `*` where GATK does not change the read."""
        return cigar_strings(self.cigars)


def align(
    references: Sequences,
    queries: Sequences,
    *,
    scoring: str | Scoring = "read-to-haplotype",
    overhang: str | Overhang = "softclip",
    device: str = "auto",
    threads: int | None = None,
    progress: bool = False,
) -> Alignments:
    """Align `references[i]` with `queries[i]` exactly as GATK HaplotypeCaller does.

    Semi-global affine alignment with traceback (Ren et al. 2019, BMC Genomics 20:184) with the
    tie rules of GATK's SmithWatermanJavaAligner. Bytes are compared as they are: case matters,
    and N matches only N.

    Parameters
    ----------
    references, queries
        n sequences each, of any length from 1: a list of str, bytes or pysam.AlignedSegment, or a
        Ragged of uint8 text. A record gives its bases as aligned (SEQ of SAM).
    scoring
        A preset (`read-to-haplotype`, `haplotype-to-reference`, `standard-ngs`, `original`) or
        other weights.
    overhang
        `softclip`, `indel`, `leading-indel` or `ignore`.
    device
        `auto`, `cpu`, `cuda` or `cuda:N`; the result does not depend on it. The first of several
        is used.
    threads
        CPU threads, from 1, if a CPU computes; None: one per usable CPU.
    progress
        Whether to show a bar, in pairs.

    Raises
    ------
    InputError
        A sequence is empty, missing or not ASCII, or scores would not fit 32 bits; the message has
        the number of the sequence, from 0.
    UsageError
        The numbers of sequences differ, an argument has another type, or a name is unknown.
    DeviceError
        A named device cannot be used.
    """
    weights, strategy = resolve_scoring(scoring), resolve_overhang(overhang)
    pairs = row_pairs(
        checked_rows(references, "reference"), checked_rows(queries, "query"), "queries"
    )
    computing = first_device(device, threads)
    parts = []
    with showing("aligning", "pairs", len(pairs), is_shown=progress) as shown:
        for part in _parts(pairs, _PAIRS_PER_PART if progress else len(pairs)):
            parts.append(align_pairs(part, weights, strategy, computing))
            shown.advance(len(part))
    found = AlignmentBatch.concatenate(parts)
    return Alignments(found.scores, found.offsets, found.cigars)


def _parts(pairs: PairBatch, size: int) -> Iterator[PairBatch]:
    """Yield parts of at most `size` pairs, at least one."""
    for start in range(0, max(len(pairs), 1), max(size, 1)):
        part = slice(start, start + size)
        yield row_pairs(pairs.references[part], pairs.queries[part], "queries")


def row_pairs(references: Ragged, queries: Ragged, what: str) -> PairBatch:
    """Return row i of `references`, uint8 text, with row i of `queries`, uint8 text.

    `what` is the name of the queries in messages.

    Raises
    ------
    UsageError
        The numbers of rows differ.
    """
    if len(references) != len(queries):
        message = f"references: {len(references)} for {len(queries)} {what}; give as many"
        raise UsageError(message)
    rows = np.arange(len(references), dtype=np.int32)
    return PairBatch(references, queries, rows, rows)


def haplotype_cigars(
    references: Sequences,
    haplotypes: Sequences,
    *,
    scoring: str | Scoring = "haplotype-to-reference",
    overhang: str | Overhang = "softclip",
    device: str = "auto",
    threads: int | None = None,
) -> list[str | None]:
    """Return the CIGARs of haplotypes aligned end to end with their reference haplotypes.

    Parameters
    ----------
    references, haplotypes
        n sequences each, as in `align`; one of a pair may be empty.
    scoring, overhang, device, threads
        As in `align`.

    Returns
    -------
    n CIGARs as text, with indels left-aligned and deletions at the ends kept; None where there is
    no end-to-end alignment (GATK's CigarUtils.calculateCigar).

    Raises
    ------
    InputError
        Both sequences of a pair are empty, or one is missing or not ASCII; the message has the
        number of the pair or sequence, from 0.
    UsageError
        The numbers of sequences differ, an argument has another type, or a name is unknown.
    DeviceError
        A named device cannot be used.
    """
    weights, strategy = resolve_scoring(scoring), resolve_overhang(overhang)
    pairs = row_pairs(
        sequence_rows(references, "reference"),
        sequence_rows(haplotypes, "haplotype"),
        "haplotypes",
    )
    are_empty = pairs.reference_lengths + pairs.query_lengths == 0
    if are_empty.any():
        message = f"pair {int(are_empty.argmax())}: both empty; give the bases of at least one"
        raise InputError(message)
    computing = first_device(device, threads)
    alignments = align_pairs(pad_pairs(pairs), weights, strategy, computing)
    cigars, ok = end_to_end_cigars(pairs, alignments)
    texts = zip(cigar_strings(cigars), ok.tolist(), strict=True)
    return [text if is_aligned else None for text, is_aligned in texts]


def realign_to_reference(
    reads: Sequences,
    haplotypes: Sequences,
    haplotype_cigars: Sequence[str],
    reference_haplotypes: Sequences,
    haplotype_starts: Sequence[int] | NDArray[np.integer[Any]],
    reference_starts: Sequence[int] | NDArray[np.integer[Any]],
    *,
    device: str = "auto",
    threads: int | None = None,
) -> RealignedReads:
    """Align reads to their haplotypes and project them onto the reference.

    This is GATK's AlignmentUtils.createReadAlignedToRef; row i of each argument belongs to read i.

    Parameters
    ----------
    reads, haplotypes, reference_haplotypes
        n sequences each, as in `align`; the reads without soft clips.
    haplotype_cigars
        n CIGARs as text: of each haplotype, aligned with its reference haplotype.
    haplotype_starts
        n whole numbers, any integer dtype: GATK's alignment start of each haplotype relative to
        the reference.
    reference_starts
        n whole numbers, any integer dtype: position of the first base of each locus.
    device, threads
        As in `align`.

    Raises
    ------
    InputError
        A sequence is empty, missing or not ASCII, or a CIGAR is malformed or has another length
        than its haplotype; the message has the number of the sequence, from 0.
    UsageError
        The numbers of entries differ, or an argument has another type.
    DeviceError
        A named device cannot be used.
    """
    read_rows = checked_rows(reads, "read")
    haplotype_rows = checked_rows(haplotypes, "haplotype")
    reference_rows = checked_rows(reference_haplotypes, "reference haplotype")
    cigars = _parsed(haplotype_cigars)
    starts = whole_numbers(haplotype_starts, "haplotype start")
    locus_starts = whole_numbers(reference_starts, "reference start")
    check_counts(
        len(read_rows),
        "read",
        haplotypes=len(haplotype_rows),
        haplotype_cigars=len(cigars),
        reference_haplotypes=len(reference_rows),
        haplotype_starts=starts.size,
        reference_starts=locus_starts.size,
    )
    _check_lengths(cigars, haplotype_rows)
    computing = first_device(device, threads)
    pairs = row_pairs(haplotype_rows, read_rows, "reads")
    alignments = align_pairs(pairs, PRESETS["read-to-haplotype"], Overhang.SOFTCLIP, computing)
    rows, no_clips = pairs.reference_index, np.zeros(len(pairs), dtype=np.int32)
    placed = PlacedHaplotypes(cigars, starts, rows, reference_rows, locus_starts)
    found = project_alignments(read_rows, alignments, rows, placed, no_clips, no_clips)
    return RealignedReads(found.positions, found.cigars)


def _parsed(texts: Sequence[str]) -> Ragged:
    cigars = []
    parse = cache(parse_cigar)  # reads share haplotypes
    for row, text in enumerate(listed(texts, "haplotype CIGAR")):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise UsageError(f"haplotype CIGAR {row}: of type {kind}; give str")
        try:
            cigars.append(parse(text))
        except InputError as error:
            raise InputError(f"haplotype {row}: {error}") from None
    none = np.empty(0, dtype=np.uint32)
    return Ragged.from_lengths(np.concatenate([none, *cigars]), [each.size for each in cigars])


def _check_lengths(cigars: Ragged, haplotypes: Ragged) -> None:
    lengths = query_lengths(cigars)
    others = np.flatnonzero(lengths != haplotypes.lengths)
    if others.size:
        row = int(others[0])
        message = (
            f"haplotype {row}: {haplotypes.lengths[row]} bases, but its CIGAR has {lengths[row]};"
            " give the CIGAR of this haplotype"
        )
        raise InputError(message)
