"""Haplotypes placed on the reference, for records in the reference's coordinates."""

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
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.projection.haplotype_cigars import align_haplotypes, pad_pairs
from hapgpu.realign.projection.project import PlacedHaplotypes
from hapgpu.realign.scoring import PRESETS, Overhang
from hapgpu.runtime.devices import Device
from hapgpu.runtime.jit import njit

logger = logging.getLogger(__name__)

_HAPLOTYPES_AT_A_TIME: Final = 20_000  # bounds the memory of their alignment


@dataclass(frozen=True, slots=True)
class Placement:
    """h haplotypes that have an alignment with the reference.

    Attributes
    ----------
    haplotypes
        The haplotypes.
    reference
        FASTA that they are aligned with.
    cigars
        uint32 in BAM encoding, h rows: each between flanks of `FLANK` bases.
    flanks
        int64[2, h]: these flanks, shorter at the ends of contigs.
    """

    haplotypes: HaplotypeSet
    reference: Path
    cigars: Ragged
    flanks: NDArray[np.int64]

    def place(self, extended: ExtendedHaplotypes) -> PlacedHaplotypes:
        """Return where haplotypes with flanks lie on their windows."""
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
    """Align each haplotype from end to end with the reference under its locus.

    Both have flanks of `FLANK` reference bases, so that an indel at the edge of a locus is
    left-aligned as far as its repeat goes. A haplotype without such an alignment is excluded with
    a warning, as GATK excludes it.

    Raises
    ------
    InputError
        The reference cannot be read, lacks a contig, or ends before a locus; or no haplotype is
        left.
    """
    for locus in haplotypes.loci:
        if header.reference_id(locus.contig) is None:
            hint = contig_hint(locus.contig, header.reference_names)
            message = f"the header of the reads has no contig '{locus.contig}'{hint}"
            raise InputError(message)
    extender = Extender(haplotypes, reference, header)
    _compare_lengths(haplotypes, extender.contig_lengths, header, reference)
    parts = list(_placed_parts(len(haplotypes), extender, device))
    cigars = Ragged.concatenate([cigars for cigars, _, _ in parts])
    flanks = np.concatenate([flanks for _, flanks, _ in parts], axis=1)
    ok = np.concatenate([ok for _, _, ok in parts])
    _warn_of(np.flatnonzero(~ok), haplotypes, reference)
    kept = np.flatnonzero(ok)
    if not kept.size:
        message = f"no haplotype aligns with its locus in {reference}: is it the right reference?"
        raise InputError(message)
    return Placement(haplotypes.take(kept), reference, cigars.take(kept), flanks[:, kept])


def _compare_lengths(
    haplotypes: HaplotypeSet, lengths: dict[str, int], header: SamHeader, reference: Path
) -> None:
    """Warn of contigs that are not as long in the reference as the header of the reads says."""
    in_header = dict(zip(header.reference_names, header.reference_lengths, strict=True))
    for contig in dict.fromkeys(locus.contig for locus in haplotypes.loci):
        if lengths[contig] != in_header[contig]:
            logger.warning(
                "%s: %s has %d bases, but %d in the header of the reads; is it the right file?",
                reference,
                contig,
                lengths[contig],
                in_header[contig],
            )


def _placed_parts(
    count: int, extender: Extender, device: Device
) -> Iterator[tuple[Ragged, NDArray[np.int64], NDArray[np.bool_]]]:
    """Yield CIGARs, flanks and success of some haplotypes after the other."""
    for start in range(0, count, _HAPLOTYPES_AT_A_TIME):
        some = np.arange(start, min(start + _HAPLOTYPES_AT_A_TIME, count), dtype=np.int32)
        extended, _ = extender.extend(some, np.full((2, some.size), FLANK, dtype=np.int64))
        rows = np.arange(some.size, dtype=np.int32)
        pairs = PairBatch(extended.references, extended.sequences, extended.windows, rows)
        alignments = align_pairs(
            pad_pairs(pairs), PRESETS["haplotype-to-reference"], Overhang.SOFTCLIP, device
        )
        cigars, ok = align_haplotypes(pairs, alignments)
        yield cigars, extended.flanks, ok


def _warn_of(rows: NDArray[np.int64], haplotypes: HaplotypeSet, reference: Path) -> None:
    for row in rows:
        locus = haplotypes.loci[haplotypes.locus_index[row]]
        logger.warning(
            "haplotype '%s' is excluded: it has no alignment from end to end of %s in %s",
            haplotypes.names[row],
            locus,
            reference,
        )


def _lengthened(cigars: Ragged, longer: NDArray[np.int64]) -> Ragged:
    """Put int64[2, n] matches, none to be seen where there are 0, around CIGARs."""
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
