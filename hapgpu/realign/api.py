"""Aligner of the Python API: pairs of sequences, haplotypes, and reads projected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import (
    cigar_strings,
    parse_cigar,
    query_lengths,
)
from hapgpu.errors import InputError, UsageError
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.projection.haplotype_cigars import end_to_end_cigars, pad_pairs
from hapgpu.realign.projection.project import PlacedHaplotypes, project_alignments
from hapgpu.realign.scoring import Overhang, Scoring, resolve_overhang, resolve_scoring
from hapgpu.runtime.devices import resolve_devices


@dataclass(frozen=True, slots=True)
class Alignments:
    """Alignments of n pairs.

    Attributes
    ----------
    score
        int32[n].
    offset
        int32[n], 0-based start in the reference (negative only under `ignore`).
    cigars
        Ragged uint32 in BAM encoding (length << 4 | operation).
    """

    score: NDArray[np.int32]
    offset: NDArray[np.int32]
    cigars: Ragged

    def __len__(self) -> int:
        return self.score.size

    def cigar_strings(self) -> list[str]:
        """Return the CIGARs as text."""
        return cigar_strings(self.cigars)


def align(
    references: Sequence[bytes | str] | Ragged,
    queries: Sequence[bytes | str] | Ragged,
    *,
    scoring: str | Scoring = "read-to-haplotype",
    overhang: str | Overhang = "softclip",
    device: str = "auto",
) -> Alignments:
    """Align `references[i]` with `queries[i]` exactly as GATK HaplotypeCaller does.

    Semi-global affine alignment with traceback (Ren et al. 2019, BMC Genomics 20:184) with the
    tie rules of GATK's SmithWatermanJavaAligner. Bytes are compared as they are: case matters,
    and N matches only N.

    Parameters
    ----------
    references, queries
        n sequences each, of any length from 1.
    scoring
        A preset (`read-to-haplotype`, `haplotype-to-reference`, `standard-ngs`, `original`) or
        other weights.
    overhang
        `softclip`, `indel`, `leading-indel` or `ignore`.
    device
        `auto`, `cpu`, `cuda` or `cuda:N`; the result does not depend on it. The first of several
        is used.

    Raises
    ------
    InputError
        A sequence is empty or not ASCII, or scores would not fit 32 bits.
    UsageError
        The numbers of sequences differ, or a name is unknown.
    DeviceError
        A named device cannot be used.
    """
    weights, strategy = resolve_scoring(scoring), resolve_overhang(overhang)
    reference_rows, query_rows = _as_ragged(references), _as_ragged(queries)
    if len(reference_rows) != len(query_rows):
        message = (
            f"{len(reference_rows)} references for {len(query_rows)} queries; give one per query"
        )
        raise UsageError(message)
    rows = np.arange(len(reference_rows), dtype=np.int32)
    pairs = PairBatch(reference_rows, query_rows, rows, rows)
    devices, _ = resolve_devices(device)
    alignments: AlignmentBatch = align_pairs(pairs, weights, strategy, devices[0])
    return Alignments(alignments.scores, alignments.offsets, alignments.cigars)


def as_row(sequence: bytes | str, name: str) -> Ragged:
    """Return one sequence as a Ragged of one row.

    Raises
    ------
    InputError
        The sequence is not ASCII; the message gives `name`.
    """
    try:
        return Ragged.from_sequences([sequence])
    except UnicodeEncodeError:
        message = f"{name}: not ASCII; give letters of bases"
        raise InputError(message) from None


def _as_ragged(sequences: Sequence[bytes | str] | Ragged) -> Ragged:
    if isinstance(sequences, Ragged):
        return sequences
    if isinstance(sequences, bytes | str):
        raise UsageError("give a list of sequences, also for one")
    try:
        return Ragged.from_sequences(sequences)
    except UnicodeEncodeError as error:
        message = f"sequence with '{error.object[error.start]}': not ASCII; give letters of bases"
        raise InputError(message) from error


def haplotype_cigar(
    reference: str | bytes,
    haplotype: str | bytes,
    *,
    scoring: str | Scoring = "haplotype-to-reference",
    overhang: str | Overhang = "softclip",
) -> str | None:
    """Return the CIGAR of a haplotype aligned end to end with its reference haplotype.

    Parameters
    ----------
    reference, haplotype
        The bases; one of them may be empty.
    scoring, overhang
        As in `align`.

    Returns
    -------
    The CIGAR, with indels left-aligned and deletions at its ends kept; None if there is no
    end-to-end alignment (GATK's CigarUtils.calculateCigar).

    Raises
    ------
    InputError
        Both sequences are empty, or one is not ASCII.
    UsageError
        A name is unknown.
    """
    if not reference and not haplotype:
        raise InputError("reference and haplotype: both empty; give the bases of at least one")
    row = np.zeros(1, dtype=np.int32)
    pairs = PairBatch(as_row(reference, "reference"), as_row(haplotype, "haplotype"), row, row)
    padded = pad_pairs(pairs)
    alignments = align(
        padded.references, padded.queries, scoring=scoring, overhang=overhang, device="cpu"
    )
    cigars, ok = end_to_end_cigars(
        pairs, AlignmentBatch(alignments.score, alignments.offset, alignments.cigars)
    )
    return cigar_strings(cigars)[0] if ok[0] else None


def realign_to_reference(
    read: str | bytes,
    haplotype: str | bytes,
    haplotype_cigar: str,
    reference_haplotype: str | bytes,
    haplotype_start: int,
    reference_start: int,
) -> tuple[int, str] | None:
    """Align a read to its haplotype and project it onto the reference.

    Parameters
    ----------
    read, haplotype, reference_haplotype
        The bases; of the read without soft clips.
    haplotype_cigar
        The CIGAR of the haplotype, aligned with the reference haplotype.
    haplotype_start
        GATK's alignment start of the haplotype relative to the reference.
    reference_start
        Position of the first base of the locus.

    Returns
    -------
    Position, counted as `reference_start`, and CIGAR with indels left-aligned; None where GATK
    does not change the read (AlignmentUtils.createReadAlignedToRef).

    Raises
    ------
    InputError
        A sequence is empty or not ASCII, or the CIGAR has another length than the haplotype.
    """
    reads = _bases(read, "read")
    haplotypes = _bases(haplotype, "haplotype")
    references = _bases(reference_haplotype, "reference haplotype")
    elements = parse_cigar(haplotype_cigar)
    cigars = Ragged.from_lengths(elements, [elements.size])
    if query_lengths(cigars)[0] != haplotypes.lengths[0]:
        message = (
            f"haplotype CIGAR {haplotype_cigar}: {query_lengths(cigars)[0]} bases, but the"
            f" haplotype has {haplotypes.lengths[0]}; give the CIGAR of this haplotype"
        )
        raise InputError(message)
    row = np.zeros(1, dtype=np.int32)
    starts = np.array([[haplotype_start], [reference_start]], dtype=np.int64)
    placed = PlacedHaplotypes(cigars, starts[0], row, references, starts[1])
    alignments = align(haplotypes, reads, device="cpu")
    batch = AlignmentBatch(alignments.score, alignments.offset, alignments.cigars)
    projections = project_alignments(reads, batch, row, placed, row, row)
    if not projections.ok[0]:
        return None
    return int(projections.positions[0]), cigar_strings(projections.cigars)[0]


def _bases(sequence: str | bytes, name: str) -> Ragged:
    if not sequence:
        message = f"{name}: empty; give at least one base"
        raise InputError(message)
    return as_row(sequence, name)
