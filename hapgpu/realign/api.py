"""Alignment of sequences given as text: the part of the Python API that aligns pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import AlignmentBatch, PairBatch, Ragged
from hapgpu.cigar.encoding import cigar_strings
from hapgpu.errors import InputError, UsageError
from hapgpu.realign.align.dispatch import align_pairs
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
        """CIGARs as text."""
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

    Semi-global affine alignment with traceback (Ren et al. 2019, BMC Genomics 20:184) under the
    tie rules of GATK's SmithWatermanJavaAligner. Bytes are compared as they are: case matters,
    and N matches N only.

    Parameters
    ----------
    references, queries
        n sequences each, of any length from 1.
    scoring
        A preset (`read-to-haplotype`, `haplotype-to-reference`, `standard-ngs`, `original`) or
        weights of your own.
    overhang
        `softclip`, `indel`, `leading-indel` or `ignore`.
    device
        `auto`, `cpu`, `cuda` or `cuda:N`; the result does not depend on it. Pairs are aligned on
        the first of several.

    Raises
    ------
    InputError
        If a sequence is empty or not ASCII, or scores would not fit 32 bits.
    UsageError
        If the numbers of sequences differ, or a name is unknown.
    DeviceError
        If a named device cannot be used.
    """
    weights, strategy = resolve_scoring(scoring), resolve_overhang(overhang)
    reference_rows, query_rows = _as_ragged(references), _as_ragged(queries)
    if len(reference_rows) != len(query_rows):
        message = f"cannot pair {len(reference_rows)} references with {len(query_rows)} queries"
        raise UsageError(message)
    rows = np.arange(len(reference_rows), dtype=np.int32)
    pairs = PairBatch(reference_rows, query_rows, rows, rows)
    devices, _ = resolve_devices(device)
    alignments: AlignmentBatch = align_pairs(pairs, weights, strategy, devices[0])
    return Alignments(alignments.scores, alignments.offsets, alignments.cigars)


def as_row(sequence: bytes | str, what: str) -> Ragged:
    """One sequence as the only row.

    Raises
    ------
    InputError
        If it is not ASCII; `what` names it.
    """
    try:
        return Ragged.from_sequences([sequence])
    except UnicodeEncodeError:
        message = f"the {what} has a letter that is not ASCII"
        raise InputError(message) from None


def _as_ragged(sequences: Sequence[bytes | str] | Ragged) -> Ragged:
    if isinstance(sequences, Ragged):
        return sequences
    if isinstance(sequences, bytes | str):
        raise UsageError("give a list of sequences, also for one")
    try:
        return Ragged.from_sequences(sequences)
    except UnicodeEncodeError as error:
        message = f"a sequence holds '{error.object[error.start]}', which is not ASCII"
        raise InputError(message) from error
