"""Alignments of haplotypes with the reference, for records in its coordinates."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, row_of, view_of
from hapgpu.cigar.encoding import MATCH, length_of, operation_of
from hapgpu.errors import InputError
from hapgpu.haplotypes.pairing.extended_haplotypes import FLANK, ExtendedHaplotypes, Extender
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.genome.regions import contig_hint
from hapgpu.realign.projection.haplotype_cigars import haplotype_cigars
from hapgpu.realign.projection.project import PlacedHaplotypes
from hapgpu.runtime.devices import Device
from hapgpu.runtime.jit import njit

logger = logging.getLogger(__name__)

_HAPLOTYPES_PER_BATCH: Final = 20_000  # limits the memory of their alignment


@dataclass(frozen=True, slots=True)
class Placement:
    """h haplotypes that have an alignment with the reference.

    Attributes
    ----------
    haplotypes
        The haplotypes.
    reference
        The FASTA of the reference.
    cigars
        uint32 in BAM encoding, h rows: of each haplotype with flanks of `FLANK` bases.
    flanks
        int64[2, h]: the lengths of the flanks, shorter at the ends of contigs.
    """

    haplotypes: HaplotypeSet
    reference: Path
    cigars: Ragged
    flanks: NDArray[np.int64]

    def place(self, extended: ExtendedHaplotypes) -> PlacedHaplotypes[Ragged]:
        """Return the alignments, uint32 CIGARs, of extended haplotypes with their windows."""
        longer = extended.flanks - self.flanks[:, extended.haplotypes]
        return PlacedHaplotypes(
            _lengthened(self.cigars.take(extended.haplotypes), longer),
            np.zeros(extended.haplotypes.size, dtype=np.int64),
            extended.windows,
            extended.references,
            extended.reference_starts,
        )


def place_haplotypes(
    haplotypes: HaplotypeSet, reference: Path, header: SamHeader, device: Device
) -> Placement:
    """Align each haplotype end to end with the reference at its locus.

    Both have flanks of `FLANK` reference bases, so that an indel at the edge of a locus is
    left-aligned through its whole repeat. A haplotype without such an alignment is excluded with
    a warning, as in GATK.

    Raises
    ------
    InputError
        The reference cannot be read, lacks a contig, or ends before a locus; or no haplotype
        aligns.
    """
    for name in haplotypes.locus_columns().contig_names:
        if header.reference_id(name) is None:
            locus = next(locus for locus in haplotypes.loci if locus.contig == name)
            hint = contig_hint(name, header.reference_names)
            message = (
                f"locus {locus}: unknown contig '{name}'{hint};"
                " give reads, haplotypes and reference of the same genome"
            )
            raise InputError(message)
    extender = Extender(haplotypes, reference, header)
    _compare_lengths(haplotypes, extender.contig_lengths, header, reference)
    batches = list(_placed_batches(len(haplotypes), extender, device))
    cigars = Ragged.concatenate([cigars for cigars, _, _ in batches])
    flanks = np.concatenate([flanks for _, flanks, _ in batches], axis=1)
    ok = np.concatenate([ok for _, _, ok in batches])
    _warn_of_excluded(np.flatnonzero(~ok), haplotypes, reference)
    kept = np.flatnonzero(ok)
    if not kept.size:
        message = (
            f"{reference}: no haplotype aligns with its locus; give the reference of the haplotypes"
        )
        raise InputError(message)
    return Placement(haplotypes.take(kept), reference, cigars.take(kept), flanks[:, kept])


def _compare_lengths(
    haplotypes: HaplotypeSet, lengths: dict[str, int], header: SamHeader, reference: Path
) -> None:
    """Warn of contigs whose lengths differ between the reference and the header of the reads."""
    for contig in haplotypes.locus_columns().contig_names:
        in_header = header.reference_lengths[header.reference_ids[contig]]
        if lengths[contig] != in_header:
            logger.warning(
                "%s: %s has %d bases, but %d in the header of the reads; check the reference",
                reference,
                contig,
                lengths[contig],
                in_header,
            )


def _placed_batches(
    count: int, extender: Extender, device: Device
) -> Iterator[tuple[Ragged, NDArray[np.int64], NDArray[np.bool_]]]:
    """Yield CIGARs, flanks and success of batches of haplotypes."""
    for start in range(0, count, _HAPLOTYPES_PER_BATCH):
        batch = np.arange(start, min(start + _HAPLOTYPES_PER_BATCH, count), dtype=np.int32)
        extended, _ = extender.extend(batch, np.full((2, batch.size), FLANK, dtype=np.int64))
        rows = np.arange(batch.size, dtype=np.int32)
        pairs = PairBatch(extended.references, extended.sequences, extended.windows, rows)
        cigars, ok = haplotype_cigars(pairs, device)
        yield cigars, extended.flanks, ok


def _warn_of_excluded(rows: NDArray[np.int64], haplotypes: HaplotypeSet, reference: Path) -> None:
    for row in rows:
        locus = haplotypes.loci[haplotypes.locus_index[row]]
        logger.warning(
            "haplotype '%s' excluded: no end-to-end alignment with %s of %s",
            haplotypes.names[row],
            locus,
            reference,
        )


def _lengthened(cigars: Ragged, longer: NDArray[np.int64]) -> Ragged:
    """Add int64[2, n] matches before and after CIGARs; none where the number is 0."""
    data = np.empty(cigars.data.size + 2 * len(cigars), dtype=np.uint32)
    offsets = np.zeros(len(cigars) + 1, dtype=np.int64)
    _lengthen(view_of(cigars), longer, data, offsets)
    return Ragged(data[: offsets[-1]], offsets)


@njit
def _lengthen(
    cigars: RaggedView,
    longer: NDArray[np.int64],
    out: NDArray[np.uint32],
    offsets: NDArray[np.int64],
) -> None:
    """Write CIGARs with matches added at both ends, int64[2, n], and join adjacent matches."""
    for row in range(offsets.size - 1):
        end = offsets[row]
        pending = longer[0, row]  # matches that the next element may still add to
        for element in row_of(cigars, row):
            if operation_of(element) == MATCH:
                pending += length_of(element)
                continue
            if pending > 0:
                out[end] = pending << 4 | MATCH
                end += 1
            out[end] = element
            end += 1
            pending = 0
        pending += longer[1, row]
        if pending > 0:
            out[end] = pending << 4 | MATCH
            end += 1
        offsets[row + 1] = end
